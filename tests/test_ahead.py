"""Entries read ahead: in order, counted, with errors where they belong."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rag.errors import InputError
from rag.ingest import ahead
from rag.ingest.ahead import ReadAhead
from rag.readers import FileRead, ReadOptions
from rag.types import Record
from tests.library import entry, write_jsonl


def test_places_come_in_order_and_are_counted(tmp_path: Path) -> None:
    files = [write_jsonl(tmp_path / f"{name}.jsonl", [entry(number) for number in range(3)]) for name in "ba"]
    with ReadAhead([str(file) for file in files], [file.stat().st_size for file in files], ReadOptions()) as reading:
        for file in files:
            items = list(reading.items())
            assert [item.source.path for item in items if isinstance(item, Record)] == [str(file)] * 3
            assert isinstance(items[-1], FileRead)
        assert reading.total == 6


def test_nothing_to_read_is_nothing_to_come() -> None:
    with ReadAhead([], [], ReadOptions()) as reading:
        assert reading.total == 0


def test_an_error_comes_where_its_place_is(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1)])
    with ReadAhead([str(file), str(tmp_path / "none")], [10, 10], ReadOptions()) as reading:
        assert len(list(reading.items())) == 2
        with pytest.raises(InputError, match="does not exist"):
            list(reading.items())


def test_before_all_is_read_the_total_is_estimated_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST", 100)
    # Entries of one length in a file much longer than what is read in one piece.
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1, note="x" * 20_000, id=f"p{n:04}") for n in range(1000)])
    with ReadAhead([str(file)], [file.stat().st_size], ReadOptions()) as reading:
        items = reading.items()
        for _ in range(200):
            next(items)
        estimate = reading.total
        assert estimate is not None
        assert 700 < estimate <= 1100
        assert sum(isinstance(item, Record) for item in items) == 800
        assert reading.total == 1000


def test_a_reader_that_nobody_wants_any_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST", 1)
    file = write_jsonl(tmp_path / "a.jsonl", [entry(number) for number in range(50)])
    with ReadAhead([str(file)], [file.stat().st_size], ReadOptions()) as reading:
        next(reading.items())
    reading._thread.join(30)
    assert not any(thread is reading._thread for thread in threading.enumerate())
