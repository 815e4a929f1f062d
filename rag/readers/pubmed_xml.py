"""PubMed XML: articles and book documents of `PubmedArticleSet`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag.papers.identifiers import arxiv_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import nameless
from rag.readers.xml_records import Parts, cut, keep_raised, text_of
from rag.types import Record, Rejected

NAME = "pubmed_xml"

_SIGNS = re.compile(r"<(?:PubmedArticle(?:Set)?|PubmedBookArticle|MedlineCitation(?:Set)?)[\s>]")

_NAME_PARTS = ("LastName", "ForeName", "FirstName", "Initials", "Suffix", "CollectiveName")
# Titles translated into English stand in brackets.
_TRANSLATED = re.compile(r"^\[(.*)\]\.?$", re.DOTALL)


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is PubMed XML."""
    return 0.9 + 0.1 * name.lower().endswith(".xml") if _SIGNS.search(head) else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The articles of `file`, streamed."""
    for position, piece in enumerate(cut(file, ("PubmedArticle", "PubmedBookArticle")), 1):
        if piece.element is None:
            yield file.rejected(f"entry {position}: {piece.reason}", piece.line)
            continue
        record = _record(file, position, piece.element)
        yield record if record.title or record.abstract else nameless(file, position, piece.line)


def _record(file: Opened, position: int, element: Element) -> Record:
    keep_raised(element)
    parts = Parts(element)
    citation = "BookDocument" if element.tag == "PubmedBookArticle" else "MedlineCitation"
    article = "BookDocument" if citation == "BookDocument" else "MedlineCitation/Article"
    # The record's own identifiers; those of references and comments lie deeper and stay where they are.
    own = ("PubmedData/ArticleIdList", "PubmedBookData/ArticleIdList", f"{citation}/ArticleIdList")
    book = f"{article}/Book"
    title = parts.first(f"{article}/ArticleTitle", f"{article}/VernacularTitle", f"{book}/BookTitle")
    pmid = parts.first(f"{citation}/PMID", *(f"{ids}/ArticleId[@IdType='pubmed']" for ids in own))
    date = f"{article}/Journal/JournalIssue/PubDate"
    venue = parts.first(
        f"{article}/Journal/Title",
        f"{article}/Journal/ISOAbbreviation",
        f"{book}/BookTitle",
        f"{citation}/MedlineJournalInfo/MedlineTA",
    )
    return make_record(
        file.source(position),
        title=_TRANSLATED.sub(r"\1", title or ""),
        abstract=_abstract(parts.elements(f"{article}/Abstract/AbstractText"))
        or _abstract(parts.elements(f"{citation}/OtherAbstract/AbstractText")),
        authors=[_name(author) for author in _authors(parts, article, book)],
        venue=venue if venue != title else None,
        year=parts.first(
            f"{date}/Year",
            f"{date}/MedlineDate",
            f"{book}/PubDate/Year",
            f"{article}/ArticleDate/Year",
            f"{article}/ContributionDate/Year",
            "PubmedData/History/PubMedPubDate/Year",
        ),
        doi=parts.first(
            f"{article}/ELocationID[@EIdType='doi']",
            f"{book}/ELocationID[@EIdType='doi']",
            *(f"{ids}/ArticleId[@IdType='doi']" for ids in own),
        ),
        arxiv_id=next(filter(None, map(arxiv_of, map(text_of, parts.peek(f"{article}/ELocationID")))), None),
        pmid=pmid,
        keywords=parts.texts(
            f"{citation}/KeywordList/Keyword", f"{citation}/MeshHeadingList/MeshHeading/DescriptorName"
        ),
        extra=parts.rest(),
    )


def _authors(parts: Parts, article: str, book: str) -> list[Element]:
    """The authors, else those of the book. All but their names stays for `extra`."""
    for path in (f"{article}/AuthorList/Author", f"{book}/AuthorList/Author"):
        if authors := parts.peek(path):
            parts.elements(*(f"{path}/{part}" for part in _NAME_PARTS))
            return authors
    return []


def _name(author: Element) -> str:
    given = author.findtext("ForeName") or author.findtext("FirstName") or author.findtext("Initials") or ""
    whole = " ".join(filter(None, (given, author.findtext("LastName"), author.findtext("Suffix"))))
    return whole or author.findtext("CollectiveName") or ""


def _abstract(sections: list[Element]) -> str:
    """The sections on a line each, under their labels."""
    lines = []
    for section in sections:
        text = text_of(section).strip()
        label = (section.get("Label") or "").strip()
        if text:
            lines.append(f"{label}: {text}" if label and label.upper() != "UNLABELLED" else text)
    return "\n".join(lines)
