"""Write requirements-hashes.txt from pip's report on constraints.txt: `python scripts/hashes.py REPORT FILE`.

    pip install --dry-run --ignore-installed --only-binary=:all: --no-deps -r constraints.txt --report REPORT

The hashes are of the wheels for the platform and the Python that pip ran with. torch is left out: its builds for one
release differ by index (CPU, CUDA), and so do their hashes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BUILT_MANY_WAYS = frozenset({"torch"})


def lines(report: dict[str, Any]) -> list[str]:
    """A line for each package with the SHA-256 of its wheel, sorted by name; those without one are left out."""
    found = []
    for item in report["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if digest and name.lower() not in BUILT_MANY_WAYS:
            found.append(f"{name}=={version} --hash=sha256:{digest}")
    return sorted(found, key=str.lower)


if __name__ == "__main__":
    made = lines(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    head = (
        "# Hashes of the wheels for Linux on x86-64 and Python 3.11; torch is left out. Written by scripts/hashes.py\n"
    )
    Path(sys.argv[2]).write_text(head + "\n".join(made) + "\n", encoding="utf-8")
