"""Atom feeds of the arXiv API (`export.arxiv.org/api/query`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag.papers.identifiers import arxiv_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import nameless
from rag.readers.xml_records import Parts, cut
from rag.types import Record, Rejected

NAME = "arxiv_atom"

_FEED = re.compile(r"<(?:\w+:)?feed[\s>].*?http://www\.w3\.org/2005/Atom", re.DOTALL)


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is an Atom feed."""
    return 0.9 + 0.1 * name.lower().endswith((".xml", ".atom")) if _FEED.search(head) else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    for position, piece in enumerate(cut(file, ("entry",)), 1):
        if piece.element is None:
            yield file.rejected(f"entry {position}: {piece.reason}", piece.line)
            continue
        record = _record(file, position, piece.element)
        yield record if record.title or record.abstract else nameless(file, position, piece.line)


def _record(file: Opened, position: int, element: Element) -> Record:
    parts = Parts(element)
    identity = parts.first("id")
    pages = [link.get("href", "") for link in parts.elements("link") if link.get("rel", "alternate") == "alternate"]
    categories = [category.get("term", "") for category in parts.elements("category")]
    authors = [author.findtext("name", "") for author in parts.peek("author")]
    parts.elements("author/name")
    return make_record(
        file.source(position),
        title=parts.first("title"),
        abstract=parts.first("summary", "content"),
        authors=authors,
        venue=parts.first("journal_ref"),
        year=parts.first("published", "updated"),
        url=next(iter(pages), identity),
        doi=parts.first("doi"),
        arxiv_id=arxiv_of(identity),
        extra={"id": identity, "categories": " ".join(categories), **parts.rest()},
    )
