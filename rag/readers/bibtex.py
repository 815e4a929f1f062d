"""BibTeX and biblatex.

bibtexparser finds the parts of an entry; values, macros and damaged entries are seen to here (see
docs/decisions/0006-parsers-for-tagged-and-xml-formats.md). Entries are read one by one: a line that begins with
`@word{` begins an entry, so that an unclosed brace costs no more than the entry it is in.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bibtexparser.model import DuplicateFieldKeyBlock, Entry, ParsingFailedBlock, String
from bibtexparser.splitter import Splitter

from rag.papers.identifiers import arxiv_of, doi_of, pmid_of, url_in
from rag.papers.own import (
    BIBTEX_EXTRA,
    BIBTEX_ID,
    BIBTEX_OPENREVIEW,
    Stated,
    parsed,
    texts,
    unescape,
    unescape_list,
    unescape_name,
    unescape_verbatim,
)
from rag.readers.bibtex_values import fields_of, names_of, unbraced, ungrouped, value_of
from rag.readers.fields import make_record, name_of
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.readers.tagged import Fields, nameless
from rag.texts.text import clean_title
from rag.types import Record, Rejected

NAME = "bibtex"

_START = re.compile(r"[ \t\ufeff]*@[ \t]*([A-Za-z]\w*)[ \t]*([{(])")
_SPLIT_START = re.compile(r"[ \t\ufeff]*@[ \t]*([A-Za-z]\w*)[ \t]*$")
_ENTRY = re.compile(r"^[ \t\ufeff]*@[ \t]*(?!(?:comment|preamble|string)\b)[A-Za-z]\w*[ \t]*\n?[ \t]*[{(]", re.M | re.I)
_OTHER = re.compile(r"^[ \t\ufeff]*@[ \t]*(?:comment|preamble|string)[ \t]*[{(]", re.M | re.I)
_CROSSREF = re.compile(r"crossref\s*=\s*[{\"]?\s*([^\s,}\"]+)", re.IGNORECASE)
_INHERITED = ("booktitle", "journal", "series", "year", "date", "month", "publisher", "editor", "address", "volume")
_LONGEST = 1 << 26  # characters of one entry
_VERBATIM = frozenset({"url", "doi", "eprint", "file", "link", "ee", "pdf", "biburl", "howpublished", "local-url"})

# A tie between words. Before a number ("is ~5") the sign means "about", between numbers "to".
_TIE = re.compile(r"(?<=[^\W\d]|[.,:;)}\]])~(?=[\w\\${(])")

logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what it warns of is reported as rejections


@dataclass(frozen=True, slots=True)
class _Block:
    """An entry, or the reason why it is none. `fields` are raw: macros replaced, LaTeX as it is."""

    line: int
    kind: str = ""
    key: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def sniff(head: str, name: str) -> float:
    """How surely a file that starts with `head` is BibTeX."""
    by_name = 0.1 * name.lower().endswith((".bib", ".bibtex"))
    return by_name + (0.9 if _ENTRY.search(head) else 0.3 if _OTHER.search(head) else 0.0)


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """The entries of `file`, streamed."""
    parents = _parents(file)
    for position, block in enumerate(_blocks(file), 1):
        if block.reason:
            yield file.rejected(f"entry {block.key or position}: {block.reason}", block.line)
            continue
        record = _record(file, position, block, parents)
        yield record if record.title or record.abstract else nameless(file, position, block.line)


def _parents(file: Opened) -> dict[str, _Block]:
    """The entries that others of the file refer to with `crossref`, by key in lower case."""
    wanted = {
        found[1].lower() for _, line in file.lines() if "ref" in line.lower() for found in _CROSSREF.finditer(line)
    }
    if not wanted:
        return {}
    return {block.key.lower(): block for block in _blocks(file) if block.key.lower() in wanted and not block.reason}


def _blocks(file: Opened) -> Iterator[_Block]:
    macros: dict[str, str] = {}
    for line, text in _pieces(file):
        yield from _parse(line, text, macros)


def _pieces(file: Opened) -> Iterator[tuple[int, str]]:
    """(first line, text) from one start of an entry to the next; the first piece is what stands before any."""
    start, held, size = 1, list[str](), 0
    for number, line in file.lines():
        begins = _START.match(line)
        if begins:
            line = f"@{begins[1]}{begins[2]}{line[begins.end() :]}"
        # `@article` may stand alone on the line before its brace, which is then joined to it.
        alone = _SPLIT_START.match(held[-1]) if held and not begins and line.lstrip()[:1] in ("{", "(") else None
        if alone:
            held.pop()
            opening = line.lstrip()
            line = f"@{alone[1]}{opening[0]}\n{opening[1:]}"
        if (begins or alone or size > _LONGEST) and held:
            yield start, "\n".join(held)
            held = []
        if not held:
            start, size = number - 1 if alone else number, 0
        held.append(line)
        size += len(line)
    if held:
        yield start, "\n".join(held)


def _parse(first_line: int, text: str, macros: dict[str, str]) -> Iterator[_Block]:
    if "@" not in text:
        return
    # A line break command before a brace is no escaped brace, as bibtexparser takes it.
    library = Splitter(re.sub(r"\\\\(?=[{}])", r"\\\\ ", text)).split()
    for block in library.blocks:
        line = first_line + (block.start_line or 0)
        if isinstance(block, String):
            macros[block.key.lower()] = value_of(block.value, macros)
        elif isinstance(block, DuplicateFieldKeyBlock) and isinstance(block.ignore_error_block, Entry):
            yield _entry(line, block.ignore_error_block, macros)
        elif isinstance(block, Entry):
            yield _entry(line, block, macros)
        elif isinstance(block, ParsingFailedBlock) and (raw := block.raw) and _ENTRY.match(raw):
            key = re.match(r"[^{(]*[{(]\s*([^\s,=}]*)", raw)
            reason = str(getattr(block.error, "abort_reason", block.error))
            # Entries are parsed one by one, so where an entry ends in an open value, its text ends for the parser.
            reason = "a brace or quote is not closed" if "end of file" in reason else f"not well formed ({reason})"
            yield _Block(line, key=key[1] if key else "", reason=reason)


def _entry(line: int, entry: Entry, macros: dict[str, str]) -> _Block:
    fields = [
        (name.lower(), value)
        for field in entry.fields
        for name, value in fields_of(field.key, str(field.value), macros)
    ]
    return _Block(line, entry.entry_type, entry.key, tuple(fields))


def _record(file: Opened, position: int, block: _Block, parents: dict[str, _Block]) -> Record:
    fields = Fields(block.line)
    ours = any(name == BIBTEX_ID for name, _ in block.fields)
    for name, value in block.fields:
        plain = value if ours or name in _VERBATIM else _TIE.sub(" ", value)
        fields.add(name, plain if name == "author" else unbraced(plain.strip()))
    if ours:
        return _own(file, position, fields)
    if parent := parents.get(" ".join(fields.peek("crossref")).lower()):
        _inherit(fields, parent)
    arxiv = _arxiv(fields)
    title = fields.first("title")
    subtitle = fields.first("subtitle") if title else None
    authors = [name for value in fields.every("author") for name in names_of(value)]
    notes = [clean_title(note) for note in fields.peek("note", "annote")]
    record = make_record(
        file.source(position),
        title=ungrouped(f"{title}: {subtitle}" if subtitle else title or ""),
        abstract=ungrouped(fields.joined("abstract") or ""),
        venue=ungrouped(fields.first("journal", "journaltitle", "booktitle", "maintitle", "series") or ""),
        year=fields.year("year", "date", "issued"),
        url=_url(fields),
        doi=_bare(fields.first("doi")) or next((found for note in notes if (found := doi_of(note))), None),
        arxiv_id=arxiv,
        pmid=_pmid(fields, notes),
        keywords=_keywords(fields),
        extra={
            "ENTRYTYPE": block.kind,
            "ID": block.key,
            **{name: value if name in _VERBATIM else clean_title(value) for name, value in fields.rest().items()},
        },
    )
    return replace(record, authors=tuple(filter(None, map(_shown, authors))))


def _own(file: Opened, position: int, fields: Fields) -> Record:
    """An entry that this program wrote, read back to the letter."""
    own_id = unescape_verbatim(fields.first(BIBTEX_ID) or "")
    authors = [unescape_name(name) for value in fields.every("author") for name in names_of(value)]
    venue = fields.first("journal", "booktitle")
    extra = texts(parsed(unescape(fields.first(BIBTEX_EXTRA) or "")))
    stated = {
        "openreview_id": unescape_verbatim(fields.first(BIBTEX_OPENREVIEW) or "") or None,
        "keywords": unescape_list(fields.first("keywords") or ""),
        "authors": tuple(authors),
    }
    fields.every("archiveprefix")
    record = make_record(
        file.source(position),
        title=unescape(fields.first("title") or ""),
        abstract=unescape(fields.first("abstract") or ""),
        venue=unescape(venue) if venue else None,
        year=fields.year("year"),
        url=unescape_verbatim(fields.first("url") or ""),
        doi=unescape_verbatim(fields.first("doi") or ""),
        arxiv_id=fields.first("eprint"),
        pmid=fields.first("pmid"),
    )
    rest = {name: unescape(value) for name, value in fields.rest().items()}
    return Stated(own_id, {**stated, "extra": rest | extra}).onto(record)


def _inherit(fields: Fields, parent: _Block) -> None:
    """What `crossref` hands down: the volume's title as the book title, and what concerns the volume as a whole."""
    given = dict(parent.fields)
    given.setdefault("booktitle", given.get("title", ""))
    for name in _INHERITED:
        if name not in fields and given.get(name):
            fields.add(name, given[name])


