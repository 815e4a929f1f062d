"""RefWorks tagged text, with what CNKI makes of it (`.txt`)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from rag.papers.identifiers import doi_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, records
from rag.types import Record, Rejected

NAME = "refworks"

_TAGS = """
RT SR ID A1 T1 JF JO YR FD VO IS SP OP K1 AB NO A2 T2 ED PB PP A3 A4 A5 A6 T3 SN AV AD AN LA CL SF OT LK DO CN DB DS IP
RD ST U1 U2 U3 U4 U5 UL URL WP WT WV OL PMID PMCID C1 C2 C3 C4 C5 BT CR FT
"""
_KNOWN = frozenset(_TAGS.split())
# CNKI leaves out the blank before Chinese text, and writes VO in small letters.
_TAG = re.compile(r"\ufeff?(URL|PMC?ID|vo|[A-Z][A-Z0-9])(?:[ \t\u3000]+(.*)|(?=[^\x00-\x7f])(.*)|)$", re.DOTALL)
_START = re.compile(r"^\ufeff?RT [ \t]*\S", re.MULTILINE)


def sniff(head: str, _name: str) -> float:
    """How surely a file that starts with `head` is RefWorks text."""
    tags = len(re.findall(r"^(?:SR|ID|A1|T1|JF|YR|AB|K1|DS|PB)[ \t\u3000]*\S", head, re.MULTILINE))
    return 0.9 if _START.search(head) and tags > 1 else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    return records(file, _entries(file), _record)


def _entries(file: Opened) -> Iterator[Fields]:
    """RT begins an entry. What stands before the first one is a heading."""
    fields: Fields | None = None
    for number, line in file.lines():
        found = _TAG.match(line)
        tag = found[1].upper() if found else ""
        if tag == "RT":
            if fields:
                yield fields
            fields = Fields(number)
        if fields is None:
            continue
        if found and tag in _KNOWN:
            fields.add(tag, found[2] or found[3] or "")
        else:
            fields.extend(line)
    if fields:
        yield fields


def _record(file: Opened, position: int, fields: Fields) -> Record:
    links = fields.peek("DO", "LK", "UL", "URL", "AN")
    return make_record(
        file.source(position),
        title=fields.first("T1", "BT"),
        abstract=fields.joined("AB"),
        authors=fields.listed("A1"),
        venue=fields.first("JF", "JO", "T2", "T3"),
        year=fields.year("YR", "FD"),
        url=html.unescape(fields.first("LK", "UL", "URL") or ""),
        doi=fields.first("DO") or next((link for link in links if doi_of(link)), None),
        pmid=fields.first("PMID"),
        keywords=fields.listed("K1"),
        extra=fields.rest(),
    )
