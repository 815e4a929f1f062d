"""JSON that is one array or object, of any size: its papers are parsed one at a time from a moving window.

ijson is not used: it stops at NaN, which dumps of data frames hold, and cannot go on after a broken entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rag.readers.names import field_of
from rag.readers.objects import papers_below, record_of
from rag.readers.opened import Opened
from rag.readers.options import NotLiterature, ReadOptions
from rag.types import Record, Rejected

NAME = "json"
LARGEST_ENTRY = 1 << 26  # characters
_SMALL = 1 << 20
_NEXT = re.compile(r"\}\s*,\s*(?=\{)|\n\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,:\[\]}]*")
_KEY = re.compile(r'\{\s*"((?:[^"\\]|\\.){0,200})"\s*:')
_decode = json.JSONDecoder(strict=False, parse_constant=lambda _: None).raw_decode


def sniff(head: str, name: str) -> float:
    """Whether it begins as JSON does: an array of objects, or an object with a key."""
    ending = 0.1 if name.lower().endswith(".json") else 0.0
    if re.match(r"\s*\[\s*(?:[\[{\]]|null)", head) or re.match(r'\s*\{\s*(?:"|\})', head):
        return 0.6 + ending
    return 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The papers wherever in the structure they are: in an array, under a key, or under the ids of a mapping."""
    position = others = 0
    for value, line in _values(_Window(file)):
        before = position
        if isinstance(value, _Broken):
            position += 1
            yield file.rejected(value.reason, line)
            continue
        for paper in papers_below(value):
            position += 1
            yield record_of(paper, file.source(position))
        if position > before:
            continue
        if position or value is None:
            position += 1
            yield file.rejected("an entry with neither title nor abstract", line)
        else:
            others += 1
    if not position:
        raise NotLiterature("JSON in which no entry has a title or an abstract")


@dataclass(frozen=True, slots=True)
class _Broken:
    reason: str


def _values(window: _Window) -> Iterator[tuple[object, int]]:
    """(value, its line) of each object and null at the level of entries; containers too large to hold are entered."""
    while window.skip(_BETWEEN):
        line = window.line
        first = window.text[window.at]
        try:
            value = window.decode(_SMALL)
        except (json.JSONDecodeError, RecursionError) as error:
            key = _KEY.match(window.text, window.at)
            if first == "{" and key is not None and field_of(key[1]) is None:
                window.at = key.end()  # a container: its values are looked at one by one
                continue
            try:
                value = window.decode(LARGEST_ENTRY)
            except (json.JSONDecodeError, RecursionError):
                yield _Broken(f"not valid JSON ({_said(error)}); the entry is left out"), line
                window.find(_NEXT)
                continue
        if isinstance(value, dict) or value is None:
            yield value, line


def _said(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"


class _Window:
    """A moving view of a long text: `text[at:]` is what has not been taken yet."""

    def __init__(self, file: Opened) -> None:
        self._pieces = file.pieces()
        self.text = ""
        self.at = 0
        self._lines_before = 1
        self._counted = 0

    @property
    def line(self) -> int:
        """1-based line of `at`."""
        self._lines_before += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._lines_before

    def more(self) -> bool:
        """Drops what has been taken and adds a piece. False at the end of the file."""
        piece = next(self._pieces, "")
        if not piece:
            return False
        _ = self.line
        self.text = self.text[self.at :] + piece
        self.at = self._counted = 0
        return True

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Moves past what matches `pattern`. False when that is all there is."""
        while True:
            found = pattern.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return True
            if not self.more():
                return False

    def find(self, pattern: re.Pattern[str]) -> None:
        """Moves past the next match of `pattern`, or to the end of the file."""
        self.at += 1
        while True:
            found = pattern.search(self.text, self.at)
            if found:
                self.at = found.end()
                return
            self.at = max(self.at, len(self.text) - 64)  # a match may straddle two pieces
            if not self.more():
                self.at = len(self.text)
                return

    def decode(self, limit: int) -> Any:
        """The JSON value at `at`, which is moved past it; the window grows to `limit` characters while it is cut off.

        Raises JSONDecodeError where the value is broken, or does not end within the limit.
        """
        while True:
            held = len(self.text) - self.at
            try:
                value, end = _decode(self.text, self.at)
            except json.JSONDecodeError as error:
                cut_off = error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - 16
                if held >= limit or not cut_off or not self._grow(held):
                    raise
                continue
            if end == len(self.text) and self.text[end - 1] not in ']}"' and self.more():
                continue  # a number may go on in the next piece
            self.at = end
            return value

    def _grow(self, held: int) -> bool:
        """Doubles what is held, so that decoding again and again stays linear in all."""
        grown = False
        while len(self.text) - self.at < 2 * held + 1 and self.more():
            grown = True
        return grown
