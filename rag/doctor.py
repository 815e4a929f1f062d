"""What is installed, what library is there, what is missing, and the command that mends each."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rag.errors import AbstractQAError
from rag.models import hardware
from rag.models import known as models
from rag.settings import Settings, load_settings
from rag.store.index import Index

PACKAGES = ("chromadb", "tantivy", "sentence-transformers", "transformers", "torch", "langchain-core", "gradio")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `good` False means something is to be done; `mend` is the command for it, empty if none."""

    good: bool
    what: str
    mend: str = ""


def examine(home: Path | None, *, repair: bool = False, store: str | None = None) -> tuple[Finding, ...]:
    """All findings for the library under `home` (None: the default one); `repair` first mends what can be mended.

    `store` is the address of a Chroma server, None for what the settings say.
    """
    findings = [_python(), *_packages()]
    try:
        settings = load_settings(home, store=store)
    except AbstractQAError as error:
        return (*findings, *_machine(), Finding(False, str(error)))
    hardware.keep_under(settings.home)
    findings.extend(_machine())
    findings.append(Finding(True, f"home: {settings.home}"))
    findings.extend(_models(settings))
    findings.extend(_library(settings, repair))
    return tuple(findings)


def _python() -> Finding:
    return Finding(True, f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")


def _packages() -> Iterator[Finding]:
    present = []
    for name in PACKAGES:
        try:
            present.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield Finding(False, f"{name} is not installed", f"{sys.executable} -m pip install {name}")
    yield Finding(True, "packages: " + ", ".join(present))


def _machine() -> Iterator[Finding]:
    free = hardware.available_bytes()
    memory = "unknown" if free is None else f"{free / 1e9:.1f} GB free"
    number = "bf16" if hardware.bf16_gains() else "fp32 (bf16 does not pay on this processor)"
    yield Finding(True, f"memory: {memory}; models compute in {number} on {hardware.device()}")
    if note := models.memory_note():
        yield Finding(True, note)


def _models(settings: Settings) -> Iterator[Finding]:
    needed = set(models.default_names(settings))
    for status in models.statuses(settings.home):
        name = status.model.name
        if status.path is not None:
            yield Finding(True, f"model {name}: ready in {status.path}")
        elif name in needed:
            yield Finding(False, f"model {name} is needed and not on this machine", f"abstract-qa models pull {name}")
    for name in sorted(needed - models.known().keys()):
        try:
            models.resolve(name, settings.home, "embedder" if name == settings.embedder else "llm")
            yield Finding(True, f"model {name}: ready")
        except AbstractQAError as error:
            yield Finding(False, str(error))


def _library(settings: Settings, repair: bool) -> Iterator[Finding]:
    here = f" --home {settings.home}" + (f" --store {settings.store}" if settings.store else "")
    if not (settings.home / "library.sqlite").is_file():
        yield Finding(False, "no library yet", f"abstract-qa ingest PATH{here}")
        return
    try:
        with Index.open(settings, None, write=repair) as index:
            yield from (Finding(True, note) for note in index.notes)
            if repair:
                yield from (Finding(True, f"repaired: {done}") for done in index.repair().done)
            health = index.verify()
            built = index.manifest
    except AbstractQAError as error:
        yield Finding(False, str(error))
        return
    yield Finding(
        True,
        f"library: {health.papers:,} papers in {health.chunks:,} chunks; dense index {health.dense_chunks:,} chunks, "
        f"lexical index {health.lexical_papers:,} papers; built with {built.embedder or 'no embedder yet'}",
    )
    for problem in health.problems:
        yield Finding(False, problem, f"abstract-qa doctor --repair{here}")
    if not health.papers:
        yield Finding(False, "the library is empty", f"abstract-qa ingest PATH{here}")
    try:
        embedder = models.resolve(settings.embedder, settings.home, "embedder")
    except AbstractQAError:
        return  # already said among the models
    if health.papers and built.fingerprint and built.fingerprint != embedder.fingerprint:
        yield Finding(
            False, f"the library was built with {built.embedder}, not {embedder.name}", f"abstract-qa reindex{here}"
        )
