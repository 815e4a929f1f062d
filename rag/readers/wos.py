"""Web of Science tagged text (`.ciw`, `savedrecs.txt`). Own line splitter: see docs/decisions/0006."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, records
from rag.types import Record, Rejected

NAME = "wos"

_TAG = re.compile(r"([A-Z][A-Z0-9])(?: (.*)|)$", re.DOTALL)
_START = re.compile(r"^PT [A-Z]\b", re.MULTILINE)
# Of these every line is a value of its own; lines of the others run on.
_LISTS = frozenset({"AU", "AF", "BA", "BF", "BE", "ED", "CA", "GP", "CR", "C1"})


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is Web of Science text."""
    by_name = 0.1 * name.lower().endswith(".ciw")
    begins = re.match(r"\ufeff?\s*FN .*\n\s*VR ", head)
    return by_name + (0.9 if begins else 0.85 if _START.search(head) and re.search(r"^(?:AU|TI) ", head, re.M) else 0.0)


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    return records(file, _entries(file), _record)


def _entries(file: Opened) -> Iterator[Fields]:
    """An entry runs from PT to ER, either of which may be missing."""
    fields: Fields | None = None
    tag = ""
    for number, line in file.lines():
        found = _TAG.match(line.lstrip("\ufeff").rstrip())
        if found is None:
            if fields and tag in _LISTS and line.strip():
                fields.add(tag, line)
            elif fields:
                fields.extend(line)
            continue
        tag = found[1]
        if tag in ("ER", "EF", "PT") and fields:
            yield fields
            fields = None
        if tag not in ("FN", "VR", "ER", "EF"):
            fields = fields or Fields(number)
            fields.add(tag, found[2] or "")
    if fields:
        yield fields


def _record(file: Opened, position: int, fields: Fields) -> Record:
    return make_record(
        file.source(position),
        title=fields.first("TI"),
        abstract=fields.joined("AB"),
        authors=fields.every("AF") or fields.every("AU") or fields.every("CA", "GP"),
        venue=fields.first("SO", "CT", "SE", "JI", "J9"),
        year=fields.year("PY", "EA", "PD", "DG"),
        url=fields.first("UR"),
        doi=fields.first("DI", "D2"),
        pmid=fields.first("PM"),
        keywords=[" ".join(word.split()) for word in fields.listed("DE", "ID", marks=";")],
        extra=fields.rest(),
    )
