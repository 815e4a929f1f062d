"""What a caller may set for reading, what closes a file, and how a reader gives a file up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read. `columns` maps a field (title, abstract, …) to the name or 1-based number of its column in a table.

    `format` forces one format by its NAME. `venue` and `year` are given to entries that state none.
    """

    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    format: str | None = None
    venue: str | None = None
    year: int | None = None


@dataclass(frozen=True, slots=True)
class FileRead:
    """Closes a file: how many records it gave (`without_abstract` of them have only a title) and how many rejections.

    `format` is None for a file that was passed over as no literature; `note` then says why.
    """

    path: str
    format: str | None
    read: int = 0
    rejected: int = 0
    without_abstract: int = 0
    note: str = ""


class Unreadable(Exception):
    """The rest of the file cannot be read: `reason` for the user, `line` (1-based) where it is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class NotLiterature(Unreadable):
    """The file is sound but holds no papers (a read-me, a table of something else)."""
