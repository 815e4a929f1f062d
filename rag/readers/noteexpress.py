"""Labelled text of Chinese services: NoteExpress (`{Title}: …`), and CNKI's own (`Title-题名: …`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.readers.fields import make_record
from rag.readers.names import field_of
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, records
from rag.types import Record, Rejected

NAME = "noteexpress"

_BRACED = re.compile(r"\ufeff?\s*\{([A-Za-z][A-Za-z /()-]{1,40})\}\s*[:：]\s*(.*)$")
_PAIRED = re.compile(r"\ufeff?\s*([A-Za-z]{2,20})-[\u4e00-\u9fff]{1,8}\s*[:：]\s*(.*)$")
_FIRST = frozenset({"Reference Type", "SrcDatabase", "DataType"})
_FIELDS = {
    "Title": "title",
    "Author": "authors",
    "Journal": "venue",
    "Secondary Title": "venue",
    "Conference Name": "venue",
    "Source": "venue",
    "Year": "year",
    "Date": "year",
    "PubTime": "year",
    "Keywords": "keywords",
    "Keyword": "keywords",
    "Abstract": "abstract",
    "Summary": "abstract",
    "URL": "url",
    "Link": "url",
    "DOI": "doi",
}


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is one of these."""
    lines = head.split("\n")[:60]
    labels = [found[1] for line in lines if (found := _BRACED.match(line) or _PAIRED.match(line))]
    known = sum(label in _FIELDS or label in _FIRST for label in labels)
    return 0.9 + 0.1 * name.lower().endswith(".net") if known > 2 and "Title" in labels else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    return records(file, _entries(file), _record)


def _entries(file: Opened) -> Iterator[Fields]:
    """The kind of the entry begins it; where none is stated, a title after an empty line does."""
    fields: Fields | None = None
    blank = False
    for number, line in file.lines():
        found = _BRACED.match(line) or _PAIRED.match(line)
        if found is None:
            if fields and line.strip():
                fields.extend(line)
            blank = blank or not line.strip()
            continue
        label = found[1].strip()
        if fields is None or label in _FIRST or (blank and label == "Title" and "title" in fields):
            if fields:
                yield fields
            fields = Fields(number)
        fields.add(_FIELDS.get(label) or _named(label) or label, found[2])
        blank = False
    if fields:
        yield fields


def _named(label: str) -> str | None:
    found = field_of(label)
    return found[0] if found and found[0] in ("pmid", "arxiv_id") else None


def _record(file: Opened, position: int, fields: Fields) -> Record:
    return make_record(
        file.source(position),
        title=fields.first("title"),
        abstract=fields.joined("abstract"),
        authors=fields.listed("authors", marks=";；\n,，"),
        venue=fields.first("venue"),
        year=fields.year("year"),
        url=fields.first("url"),
        doi=fields.first("doi"),
        pmid=fields.first("pmid"),
        keywords=fields.listed("keywords", marks=";；\n"),
        extra=fields.rest(),
    )
