"""Models: which are known, which are on this machine, and what a name given by the user means.

A model that is ready is a folder `<models>/<name>/` of safetensors with a `ready.json` that says what it was made from.
Models are looked for in `$ABSTRACT_QA_MODELS` where that is set, else under the home and then under the default home;
`rag.models.pull` puts them there.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import orjson

from rag.errors import ModelCorrupt, ModelError, ModelMissing
from rag.models import hardware
from rag.settings import ENV_PREFIX, default_home

if TYPE_CHECKING:
    from rag.settings import Settings

Role = Literal["embedder", "llm"]
AUTO = "auto"
NONE = "none"
LARGE_LLM = "qwen2.5-coder-1.5b"
SMALL_LLM = "qwen2.5-coder-0.5b"
# What a process needs beside the weights of its answering model: torch, the index, the page.
BESIDE_WEIGHTS = 1_500_000_000
READY = "ready.json"

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_SAMPLES = 16
_SAMPLE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A line of `data/models.toml`, which explains the fields. Sizes are bytes."""

    name: str
    role: Role
    licence: str
    source: str
    file: str
    sha256: str
    size: int
    memory: int
    hub: str
    wheel: str
    member: str
    parts: int = 1
    part_size: int = 0
    files: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_gguf(self) -> bool:
        """Whether it has to be converted before use."""
        return self.file.endswith(".gguf")


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A known model and its ready folder; None where it is not on this machine."""

    model: KnownModel
    path: Path | None


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model ready for use: in the folder `path`, or behind the address `url`; the other is None.

    `fingerprint` changes when the weights do (for an address: when it or the model's name does).
    """

    name: str
    fingerprint: str
    path: Path | None = None
    url: str | None = None

    @property
    def description(self) -> dict[str, str | int | float | bool | None]:
        """What an Answer says of its model; no path, since answers are passed on."""
        return {"name": self.name, "fingerprint": self.fingerprint, "url": self.url}


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a pull is: `done` of `total` bytes of a step, `total` 0 where the step has no measure.

    Steps: waiting (for another pull), downloading, checking, converting, ready.
    """

    name: str
    step: str
    done: int = 0
    total: int = 0


Progress = Callable[[PullProgress], None]


def silent(_: PullProgress) -> None:
    """Progress for nobody."""


@functools.cache
def known() -> Mapping[str, KnownModel]:
    """The known models by name, in the order of the table."""
    table = tomllib.loads(resources.files("rag").joinpath("data/models.toml").read_text(encoding="utf-8"))
    return {name: KnownModel(name=name, **fields) for name, fields in table.items()}


def is_offline() -> bool:
    """Whether `$ABSTRACT_QA_OFFLINE` forbids the network."""
    return os.environ.get(ENV_PREFIX + "OFFLINE", "").lower() not in ("", "0", "false", "no")


def models_folder(home: Path) -> Path:
    """Where pulled models are put."""
    named = os.environ.get(ENV_PREFIX + "MODELS")
    return Path(named).expanduser() if named else home / "models"


def find(name: str, home: Path) -> Path | None:
    """The ready folder of the model `name`; None where there is none."""
    folders = [models_folder(home)]
    if not os.environ.get(ENV_PREFIX + "MODELS"):
        folders.append(default_home() / "models")
    return next((folder / name for folder in folders if (folder / name / READY).is_file()), None)


def statuses(home: Path) -> tuple[ModelStatus, ...]:
    """Every known model and where it is."""
    return tuple(ModelStatus(model, find(model.name, home)) for model in known().values())


def default_llm(available_bytes: int | None) -> tuple[str, str | None]:
    """The answering model for a machine with so much free memory, and what to tell the user (None: nothing).

    `available_bytes` None means unknown, and then the larger one is taken.
    """
    large = known()[LARGE_LLM]
    # Without bf16 the weights are held in fp32, twice the size.
    need = large.memory * (1 if hardware.bf16_gains() else 2) + BESIDE_WEIGHTS
    if available_bytes is None or available_bytes >= need:
        return LARGE_LLM, None
    return SMALL_LLM, (
        f"{available_bytes / 1e9:.1f} GB of memory are free and {LARGE_LLM} needs {need / 1e9:.1f} GB, so the smaller "
        f"{SMALL_LLM} answers; it mixes papers up more often. Choose yourself with --llm."
    )


def memory_note() -> str | None:
    """What to tell the user when the smaller answering model is chosen for this machine's memory; else None."""
    return default_llm(hardware.available_bytes())[1]


