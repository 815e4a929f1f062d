"""PubMed's text for people: summaries ("1: Roe J, Doe K. Title. J Walls. 2019…") and abstracts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.papers.identifiers import doi_of, pmid_of
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.types import Record, Rejected

NAME = "pubmed_text"

_NUMBER = re.compile(r"\ufeff?(\d{1,6})[.:] (?=\S)")
_SUMMARY = re.compile(r"^\ufeff?1: \S.*?\b(?:PMID: \d+|doi: 10\.)", re.MULTILINE | re.DOTALL)
_CITED = re.compile(r"^\ufeff?1\. [^\n]{3,200}?\. (?:19|20)\d\d\b[^\n]*(?:\n[^\n]+)?\n\n", re.MULTILINE)
_PMID = re.compile(r"^PMID: \d+|PMID: \d+[.;]?", re.MULTILINE)
_NAMES = re.compile(r"[^\W\d_][\w' -]*? [A-Z]{1,3}(?:\(\d+\))?(?:,|\.|$)")
# Authors, title and journal of a summary.
_PARTS = re.compile(
    r"(?:(?P<authors>[^.]{2,3000}?)\. )?(?P<title>.+?[.?!\]]) (?P<venue>[^.]{2,120}(?:\([^)]*\))?)\. "
    r"(?P<date>(?:19|20)\d\d\b[^;.]*)(?P<rest>[;.].*)?$",
    re.DOTALL,
)
_BESIDE = re.compile(
    r"(?:Author information|Comment (?:in|on)|Conflict of interest|DOI|PMCID|PMID|Erratum in|Update (?:in|of)|Copyright"
    r"|Collaborators|Republished|Trial registration|ClinicalTrials)\b|©",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """The lines of one entry, its number taken off; `line` is where it begins."""

    line: int
    lines: Sequence[str]


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is such a text."""
    listed = _SUMMARY.search(head[:4000]) or (_CITED.search(head[:4000]) and _PMID.search(head))
    return 0.85 + 0.05 * name.lower().endswith(".txt") if listed else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed. One whose citation cannot be told apart is rejected."""
    for position, entry in enumerate(_entries(file), 1):
        record = _abstract(file, position, entry) if "" in entry.lines else _summary(file, position, entry)
        yield record or file.rejected(f"entry {position}: no title could be told from its citation", entry.line)


def _entries(file: Opened) -> Iterator[_Entry]:
    """Numbers count up from 1; another number at a line's start is text."""
    lines: list[str] = []
    start, awaited = 0, 1
    for number, line in file.lines():
        found = _NUMBER.match(line)
        if found and int(found[1]) == awaited and (not lines or not lines[-1].strip()):
            if lines:
                yield _Entry(start, _closed(lines))
            lines, start, awaited = [line[found.end() :]], number, awaited + 1
        elif lines:
            lines.append(line.strip())
    if lines:
        yield _Entry(start, _closed(lines))


def _closed(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _summary(file: Opened, position: int, entry: _Entry) -> Record | None:
    text = " ".join(" ".join(entry.lines).split())
    found = _PARTS.match(text[:20_000])
    if found is None:
        return None
    return make_record(
        file.source(position),
        title=found["title"],
        authors=(found["authors"] or "").split(", "),
        venue=found["venue"],
        year=found["date"],
        doi=doi_of(text),
        pmid=pmid_of(text),
        extra={"citation": text},
    )


def _abstract(file: Opened, position: int, entry: _Entry) -> Record | None:
    """Blocks: citation, title, authors, their addresses, the abstract in one or more, identifiers."""
    blocks = ["\n".join(block) for block in _blocks(entry.lines)]
    if len(blocks) < 2:
        return None
    cited, title, *others = (" ".join(blocks[0].split()), blocks[1], *blocks[2:])
    authors: list[str] = []
    if others and _NAMES.match(others[0]) and not _BESIDE.match(others[0]):
        authors = (
            re.sub(r"\s*\([\d,\s]+\)(?:\([\d,\s]+\))*", "", " ".join(others.pop(0).split())).rstrip(".").split(", ")
        )
    beside = [block for block in others if _BESIDE.match(block)]
    text = "\n".join(block for block in others if not _BESIDE.match(block))
    where = re.match(r"(.+?)\. ((?:19|20)\d\d)\b", cited)
    tail = "\n".join([cited, *beside])
    return make_record(
        file.source(position),
        title=title,
        abstract=text,
        authors=authors,
        venue=where[1] if where else None,
        year=where[2] if where else None,
        doi=doi_of(tail),
        pmid=pmid_of(tail),
        extra={"citation": cited},
    )


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
