"""Entries of tagged formats, where each line is a tag and a value: what RIS, MEDLINE and others share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rag.readers.fields import year_of
from rag.readers.opened import Opened
from rag.types import Record, Rejected

_SAME = re.compile(r"[\s/.-]*")


class Fields:
    """The tagged values of one entry in order. What a reader takes is used up; `rest` is what remains for `extra`."""

    def __init__(self, line: int) -> None:
        """`line` is where the entry begins, 1-based."""
        self.line = line
        self._items: list[tuple[str, list[str]]] = []

    def __bool__(self) -> bool:
        return bool(self._items)

    def __contains__(self, tag: str) -> bool:
        return any(tag == own for own, _ in self._items)

    def add(self, tag: str, value: str) -> None:
        """Another value of `tag`."""
        self._items.append((tag, [value.strip()]))

    def extend(self, line: str) -> None:
        """A line that goes on with the last value."""
        if self._items:
            self._items[-1][1].append(line.strip())

    def peek(self, *tags: str) -> list[str]:
        """All values of these tags, in the order of the file, left in place."""
        return [text for tag, lines in self._items if tag in tags and (text := "\n".join(lines).strip())]

    def every(self, *tags: str) -> list[str]:
        """All values of these tags, in the order of the file, used up."""
        values = self.peek(*tags)
        self._items = [item for item in self._items if item[0] not in tags]
        return values

    def first(self, *tags: str) -> str | None:
        """The first value that is not empty, by the order of `tags`. It is used up, wherever it is repeated."""
        for tag in tags:
            if values := self.peek(tag):
                self._drop(values[0], tags)
                return values[0]
        return None

    def joined(self, *tags: str) -> str | None:
        """All values of the first of `tags` that has any, as one text of several lines, used up."""
        for tag in tags:
            if values := self.every(tag):
                text = "\n".join(values)
                self._drop(text, tags)
                return text
        return None

    def year(self, *tags: str) -> int | None:
        """The first year in the values of `tags`, by their order. A value that says no more than that is used up."""
        for tag in tags:
            for value in self.peek(tag):
                if (year := year_of(value)) is not None:
                    if _SAME.fullmatch(value.replace(str(year), "", 1)):
                        self._drop(value, (tag,))
                    return year
        return None

    def listed(self, *tags: str, marks: str = ";；\n") -> list[str]:
        """All values of these tags, cut at any of the characters `marks`, used up."""
        cut = re.compile(f"[{re.escape(marks)}]")
        return [part.strip() for value in self.every(*tags) for part in cut.split(value) if part.strip()]

    def rest(self) -> dict[str, str]:
        """What has not been taken, by tag; several values of one tag stand on a line each."""
        left: dict[str, list[str]] = {}
        for tag, lines in self._items:
            if text := "\n".join(lines).strip():
                left.setdefault(tag, []).append(text)
        return {tag: "\n".join(dict.fromkeys(values)) for tag, values in left.items()}

    def _drop(self, value: str, tags: tuple[str, ...]) -> None:
        self._items = [
            (tag, lines) for tag, lines in self._items if tag not in tags or "\n".join(lines).strip() != value
        ]


def records(
    file: Opened, entries: Iterator[Fields], build: Callable[[Opened, int, Fields], Record]
) -> Iterator[Record | Rejected]:
    """A Record of each entry, positions counted from 1; one with neither title nor abstract is rejected."""
    for position, fields in enumerate(entries, 1):
        line = fields.line
        record = build(file, position, fields)
        yield record if record.title or record.abstract else nameless(file, position, line)


def nameless(file: Opened, position: int, line: int | None) -> Rejected:
    """The rejection of an entry that says nothing to search by."""
    return file.rejected(f"entry {position} has neither title nor abstract", line)
