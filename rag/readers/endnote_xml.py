"""EndNote XML (`<xml><records><record>`), as EndNote, Zotero and Mendeley write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag.papers.identifiers import doi_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import nameless
from rag.readers.xml_records import Parts, cut
from rag.types import Record, Rejected

NAME = "endnote_xml"

_RECORD = re.compile(r"<record[\s>]")
_SIGNS = re.compile(r"<(?:ref-type|contributors|titles|rec-number|source-app)[\s>]")


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is EndNote XML."""
    return 0.9 + 0.1 * name.lower().endswith(".xml") if _RECORD.search(head) and _SIGNS.search(head) else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    for position, piece in enumerate(cut(file, ("record",)), 1):
        if piece.element is None:
            yield file.rejected(f"entry {position}: {piece.reason}", piece.line)
            continue
        record = _record(file, position, piece.element)
        yield record if record.title or record.abstract else nameless(file, position, piece.line)


def _record(file: Opened, position: int, element: Element) -> Record:
    for styled in element.iter("style"):
        if styled.get("face") == "superscript" and styled.text:
            styled.text = f"<sup>{styled.text}</sup>"
    parts = Parts(element)
    number = parts.first("electronic-resource-num")
    related = ("urls/related-urls/url", "urls/web-urls/url", "urls/url")
    links = [link.text or "" for path in related for link in parts.peek(path)]
    return make_record(
        file.source(position),
        title=parts.first("titles/title", "titles/short-title", "titles/translated-title"),
        abstract="\n".join(parts.texts("abstract")),
        authors=parts.texts("contributors/authors/author"),
        venue=parts.first(
            "titles/secondary-title",
            "periodical/full-title",
            "alt-periodical/full-title",
            "periodical/abbr-1",
            "titles/alt-title",
            "titles/tertiary-title",
        ),
        year=parts.first("dates/year", "dates/pub-dates/date"),
        url=parts.first(*related),
        doi=number or next((link for link in links if doi_of(link)), None),
        pmid=parts.first("pmid") or _pmid(parts),
        keywords=[word for text in parts.texts("keywords/keyword") for word in re.split(r"[;\n\r]", text)],
        extra=parts.rest(),
    )


def _pmid(parts: Parts) -> str | None:
    """The accession number where the entry comes from PubMed."""
    databases = " ".join(
        "".join(e.itertext()) for e in parts.peek("remote-database-provider") + parts.peek("remote-database-name")
    ).lower()
    return parts.first("accession-num") if re.search(r"nlm|pubmed|medline", databases) else None
