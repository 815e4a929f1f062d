"""Write the licences of the direct dependencies and of the models as Markdown: `python scripts/licences.py FILE`."""

from __future__ import annotations

import re
import sys
import tomllib
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import cast

from rag.models.known import known

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# What the free texts and classifiers of older packages mean, in SPDX terms.
_SPDX = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}


def licence(found: Message) -> str:
    """The licence a package states: its expression, else its classifiers, else its short text."""
    expression = found.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [
        entry.rsplit(" :: ", 1)[-1] for entry in found.get_all("Classifier") or () if entry.startswith("License :: ")
    ]
    text = (found.get("License") or "").strip().splitlines()
    stated = [entry for entry in classifiers if entry not in {"OSI Approved", "DFSG approved"}] or text[:1]
    return " / ".join(_SPDX.get(entry, entry) for entry in stated) or "not stated"


def table() -> str:
    """The whole page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    lines = [
        "# Licences",
        "",
        "This project: Apache-2.0. Below, what it depends on directly. Written by `make licences`.",
        "",
        "| package | needed for | licence |",
        "| --- | --- | --- |",
    ]
    for group, requirements in groups.items():
        for requirement in requirements:
            name = _NAME.match(requirement)
            if name is None:
                continue
            try:
                stated = licence(cast(Message, metadata(name[0])))
            except PackageNotFoundError:
                stated = "not installed"
            lines.append(f"| {name[0]} | {group or 'running'} | {stated} |")
    lines += [
        "",
        "Models are fetched by the user, none is part of this project.",
        "",
        "| model | published as | licence | SHA-256 |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {model.name} | {model.source} | {model.licence} | `{model.sha256}` |" for model in known().values()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(table(), encoding="utf-8")
