"""XML of the ACL Anthology: one collection of volumes, whose venue and year stand in the volume's `<meta>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import nameless
from rag.readers.xml_records import Parts, cut
from rag.types import Record, Rejected

NAME = "acl_xml"

_SIGNS = re.compile(r"<collection[\s>].*?<volume[\s>]", re.DOTALL)
_ADDRESS = "https://aclanthology.org/"


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is a file of the ACL Anthology."""
    return 0.9 + 0.1 * name.lower().endswith(".xml") if _SIGNS.search(head) else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The papers of `file`, streamed. The front matter of a volume is no paper."""
    booktitle: str | None = None
    year: str | None = None
    position = 0
    for piece in cut(file, ("meta", "paper")):
        if piece.element is not None and piece.element.tag == "meta":
            meta = Parts(piece.element)
            booktitle, year = meta.first("booktitle"), meta.first("year")
            continue
        position += 1
        if piece.element is None:
            yield file.rejected(f"entry {position}: {piece.reason}", piece.line)
            continue
        record = _record(file, position, piece.element, booktitle, year)
        yield record if record.title or record.abstract else nameless(file, position, piece.line)


def _record(file: Opened, position: int, element: Element, booktitle: str | None, year: str | None) -> Record:
    for formula in element.iter("tex-math"):
        formula.text = f"${formula.text or ''}$"
    parts = Parts(element)
    address = parts.first("url")
    authors = parts.peek("author")
    parts.elements("author/first", "author/last")
    return make_record(
        file.source(position),
        title=parts.first("title"),
        abstract="\n".join(parts.texts("abstract")),
        authors=[" ".join(filter(None, (author.findtext("first"), author.findtext("last")))) for author in authors],
        venue=parts.first("booktitle", "journal-title") or booktitle,
        year=parts.first("year") or year,
        url=address if address is None or "://" in address else _ADDRESS + address,
        doi=parts.first("doi"),
        extra={**({"paper id": identity} if (identity := element.get("id")) else {}), **parts.rest()},
    )
