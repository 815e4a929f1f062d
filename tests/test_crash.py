"""`kill -9` of an ingest at random moments: the next run has every paper once, and all three parts in step."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from rag.ingest.run import IngestOptions, ingest
from tests.library import entry, in_step, opened, write_jsonl

KILLS = 10


def killed(home: Path, file: Path, after_s: float) -> None:
    """Start an ingest and kill it `after_s` seconds after it has opened the library."""
    command = [sys.executable, "-m", "tests.crash", str(home), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "opened\n"
        time.sleep(after_s)
        process.kill()


def test_an_ingest_killed_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    moments = random.Random(7)
    home = tmp_path / "home"
    entries = [entry(number) for number in range(1100)]
    for attempt in range(KILLS):
        # Each time some entries are edited, so that there is always work to interrupt.
        for number in range(attempt, len(entries), 11):
            entries[number]["abstract"] += f" Edited in round {attempt}."
        file = write_jsonl(tmp_path / "a.jsonl", entries)
        killed(home, file, moments.uniform(0.0, 1.5))
        with opened(home) as index:
            in_step(index)
    with opened(home) as index:
        report = ingest([file], index, IngestOptions())
        assert report.added + report.unchanged + report.replaced == len(entries)
        papers = index.papers(index.rows()).values()
        assert sorted(one.abstract for one in papers) == sorted(one["abstract"] for one in entries)
        in_step(index)
