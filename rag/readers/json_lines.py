"""JSON lines: one object a line; a line may also be a whole answer of a service, with its papers somewhere in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import orjson

from rag.readers.objects import papers_below, record_of
from rag.readers.opened import Opened
from rag.readers.options import NotLiterature, ReadOptions
from rag.types import Record, Rejected

NAME = "jsonl"
_MOST_STRANGE = 1000


def sniff(head: str, name: str) -> float:
    """Sure where the first line is a whole object; a second line must then begin another."""
    lines = [line for line in head.split("\n") if line.strip()]
    if not lines or not lines[0].lstrip().startswith("{"):
        return 0.0
    ending = 0.1 if name.lower().endswith((".jsonl", ".ndjson")) else 0.0
    if not _is_object(lines[0]):
        # A line that is broken or longer than what is seen here: the next ones tell.
        return 0.5 + ending if any(_is_object(line) for line in lines[1:-1]) else 5 * ending
    if len(lines) > 1 and not lines[1].lstrip().startswith("{"):
        return 0.3 + ending
    return 0.85 + ending


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """One record a line; a line that is no JSON object, or describes no paper, is rejected with its number."""
    position = 0
    found = False
    strange: list[Rejected] = []  # objects of another kind, until it is clear that there are papers
    for number, line in file.lines():
        if not line or line.isspace():
            continue
        try:
            value = _parsed(line)
        except ValueError as error:
            position += 1
            yield file.rejected(f"not valid JSON ({error})", number)
            continue
        except RecursionError:
            position += 1
            yield file.rejected("JSON nested too deeply", number)
            continue
        papers = list(papers_below(value))
        if not papers:
            position += 1
            strange.append(file.rejected("a JSON object with neither title nor abstract", number))
        else:
            found = True
        if found or len(strange) > _MOST_STRANGE:
            yield from strange
            strange.clear()
        for paper in papers:
            position += 1
            yield record_of(paper, file.source(position))
    if not found and strange:
        raise NotLiterature("JSON lines in which no entry has a title or an abstract")


def _parsed(line: str) -> Any:
    """Strict and fast first; Python's own parser forgives NaN and lone surrogates, which dumps of data frames have."""
    try:
        return orjson.loads(line)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return json.loads(line.encode("utf-8", "replace"), parse_constant=_missing)


def _missing(name: str) -> float | None:
    return None if name == "NaN" else math.inf if name == "Infinity" else -math.inf


def _is_object(line: str) -> bool:
    try:
        return isinstance(_parsed(line), dict)
    except (ValueError, RecursionError):
        return False
