"""Refer/BibIX tagged text, which EndNote imports (`.enw`) and CNKI writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.papers.identifiers import doi_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, records
from rag.types import Record, Rejected

NAME = "refer"

_TAG = re.compile(r"\ufeff?\s*%([\da-zA-Z@+?~!#$&*()<>=\[\]^])(?:[ \t\u3000]+(.*)|(?=[^\x00-\x7f])(.*)|)$", re.DOTALL)
_FIRST = re.compile(r"^\ufeff?[ \t]*%[0TAJDB] +\S", re.MULTILINE)


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is Refer text."""
    by_name = 0.1 * name.lower().endswith(".enw")
    first = next((line for line in head.split("\n") if line.strip()), "")
    begun = re.match(r"\ufeff?[ \t]*%[0TA] ", first)
    return by_name + (0.9 if begun and len(_FIRST.findall(head)) > 1 else 0.0)


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    return records(file, _entries(file), _record)


def _entries(file: Opened) -> Iterator[Fields]:
    """%0 begins an entry; in files without it an empty line does. Two %0 in a row are two kinds of one entry."""
    fields: Fields | None = None
    last = ""
    blank = False
    typed = False
    for number, line in file.lines():
        found = _TAG.match(line)
        if found is None:
            if fields and line.strip():
                fields.extend(line)
            blank = blank or not line.strip()
            continue
        tag = found[1]
        begins = (tag == "0" and last != "0") or (blank and not typed and tag != "0")
        if fields is None or begins:
            if fields:
                yield fields
            fields = Fields(number)
            typed = tag == "0"
        fields.add(f"%{tag}", found[2] or found[3] or "")
        last, blank = tag, False
    if fields:
        yield fields


def _record(file: Opened, position: int, fields: Fields) -> Record:
    links = fields.peek("%R", "%U", "%M")
    return make_record(
        file.source(position),
        title=fields.first("%T", "%!"),
        abstract=fields.joined("%X"),
        authors=fields.listed("%A"),
        venue=fields.first("%J", "%B", "%S"),
        year=fields.year("%D", "%8"),
        url=fields.first("%U"),
        doi=fields.first("%R") if doi_of(next(iter(fields.peek("%R")), "")) else next(filter(doi_of, links), None),
        keywords=fields.listed("%K"),
        extra=fields.rest(),
    )
