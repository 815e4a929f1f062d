"""MEDLINE tagged text: PubMed and ERIC (`.nbib`), Ovid (`.cgi`, `.txt`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.papers.identifiers import doi_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, records
from rag.types import Record, Rejected

NAME = "medline"

_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(?!-)(.*)$", re.DOTALL)
_NUMBERED = re.compile(r"\s*<\s*\d+\s*\.?\s*>\s*$")
_FIRST = re.compile(r"^\ufeff?(?:(?:PMID|OWN |UI  ?|STAT)- ?\S|VN  - Ovid)", re.MULTILINE)
# Tags that an entry has once: after an empty line, one that the entry has already begins another.
_ONCE = frozenset({"PMID", "OWN", "VN", "UI", "DB", "STAT", "TI", "AN"})
# Titles translated into English stand in brackets.
_TRANSLATED = re.compile(r"^\[(.*)\]\.?$", re.DOTALL)
_BRACKET = re.compile(r"\s*\[(\w+)\]\s*$")


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is MEDLINE text. RIS, which looks alike, has a line `TY  - `."""
    by_name = 0.1 * name.lower().endswith((".nbib", ".medline", ".cgi"))
    if re.search(r"^\ufeff?TY  -", head, re.MULTILINE):
        return 0.0
    tags = len(re.findall(r"^(?:TI|AB|AU|FAU|SO|PMID|OWN) {0,2}- ", head, re.MULTILINE))
    return by_name + (0.9 if _FIRST.search(head) and tags > 1 else 0.5 if tags > 2 else 0.0)


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    return records(file, _entries(file), _record)


def _entries(file: Opened) -> Iterator[Fields]:
    fields: Fields | None = None
    blank = False
    for number, line in file.lines():
        found = _TAG.match(line.lstrip("\ufeff")) if not line.startswith("     ") else None
        numbered = _NUMBERED.match(line) is not None
        again = found and fields and found[1] in fields and (found[1] == "PMID" or (blank and found[1] in _ONCE))
        if numbered or again or (found and fields is None):
            if fields:
                yield fields
            fields = Fields(number)
        if fields is not None and found:
            fields.add(found[1], found[2])
        elif fields and not numbered:
            fields.extend(line)
        blank = not line.strip()
    if fields:
        yield fields


def _record(file: Opened, position: int, fields: Fields) -> Record:
    authors = fields.every("FAU") or fields.every("AU") or fields.every("CN")
    # The DOI of a conference abstract in Embase is that of the supplement, which hundreds of abstracts share.
    shared = any("conference abstract" in kind.lower() for kind in fields.peek("PT", "ST"))
    links = [text for text in fields.peek("LID", "AID", "DO") if text.startswith("http") and not shared]
    return make_record(
        file.source(position),
        title=_TRANSLATED.sub(r"\1", fields.first("TI", "BTI", "CTI", "TT") or ""),
        abstract=fields.joined("AB", "OAB"),
        authors=[author for author in authors if author.rstrip(".").lower() != "et al"],
        venue=fields.first("JT", "TA", "JN") or _journal(fields.peek("SO")),
        year=fields.year("DP", "YR", "DEP", "PY", "SO", "EDAT", "CRDT"),
        url=fields.first("URL", "UR") or next(iter(links), None),
        doi=None if shared else _doi(fields),
        pmid=fields.first("PMID") or (fields.first("PM") if "PM" in fields else None),
        keywords=[word.replace("*", "") for word in fields.every("OT", "MH", "KW", "OD")],
        extra=fields.rest(),
    )


def _doi(fields: Fields) -> str | None:
    """The article's own DOI: marked `[doi]`, or in an address; other numbers are the publisher's."""
    for text in fields.peek("LID", "AID", "DO", "DI"):
        kind = _BRACKET.search(text)
        if (kind is None or kind[1] == "doi") and doi_of(_BRACKET.sub("", text)):
            return _BRACKET.sub("", text)
    return None


def _journal(sources: list[str]) -> str | None:
    """The journal's name, with which Ovid's source line begins; ERIC's begins with the volume."""
    found = re.match(r"(?!v\d)([^.]+)\.\s", sources[0]) if sources else None
    return found[1] if found else None
