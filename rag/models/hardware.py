"""What this machine can do: its memory, its GPU, and whether bf16 makes it faster."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Literal

# bf16 is used where its matrix products take less than this share of fp32's time. Where the processor has no
# instructions for it, torch converts each element by itself, and bf16 is several times slower.
GAIN = 0.8
_TRIES = 5
_kept_under: list[Path] = []


def flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str] | None:
    """The flags of an x86 processor under Linux; None where they can't be read."""
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else None


@functools.cache
def bf16_gains() -> bool:
    """Whether bf16 is worth it on this processor: timed with small products, and remembered under the home."""
    file = _cache()
    known = _remembered(file)
    key = _machine()
    if key not in known:
        known[key] = _seconds("bfloat16") < GAIN * _seconds("float32")
        with suppress(OSError):  # as where there is no home yet; it is measured again next time
            if file is not None:
                file.write_text(json.dumps(known), encoding="utf-8")
    return known[key]


def keep_under(home: Path) -> None:
    """Keep what was measured under this home, once it is there; without one it is not kept."""
    _kept_under.append(home)


def _cache() -> Path | None:
    return _kept_under[-1] / "bf16.json" if _kept_under else None


def _remembered(file: Path | None) -> dict[str, bool]:
    if file is None:
        return {}
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _machine() -> str:
    """Changes when another processor or another torch may give another result."""
    known = sorted(flags() or ())
    text = f"{platform.machine()} {platform.processor()} {os.cpu_count()} {known} {metadata.version('torch')}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _seconds(dtype: Literal["bfloat16", "float32"]) -> float:
    """The least time of some products of 256 rows with a 1024 x 1024 matrix, seconds."""
    import torch

    left = torch.ones((256, 1024), dtype=getattr(torch, dtype))
    right = torch.ones((1024, 1024), dtype=getattr(torch, dtype))
    best = float("inf")
    for _ in range(_TRIES):
        start = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - start)
    return best


Device = Literal["cuda", "mps", "cpu"]


def use_bf16(setting: Literal["auto", "bf16", "fp32"], where: Device | None = None) -> bool:
    """Whether models compute in bf16 on `where` (None: on `device()`): as the setting says, else where it gains."""
    if setting != "auto":
        return setting == "bf16"
    import torch

    where = where or device()
    if where == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # Not every system that has Apple's GPU has bf16 on it.
    return where == "cpu" and bf16_gains()


def device(*, apple: bool = False) -> Device:
    """Where models compute: the GPU when torch has one, else the processor.

    `apple` takes Apple's GPU too, which is for the embedder; answering models have not been tried on it.
    """
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if apple and torch.backends.mps.is_available() else "cpu"


def available_bytes() -> int | None:
    """Memory that a new program can have, in bytes, the container's limit counted; None where it can't be read."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        found = re.search(r"^MemAvailable:\s*(\d+) kB", text, re.MULTILINE)
        free = int(found[1]) * 1024 if found else None
    except OSError:
        free = None
    if free is None and "SC_PHYS_PAGES" in os.sysconf_names:
        # macOS does not say what is free; half of what there is, is a fair guess.
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    left = _container_left()
    limits = [value for value in (free, left) if value is not None]
    return min(limits) if limits else None


def _container_left(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the control group (version 2) leaves this process, in bytes; None without a limit."""
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
        cached = re.search(r"^inactive_file (\d+)", (group / "memory.stat").read_text(encoding="ascii"), re.MULTILINE)
    except (OSError, ValueError):
        return None
    if not limit.isdigit():
        return None
    return max(0, int(limit) - used + (int(cached[1]) if cached else 0))