def _shown(name: str) -> str:
    """A name in reading order. One that is braced as a whole names an institution and is left as it is."""
    whole = unbraced(name)
    return clean_title(whole) if whole != name else name_of(name)


def _arxiv(fields: Fields) -> str | None:
    """The arXiv id of the `eprint` field, or of the places where people write it."""
    archive = " ".join(fields.peek("archiveprefix", "eprinttype")).lower()
    if "arxiv" in archive or "primaryclass" in fields or not archive:
        eprint = next(iter(fields.peek("eprint")), "")
        if found := arxiv_of(eprint, bare=True):
            fields.first("eprint")
            return found
    if volume := re.match(r"abs/(\S+)", " ".join(fields.peek("volume"))):  # as DBLP writes it
        return arxiv_of(volume[1], bare=True)
    places = fields.peek("journal", "note", "howpublished", "number", "booktitle", "publisher", "arxiv", "arxivid")
    return next((found for text in places if (found := arxiv_of(text, bare=True))), None)


def _bare(value: str | None) -> str | None:
    """A link or identifier without the escapes that LaTeX needs."""
    if value is None:
        return None
    inner = re.fullmatch(r"\s*\\url\s*\{(.*)\}\s*", value, re.DOTALL)
    return re.sub(r"\\([_%&#~$])", r"\1", inner[1] if inner else value).replace("{\\_}", "_").strip()


def _url(fields: Fields) -> str | None:
    if url := _bare(fields.first("url", "link", "ee", "bdsk-url-1")):
        return url.split()[0].strip("<>")
    return next((url for text in fields.peek("howpublished", "note") if (url := url_in(_bare(text) or ""))), None)


def _pmid(fields: Fields, notes: list[str]) -> str | None:
    if found := pmid_of(next(iter(fields.peek("pmid", "pubmedid", "pubmed_id")), None), bare=True):
        fields.first("pmid", "pubmedid", "pubmed_id")
        return found
    if "pubmed" in " ".join(fields.peek("eprinttype", "archiveprefix")).lower():
        return fields.first("eprint")
    return next((found for note in notes if (found := pmid_of(note))), None)


def _keywords(fields: Fields) -> list[str]:
    marks = ";\n" if any(";" in value for value in fields.peek("keywords", "keyword", "author_keywords")) else ",\n"
    return fields.listed("keywords", "keyword", "author_keywords", marks=marks)
