"""What this machine can do: its memory, its GPU, and whether bf16 makes it faster."""

from __future__ import annotations

import functools
import os
import re
import time
from pathlib import Path
from typing import Literal

# Flags of x86 processors whose matrix products are faster in bf16. Without them torch converts each element by
# itself, and bf16 is several times slower than fp32.
BF16_FLAGS = frozenset({"amx_bf16", "avx512_bf16"})


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
    """Whether bf16 is worth it on this processor: by its flags, else by timing a small product."""
    known = flags()
    return bool(known & BF16_FLAGS) if known is not None else _seconds("bfloat16") < 0.8 * _seconds("float32")


def _seconds(dtype: Literal["bfloat16", "float32"]) -> float:
    """The least time of five products of 256 rows with a 1024 x 1024 matrix, seconds."""
    import torch

    left = torch.ones((256, 1024), dtype=getattr(torch, dtype))
    right = torch.ones((1024, 1024), dtype=getattr(torch, dtype))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - start)
    return best


def use_bf16(setting: Literal["auto", "bf16", "fp32"]) -> bool:
    """Whether models compute in bf16: as the setting says, else where it gains."""
    if setting != "auto":
        return setting == "bf16"
    import torch

    return torch.cuda.is_bf16_supported() if torch.cuda.is_available() else bf16_gains()


def device() -> Literal["cuda", "cpu"]:
    """Where models compute: the GPU when torch has one, else the processor."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


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
