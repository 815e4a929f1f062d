"""Rows of delimited text whose quotes may be wrong.

Python's csv module is not used: after a stray quote inside a cell it takes what follows for new cells, or swallows the
file up to the next quote, without a word. Here a quote closes a cell only before a delimiter or a line's end, and a row
that swallows too much is given up at its first line, so that the next rows come in.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_LONGEST_ROW = 2000  # lines


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of one row, and the line it begins at. `sound` is False where its quotes do not close."""

    cells: tuple[str, ...]
    line: int
    sound: bool = True


def cells_of(line: str, delimiter: str) -> tuple[str, ...] | None:
    """The cells of a row that is one line; None where a quote stays open."""
    return _cells(line, delimiter, lambda: None)


class Rows:
    """The rows of numbered `lines`, blank ones left out.

    A row of several lines is given as its first line alone, not sound, and its other lines are read anew, where it has
    not `width` cells (once that is set), or where one of the other lines is a row by itself, as `is_row` tells.
    """

    def __init__(self, lines: Iterable[tuple[int, str]], delimiter: str) -> None:
        self.width: int | None = None
        self.is_row: Callable[[str], bool] = lambda _line: False
        self._source = iter(lines)
        self._delimiter = delimiter
        self._again: deque[tuple[int, str]] = deque()
        self._taken: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[Row]:
        while (first := self._line()) is not None:
            if not first.strip():
                self._taken.clear()
                continue
            cells = _cells(first, self._delimiter, self._line)
            number, extra = self._taken[0][0], self._taken[1:]
            self._taken.clear()
            if cells is None or (extra and self._swallowed(cells, extra)):
                self._again.extendleft(reversed(extra))
                alone = tuple(part.strip().strip('"') for part in first.split(self._delimiter))
                yield Row(alone, number, sound=False)
            else:
                yield Row(cells, number)

    def _swallowed(self, cells: tuple[str, ...], extra: list[tuple[int, str]]) -> bool:
        wrong = self.width is not None and len(cells) != self.width
        return wrong or any(self.is_row(line) for _, line in extra)

    def _line(self) -> str | None:
        if len(self._taken) >= _LONGEST_ROW:
            return None
        item = self._again.popleft() if self._again else next(self._source, None)
        if item is None:
            return None
        self._taken.append(item)
        return item[1]


def _cells(line: str, delimiter: str, following: Callable[[], str | None]) -> tuple[str, ...] | None:
    """The cells that begin on `line`; `following` gives more lines of a quoted cell.

    None where a quote stays open, or where another cell seems to be opened inside a cell of several lines.
    """
    opened, inside, bare = _patterns(delimiter)
    cells: list[str] = []
    at = 0
    while True:
        quote = opened.match(line, at)
        if quote:
            pieces: list[str] = []
            at = quote.end()
            while True:
                body, at, closed = _quoted(inside, line, at)
                pieces.append(body)
                if closed:
                    break
                more = following()
                if more is None:
                    return None
                pieces.append("\n")
                line, at = more, 0
            body = "".join(pieces)
            if len(pieces) > 1 and re.search(rf'{re.escape(delimiter)}"(?!"|{re.escape(delimiter)})', body):
                return None
            cells.append(body.replace('""', '"').strip())
        else:
            end = bare.search(line, at)
            stop = end.start() if end else len(line)
            cells.append(line[at:stop].strip())
            at = stop
        if at >= len(line):
            return tuple(cells)
        at += 1


def _quoted(inside: re.Pattern[str], line: str, at: int) -> tuple[str, int, bool]:
    found = inside.match(line, at)
    # The pattern also matches nothing at all, so there always is a match.
    return (found[1], found.end(), found[2] is not None) if found else ("", at, False)


@functools.cache
def _patterns(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """An opening quote; what is inside quotes, with the closing one if it is there; the next delimiter."""
    mark = re.escape(delimiter)
    opened = re.compile(' *+"')
    inside = re.compile(rf'((?:[^"]|""|"(?! *+(?:{mark}|$)))*+)(" *+(?={mark}|$))?')
    return opened, inside, re.compile(mark)
