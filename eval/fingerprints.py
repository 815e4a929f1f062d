"""Twelve hexadecimal digits for what a run depends on: if they are the same, so are the figures."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import rag


def of_json(value: object) -> str:
    """Fingerprint of a value that JSON can hold; what it cannot is taken by its text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]


def of_library(index: Any) -> str:
    """Fingerprint of a library's manifest: embedder, chunking, counts, generation."""
    manifest = index.manifest
    return of_json(dataclasses.asdict(manifest) if dataclasses.is_dataclass(manifest) else manifest)  # type: ignore[arg-type]


@cache
def of_code() -> str:
    """Fingerprint of the source and data files of the package `rag`."""
    root = Path(rag.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".json", ".toml"):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def version() -> str:
    """The program's version; "unknown" where it runs from a folder without being installed."""
    try:
        return metadata.version("abstract-qa")
    except metadata.PackageNotFoundError:
        return "unknown"
