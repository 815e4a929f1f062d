"""Invented papers and small libraries for tests of storage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rag.ingest.prepare import prepare
from rag.settings import Settings
from rag.store.index import Index, PreparedPaper
from rag.types import Paper
from tests.fakes import FakeEncoder

SUBJECTS = ("sparse gating", "protein folding", "graph pooling", "speech codecs", "causal discovery", "robot grasping")


def word(stem: str, number: int) -> str:
    """A word of letters alone, another for every number."""
    return stem + "".join("bcdfghjklm"[int(digit)] for digit in str(number))


def paper(number: int, **changes: Any) -> Paper:
    """An invented paper; papers of different numbers share few words."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    fields: dict[str, Any] = {
        "paper_id": f"p{number}",
        "title": f"Method{number} for {subject}",
        "abstract": f"We study {subject} with {word('device', number)}. It reaches {number} points "
        f"on {word('bench', number)}. Code is public.",
        "authors": (f"Ada {word('Writer', number)}",),
        "venue": ("ICLR", "NeurIPS", "ACL")[number % 3],
        "year": 2020 + number % 5,
    }
    return Paper(**(fields | changes))


def entry(number: int, **changes: Any) -> dict[str, Any]:
    """The same paper as a line of this project's own JSONL."""
    one = paper(number)
    fields: dict[str, Any] = {
        "id": one.paper_id,
        "title": one.title,
        "abstract": one.abstract,
        "authors": list(one.authors),
        "venue": one.venue,
        "year": one.year,
    }
    return fields | changes


def write_jsonl(path: Path, entries: Iterable[dict[str, Any]]) -> Path:
    """A JSONL file of entries."""
    path.write_text("".join(json.dumps(item) + "\n" for item in entries), encoding="utf-8")
    return path


def fill(index: Index, papers: Sequence[Paper]) -> list[int]:
    """Store papers as they are; returns their rows."""
    vectors = prepare(papers, index.encoder)
    return index.put([PreparedPaper(one, made) for one, made in zip(papers, vectors, strict=True)])


def opened(home: Path, *, write: bool = False, encoder: FakeEncoder | None = None, **flags: Any) -> Index:
    """A library under `home` with a FakeEncoder."""
    return Index.open(Settings(home=home), encoder or FakeEncoder(dimension=64), write=write, **flags)


def in_step(index: Index) -> None:
    """Fails unless the database and both indexes hold the same."""
    health = index.verify()
    assert health.problems == ()
    assert health.dense_chunks == health.chunks
    assert health.lexical_papers == health.papers == len(index)
