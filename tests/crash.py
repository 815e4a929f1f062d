"""Reads a file into a library in a process of its own, which the crash tests kill: HOME FILE."""

from __future__ import annotations

import sys
from pathlib import Path

from rag.ingest.run import IngestOptions, ingest
from tests.library import opened

if __name__ == "__main__":
    with opened(Path(sys.argv[1]), write=True) as index:
        print("opened", flush=True)  # noqa: T201 - the parent waits for it
        ingest([sys.argv[2]], index, IngestOptions())