def automatic_llm(home: Path) -> str:
    """What "auto" means: the model that fits the memory, or the other one where only that is on this machine."""
    fitting, _ = default_llm(hardware.available_bytes())
    other = SMALL_LLM if fitting == LARGE_LLM else LARGE_LLM
    return other if find(fitting, home) is None and find(other, home) is not None else fitting


def default_names(settings: Settings) -> tuple[str, ...]:
    """Names of the models that the settings need on this machine, as `ensure_named` takes them."""
    llm = automatic_llm(settings.home) if settings.llm == AUTO else settings.llm
    return (settings.embedder, *([] if llm == NONE or _is_address(llm) else [llm]))


def resolve(reference: str, home: Path, role: Role) -> ResolvedModel:
    """What `reference` means: a known name, a folder, a GGUF file, a hub id, an http(s) address, or "auto".

    An address may name the model after a `#`, else its server is asked. Raises ModelMissing when the model has to be
    fetched or converted first (`ensure` does), ModelUnreachable for a server that does not answer, and ModelError when
    the reference means nothing or the model is not fit for the role.
    """
    if _is_address(reference):
        from rag.models.server import ask_server

        return ask_server(reference)
    name = automatic_llm(home) if reference == AUTO and role == "llm" else reference
    if name in known():
        if known()[name].role != role:
            raise ModelError(f"{name} is no {_ROLE_NAMES[role]}; known ones are {_names(role)}.")
        path = find(name, home)
        if path is None:
            raise ModelMissing(f"{name} is not on this machine; fetch it with: abstract-qa models pull {name}")
        return ResolvedModel(name, fingerprint(path), path)
    place = Path(reference).expanduser()
    if place.is_dir():
        check_folder(place)
        return ResolvedModel(place.resolve().name, fingerprint(place), place)
    if place.is_file():
        if place.suffix.lower() != ".gguf":
            raise ModelError(f"{place} is no model; give a folder of safetensors or a .gguf file.")
        return _folder_of(gguf_name(place), place.stem, home, f"{place} has not been converted yet")
    if _HUB_ID.fullmatch(reference):
        return _folder_of(hub_name(reference), reference, home, f"{reference} is not on this machine")
    raise ModelError(
        f"{reference!r} is no known model, folder, GGUF file, hub id or http(s) address; known are {_names(role)}."
    )


_ROLE_NAMES: Mapping[Role, str] = {"embedder": "embedder", "llm": "language model"}


def _is_address(reference: str) -> bool:
    return reference.startswith(("http://", "https://"))


def _names(role: Role) -> str:
    return ", ".join(model.name for model in known().values() if model.role == role)


def _folder_of(folder: str, name: str, home: Path, missing: str) -> ResolvedModel:
    path = find(folder, home)
    if path is None:
        raise ModelMissing(f"{missing}; make it ready with: abstract-qa models pull {name}")
    return ResolvedModel(name, fingerprint(path), path)


