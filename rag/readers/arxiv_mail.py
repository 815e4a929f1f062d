r"""arXiv's mails of new submissions: entries between lines of `\\`, fields first, then the abstract."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.readers.fields import make_record, split_names
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.types import Record, Rejected

NAME = "arxiv_mail"

_MARK = re.compile(r"\\\\(?P<more>\s*\(.*)?\s*$")
_ID = re.compile(r"(?:arXiv:|Paper:\s*(?:arXiv:)?)(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})\b")
_ENTRY = re.compile(rf"^\\\\\n{_ID.pattern}", re.MULTILINE)
_RULES = ("-----", "%%--")
_AFFILIATION = re.compile(r"\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_FIELD = re.compile(r"([A-Z][A-Za-z-]{2,20}):\s*(.*)")


def sniff(head: str, name: str) -> float:  # noqa: ARG001 - every format is asked in the same way
    """How surely a file that starts with `head` is such a mail."""
    return 0.9 if _ENTRY.search(head) else 0.0


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries, streamed. Replacements, which these mails give without an abstract, are titles only."""
    for position, entry in enumerate(_entries(file), 1):
        yield _record(file, position, entry)


def _entries(file: Opened) -> Iterator[tuple[str, list[str], list[str]]]:
    """(identifier, lines of the fields, lines of the abstract) of each entry."""
    identifier = ""
    fields: list[str] = []
    abstract: list[str] = []
    within = fields
    after_mark = False
    for _, line in file.lines():
        found = _ID.match(line) if after_mark else None
        mark = _MARK.match(line)
        ends = identifier and (found or line.startswith(_RULES) or (mark and (mark["more"] or within is abstract)))
        if ends:
            yield identifier, fields, abstract
            identifier = ""
        if found:
            identifier, fields, abstract = found["id"], [], []
            within = fields
        elif identifier and mark:
            within = abstract
        elif identifier:
            within.append(line)
        after_mark = mark is not None
    if identifier:
        yield identifier, fields, abstract


def _record(file: Opened, position: int, entry: tuple[str, list[str], list[str]]) -> Record:
    identifier, lines, abstract = entry
    fields: dict[str, str] = {}
    last = ""
    for line in lines:
        if found := _FIELD.match(line):
            last = found[1]
            fields[last] = found[2].strip()
        elif last and line.startswith(" "):  # a long field goes on, indented
            fields[last] = f"{fields[last]} {line.strip()}"
    kept = {"comments": "Comments", "journal_ref": "Journal-ref", "report_no": "Report-no", "date": "Date"}
    return make_record(
        file.source(position),
        title=fields.get("Title"),
        abstract="\n".join(abstract),
        authors=split_names(_AFFILIATION.sub("", fields.get("Authors", ""))),
        arxiv_id=identifier,
        url=f"https://arxiv.org/abs/{identifier}",
        doi=fields.get("DOI"),
        keywords=fields.get("Categories", "").split(),
        extra={name: fields.get(key) for name, key in kept.items()},
    )
