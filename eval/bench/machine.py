"""What a measurement was made on: processor, memory, versions, commit, load; and the memory of a process."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from eval import fingerprints
from rag.models import hardware

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "chromadb",
    "tantivy",
    "langchain-core",
    "langchain-text-splitters",
    "langchain-chroma",
    "numpy",
)
NOTED_FLAGS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")


def describe() -> dict[str, Any]:
    """Everything about this machine and this checkout that bears on the figures; memory in bytes."""
    flags = hardware.flags() or frozenset()
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "flags": [flag for flag in NOTED_FLAGS if flag in flags],
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "commit": commit(),
        "code": fingerprints.of_code(),
    }


def commit() -> str:
    """The checkout's commit, with "+" where files of the program differ from it; "unknown" without Git."""
    found = _git("rev-parse", "--short=12", "HEAD")
    if not found:
        return "unknown"
    return found + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", "rag", "ui", "prompts") else "")


def load() -> list[float]:
    """Average number of running processes over the last 1, 5 and 15 minutes; empty where the system does not say."""
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except (OSError, AttributeError):
        return []


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process in bytes: now in memory, of that what it does not share, and the most there ever was.

    None where the system does not say.
    """

    resident: int | None
    proportional: int | None
    peak: int | None

    def as_json(self) -> dict[str, int | None]:
        return {"resident": self.resident, "proportional": self.proportional, "peak": self.peak}


def memory_of(process: int, proc: Path = Path("/proc")) -> Memory:
    """Memory of a process and, where it has any, of its children."""
    numbers = [process, *_children(process, proc)]
    status = [_text(proc / str(number) / "status") for number in numbers]
    rollup = [_text(proc / str(number) / "smaps_rollup") for number in numbers]
    return Memory(_sum(status, "VmRSS"), _sum(rollup, "Pss"), _sum(status, "VmHWM"))


def _children(process: int, proc: Path) -> list[int]:
    text = _text(proc / str(process) / "task" / str(process) / "children")
    found = [int(number) for number in text.split()]
    return found + [below for number in found for below in _children(number, proc)]


def _sum(texts: list[str], field: str) -> int | None:
    values = [int(found[1]) for text in texts if (found := re.search(rf"^{field}:\s*(\d+) kB", text, re.MULTILINE))]
    return sum(values) * 1024 if values else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.*)$", _text(Path("/proc/cpuinfo")), re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _memory() -> int | None:
    found = re.search(r"^MemTotal:\s*(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return run.stdout.strip()