def ensure(reference: str, home: Path, role: Role, progress: Progress = silent) -> ResolvedModel:
    """Like `resolve`, but fetches or converts what is missing, unless `$ABSTRACT_QA_OFFLINE` is set.

    Raises what `resolve` and `pull` raise.
    """
    try:
        return resolve(reference, home, role)
    except ModelMissing:
        if is_offline() and not Path(reference).expanduser().is_file():
            raise
    from rag.models import pull

    if reference == AUTO:
        reference = automatic_llm(home)
    if reference in known():
        pull.pull_known(reference, home, progress)
    elif Path(reference).expanduser().is_file():
        pull.convert_file(Path(reference).expanduser(), home, progress)
    else:
        pull.pull_from_hub(reference, home, progress)
    return resolve(reference, home, role)


def ensure_named(name: str, home: Path, progress: Progress = silent) -> Path:
    """The ready folder of a model of either role, fetched where it is missing. Raises what `ensure` raises."""
    role: Role = known()[name].role if name in known() else "llm"
    path = ensure(name, home, role, progress).path
    if path is None:
        raise ModelError(f"{name} is an address; there is nothing to fetch.")
    return path


def pull(name: str, home: Path, progress: Progress = silent) -> Path:
    """Fetch the known model `name` and make it ready, also when `$ABSTRACT_QA_OFFLINE` is set."""
    if name not in known():
        raise ModelError(f"{name!r} is no known model; known are {', '.join(known())}.")
    from rag.models.pull import pull_known

    return pull_known(name, home, progress)


def verify(name: str, home: Path) -> None:
    """Hash the weights of a ready model again. Raises ModelMissing, and ModelCorrupt when they have changed."""
    path = find(name, home)
    if path is None:
        raise ModelMissing(f"{name} is not on this machine; fetch it with: abstract-qa models pull {name}")
    for file, expected in orjson.loads((path / READY).read_bytes())["weights"].items():
        if not (path / file).is_file() or sha256_of(path / file) != expected:
            raise ModelCorrupt(
                f"{path / file} is not what was made ready; remove {path} and run: abstract-qa models pull {name}"
            )


def check_folder(path: Path) -> None:
    """Refuse a folder that is no model, or whose weights are pickles, which can run code when they are loaded."""
    for folder in [path, *(entry for entry in path.rglob("*") if entry.is_dir())]:
        entries = list(folder.iterdir())
        pickles = sorted(entry.name for entry in entries if entry.suffix.lower() in _PICKLES)
        if pickles and not any(entry.suffix == ".safetensors" for entry in entries):
            raise ModelError(
                f"{folder} has its weights as pickle ({pickles[0]}), which can run code when loaded; "
                "give a folder of safetensors or a .gguf file."
            )
    if not any(path.glob("*.safetensors")) or not (path / "config.json").is_file():
        raise ModelError(f"{path} is no model: a config.json and *.safetensors files are expected in it.")


def fingerprint(path: Path) -> str:
    """Twelve hexadecimal digits for the model in a folder, from its ready.json or from samples of its weights."""
    digest = hashlib.sha256()
    if (path / READY).is_file():
        digest.update(str(orjson.loads((path / READY).read_bytes())["sha256"]).encode())
    else:
        digest.update((path / "config.json").read_bytes())
        for file in sorted(path.glob("*.safetensors")):
            size = file.stat().st_size
            digest.update(f"{file.name} {size}".encode())
            with file.open("rb") as weights:
                for place in range(_SAMPLES):
                    weights.seek(max(0, size - _SAMPLE_BYTES) * place // (_SAMPLES - 1))
                    digest.update(weights.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:12]


def sha256_of(path: Path, tell: Callable[[int], None] | None = None) -> str:
    """The file's SHA-256 in hexadecimal digits; `tell` hears how many bytes are done."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
            done += len(block)
            if tell is not None:
                tell(done)
    return digest.hexdigest()


def gguf_name(path: Path) -> str:
    """The folder's name for a converted GGUF file, by its content."""
    return f"gguf-{sha256_of(path)[:16]}"


def hub_name(reference: str) -> str:
    """The folder's name for a model of the hub."""
    return "hub--" + reference.replace("/", "--")
