"""RIS, as Zotero, Mendeley, EndNote, Scopus, Embase, Ovid and Web of Science write it.

Own line splitter rather than rispy's: see docs/decisions/0006-parsers-for-tagged-and-xml-formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.papers.identifiers import arxiv_of, doi_of
from rag.papers.own import stated_in_ris
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, records
from rag.types import Record, Rejected

NAME = "ris"

# Two blanks (or a tab) before the dash are the standard; one is accepted for the tags that the standard knows.
_TAG = re.compile(r"[ \t]{0,3}([A-Z][A-Z0-9])(?:[ \t]{2,4}|[ \t]*\t[ \t]*|( ))[-\u2013](.*)$", re.DOTALL)
_STANDARD = """
TY A1 A2 A3 A4 AB AD AN AU C1 C2 C3 C4 C5 C6 C7 C8 CA CN CT CY DA DB DO DP ED ER ET EP ID IS J1 J2 JA JF JO KW L1 L2 L3
L4 LA LB M1 M2 M3 N1 N2 NV OP PB PY RI RN RP SE SN SP ST T1 T2 T3 TA TI TT U1 U2 U3 U4 U5 UR VL VO Y1 Y2
"""
_KNOWN = frozenset(_STANDARD.split())
_START = re.compile(r"^[ \t]{0,3}TY[ \t]{1,4}-[ \t]*\S", re.MULTILINE)


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is RIS."""
    starts = _START.search(head.lstrip("\ufeff"))
    return 0.1 * name.lower().endswith(".ris") + (0.9 if starts else 0.0)


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    return records(file, _entries(file), _record)


def _entries(file: Opened) -> Iterator[Fields]:
    """An entry runs from TY to ER, either of which may be missing.

    Tags after ER that the standard does not know (Ovid's NL) still belong to the entry before.
    """
    fields: Fields | None = None
    closed = ended = False  # `ended`: what has no tag belongs to no entry, such as the numbers that EBSCO puts between
    for number, line in file.lines():
        tag, value = _split(line)
        if tag is None:
            if fields and not ended:
                fields.extend(line)
        elif tag == "ER":
            closed = ended = True
        elif fields is None or tag == "TY" or (closed and tag in _KNOWN):
            if fields:
                yield fields
            fields = Fields(number)
            closed = ended = False
            fields.add(tag, value)
        else:
            fields.add(tag, value)
            ended = False
    if fields:
        yield fields


def _split(line: str) -> tuple[str | None, str]:
    """Tag and value of a line; None for a line without tag."""
    found = _TAG.match(line.lstrip("\ufeff"))
    if not found or (found[2] and found[1] not in _KNOWN):
        return None, line
    return found[1], found[3]


def _record(file: Opened, position: int, fields: Fields) -> Record:
    own = stated_in_ris(fields.peek("U5"))
    if own is not None:
        fields.every("TY", "U5")
    title = fields.first("TI", "T1", "CT", "BT", "ST", "TT")
    abstract = fields.joined("AB", "N2")
    if title is None and abstract is None:
        title = fields.first("T2", "T3")  # Scopus names a work that it only knows as cited by its source title
    doi = fields.first("DO")
    if doi is None or doi_of(doi) is None:
        links = fields.peek("M3", "UR", "L1", "L2", "L3", "LK", "AN")
        doi = next((link for link in links if doi_of(link)), doi)
    arxiv = next((found for text in fields.peek("UR", "AN", "M1", "L1") if (found := arxiv_of(text))), None)
    record = make_record(
        file.source(position),
        title=title,
        abstract=abstract,
        authors=_authors(fields),
        venue=fields.first("T2", "JF", "JO", "BT", "JA", "J2", "J1", "J9", "JI", "T3", "C3"),
        year=fields.year("PY", "Y1", "DA", "YR", "C6"),
        url=_url(fields),
        doi=doi,
        arxiv_id=arxiv,
        pmid=_pmid(fields),
        keywords=fields.every("KW") if own is not None else [word.lstrip("*") for word in fields.listed("KW")],
        extra=fields.rest(),
    )
    return record if own is None else own.onto(record)


def _authors(fields: Fields) -> list[str]:
    """A1 and AU in the order of the file; where one repeats the other, once."""
    repeated = fields.peek("A1") == fields.peek("AU")
    if repeated:
        fields.every("A1")
    return fields.listed("A1", "AU")


def _url(fields: Fields) -> str | None:
    """The first address; further ones of the same tag stay for `extra`."""
    url = fields.first("UR", "L2", "LK", "L1")
    if url is None or "\n" not in url:
        return url
    first, rest = url.split("\n", 1)
    fields.add("UR", rest)
    return first


def _pmid(fields: Fields) -> str | None:
    """PubMed's number: an accession number where the database is said to be PubMed; Embase has it in C5."""
    databases = " ".join(fields.peek("DB", "DP")).lower()
    if "embase" in databases:
        return fields.first("C5")
    if "pubmed" in databases or "medline" in databases:
        return fields.first("AN", "C7")
    return next((value for value in fields.peek("AN", "C7", "U2", "N1") if re.match(r"\s*PMID\b", value, re.I)), None)
