"""XML of services and programs besides the great ones: DBLP, MODS, arXiv's OAI and RSS, Europe PMC, Zotero RDF.

They name their parts much alike, so one table of names serves all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag.papers.identifiers import arxiv_of, doi_of
from rag.readers.fields import make_record, split_names
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import nameless
from rag.readers.xml_records import Parts, cut, text_of
from rag.types import Record, Rejected

NAME = "xml"

# (what tells the kind, the elements that are its entries)
_KINDS = (
    (
        re.compile(r"<(?:dblp|r)>\s*<|<!DOCTYPE dblp"),
        ("article", "inproceedings", "incollection", "phdthesis", "mastersthesis", "book", "proceedings"),
    ),
    (re.compile(r"<(?:\w+:)?mods(?:Collection)?[\s>]"), ("mods",)),
    (re.compile(r"<(?:\w+:)?OAI-PMH[\s>]"), ("record",)),
    (re.compile(r"<rss[\s>]"), ("item",)),
    (re.compile(r"<(?:responseWrapper|resultList)[\s>]"), ("result",)),
    (
        re.compile(r"<rdf:RDF[^>]*zotero"),
        ("Article", "Book", "BookSection", "Document", "Thesis", "Report", "Manuscript", "Description"),
    ),
)
_TITLE = ("title", "titleInfo/title", "metadata/*/title")
_ABSTRACT = ("abstract", "abstractText", "description", "metadata/*/abstract", "metadata/*/description")
_VENUE = (
    "journal", "booktitle", "relatedItem/titleInfo/title", "journalInfo/journal/title", "journalTitle", "school",
    "metadata/*/journal-ref", "isPartOf/*/title",
)  # fmt: skip
_YEAR = (
    "year", "pubYear", "originInfo/dateIssued", "date", "pubDate", "part/date", "relatedItem/part/date",
    "relatedItem/originInfo/dateIssued", "metadata/*/created", "metadata/*/date",
)  # fmt: skip
_LINK = ("ee", "link", "location/url", "identifier/URI/value", "identifier", "url", "metadata/*/identifier")
_KEYWORDS = ("keyword", "keywordList/keyword", "subject/topic", "subject", "category", "metadata/*/subject")
_ANNOUNCED = re.compile(r"^\s*arXiv:\S+\s+Announce Type:.*?Abstract:\s*", re.DOTALL)


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is one of these."""
    found = re.match(r"\s*<", head.lstrip("\ufeff")) and _kind(head)
    return 0.8 + 0.1 * name.lower().endswith((".xml", ".rdf", ".rss", ".mods")) if found else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    for position, piece in enumerate(cut(file, _kind(file.head) or ("record", "item", "article")), 1):
        if piece.element is None:
            yield file.rejected(f"entry {position}: {piece.reason}", piece.line)
            continue
        record = _record(file, position, piece.element)
        yield record if record.title or record.abstract else nameless(file, position, piece.line)


def _kind(head: str) -> tuple[str, ...] | None:
    start = head[:4000]
    return next((names for sign, names in _KINDS if sign.search(start)), None)


def _record(file: Opened, position: int, element: Element) -> Record:
    parts = Parts(element)
    abstract = parts.first(*_ABSTRACT)
    links = [text for path in _LINK for found in parts.peek(path) if (text := text_of(found).strip())]
    ids = [text_of(found).strip() for path in ("id", "guid", "metadata/*/id") for found in parts.peek(path)]
    return make_record(
        file.source(position),
        title=parts.first(*_TITLE),
        abstract=_ANNOUNCED.sub("", abstract or ""),
        authors=_authors(parts),
        venue=parts.first(*_VENUE),
        year=parts.first(*_YEAR),
        url=next((link for link in links if link.startswith("http")), None),
        doi=parts.first("doi", "metadata/*/doi") or next(filter(doi_of, links), None),
        arxiv_id=next((found for text in (*ids, *links) if (found := arxiv_of(text, bare=True))), None),
        pmid=parts.first("pmid"),
        keywords=parts.texts(*_KEYWORDS),
        extra=parts.rest(),
    )


def _authors(parts: Parts) -> list[str]:
    for path in ("author", "name", "authors/Seq/li/Person", "metadata/*/authors/author", "authorList/author"):
        names = [_name(found) for found in parts.elements(path)]
        if any(names):
            return [name for name in names if name]
    return [name for text in parts.texts("creator", "authorString", "metadata/*/creator") for name in _people(text)]


def _people(text: str) -> tuple[str, ...]:
    return (text,) if text.count(",") == 1 and "," in text and " " not in text.split(",")[0] else split_names(text)


def _name(element: Element) -> str:
    """A name whole, or of its parts; MODS names other roles too."""
    roles = [text_of(role).strip().lower() for role in element.findall("role/roleTerm")]
    if roles and not {"author", "aut", "creator"} & set(roles):
        return ""
    pairs = (("forenames", "keyname"), ("givenName", "surname"), ("firstName", "lastName"))
    found = [" ".join(filter(None, (element.findtext(given), element.findtext(family)))) for given, family in pairs]
    kinds = {part.get("type"): text_of(part) for part in element.findall("namePart")}
    found.append(" ".join(kinds[kind] for kind in ("given", "family", None) if kinds.get(kind)))
    return next((name for name in found if name), "") or ("" if len(element) else text_of(element))
