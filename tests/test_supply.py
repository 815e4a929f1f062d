"""Pins and their hashes agree, and models are hashed again on demand."""

from __future__ import annotations

import json
import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rag.cli import cli
from rag.errors import ModelCorrupt
from rag.models.known import sha256_of
from scripts.hashes import BUILT_MANY_WAYS, lines

ROOT = Path(__file__).parent.parent


def pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return {found[1].lower(): found[2] for found in re.finditer(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


def needed(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Names of all packages that one needs here, those it needs through others too."""
    found: set[str] = set()
    rest = [(name, extras)]
    while rest:
        one, chosen = rest.pop()
        for text in requires(one) or ():
            wanted = Requirement(text)
            marker = wanted.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *chosen)):
                continue
            if (key := canonicalize_name(wanted.name)) not in found:
                found.add(key)
                rest.append((key, frozenset(wanted.extras)))
    return found


@pytest.mark.parametrize("extras", [frozenset(), frozenset({"dev", "bench"})])
def test_every_package_that_is_needed_is_pinned(extras: frozenset[str]) -> None:
    pinned = {canonicalize_name(name) for name in pins("constraints.txt")}
    hashed = {canonicalize_name(name) for name in pins("requirements-hashes.txt")}
    wanted = needed("abstract-qa", extras) - {"setuptools"}  # a new environment of Python 3.11 has it
    assert {"gradio", "matplotlib", "starlette"} <= wanted
    assert wanted - pinned == set()
    assert wanted - hashed == set(BUILT_MANY_WAYS)


def test_every_hash_is_of_the_pinned_version() -> None:
    pinned, hashed = pins("constraints.txt"), pins("requirements-hashes.txt")
    assert {name: pinned.get(name) for name in hashed} == hashed
    assert len(hashed) > 100
    listed = (ROOT / "requirements-hashes.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in listed)


def test_hashes_come_from_pips_report() -> None:
    def item(name: str, digest: str | None) -> dict[str, object]:
        archive = {"archive_info": {"hashes": {"sha256": digest} if digest else {}}}
        return {"metadata": {"name": name, "version": "1.0"}, "download_info": archive}

    report = {"install": [item("b", "22"), item("A", "11"), item("torch", "33"), item("c", None)]}
    assert lines(report) == ["A==1.0 --hash=sha256:11", "b==1.0 --hash=sha256:22"]
    assert "torch" in BUILT_MANY_WAYS


def test_models_are_hashed_again(home: Path) -> None:
    folder = home / "models" / "all-minilm-l6-v2"
    folder.mkdir(parents=True)
    weights = folder / "model.safetensors"
    weights.write_bytes(b"weights")
    ready = {"name": "all-minilm-l6-v2", "sha256": "0", "weights": {weights.name: sha256_of(weights)}}
    (folder / "ready.json").write_text(json.dumps(ready))
    told = CliRunner().invoke(cli, ["models", "verify"])
    assert (told.exit_code, told.output) == (0, "all-minilm-l6-v2: unchanged\n")
    weights.write_bytes(b"others!")
    with pytest.raises(ModelCorrupt, match="models pull"):
        CliRunner().invoke(cli, ["models", "verify"], catch_exceptions=False)
