"""Papers as BibTeX, RIS, CSV, JSON lines and Markdown, and a conversation as Markdown.

What the first four write, `rag.readers` reads back to the same papers: `own` says how each format holds what it
has no field for. A title made up from the abstract is not written, since reading makes it again. Pieces of text are
given as the papers come, so that a library of any size is streamed.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import orjson

from rag.papers.own import (
    BIBTEX_EXTRA,
    BIBTEX_ID,
    BIBTEX_OPENREVIEW,
    CSV_COLUMNS,
    escape,
    escape_list,
    escape_names,
    escape_verbatim,
    guard,
    join_cell,
    state_in_ris,
)
from rag.readers.fields import name_of
from rag.types import Answer, Paper

Format = Literal["bibtex", "ris", "csv", "jsonl", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

_PROCEEDINGS = re.compile(
    r"proceedings|conference|workshop|symposium|\b(?:NeurIPS|NIPS|ICML|ICLR|AAAI|IJCAI|CVPR|ICCV|ECCV|KDD|SIGIR|WWW|"
    r"(?:NA|EA)?ACL|EMNLP|COLING|AISTATS|INTERSPEECH|ICASSP|CIKM|WSDM|CHI)\b",
    re.IGNORECASE,
)
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_-]*")
# Fields of a BibTeX entry that mean something of their own, or are spoken for by tools.
_TAKEN = frozenset({
    "title", "author", "journal", "booktitle", "year", "doi", "url", "eprint", "archiveprefix", "pmid", "keywords",
    "abstract", "crossref", "xdata", "entrytype", BIBTEX_OPENREVIEW, BIBTEX_ID, BIBTEX_EXTRA,
})  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#])")


def export(papers: Iterable[Paper], format: Format) -> Iterator[str]:  # noqa: A002 - the word that users know
    """`papers` in `format`, in pieces to be written one after the other as UTF-8."""
    writers: dict[Format, Callable[[Iterable[Paper]], Iterator[str]]] = {
        "bibtex": _bibtex,
        "ris": lambda found: map(_ris, found),
        "csv": _csv,
        "jsonl": lambda found: map(_json_line, found),
        "markdown": lambda found: (f"{n}. {_reference(paper)}{_quoted(paper)}\n" for n, paper in enumerate(found, 1)),
    }
    return writers[format](papers)


def bibtex_entry(paper: Paper, key: str | None = None) -> str:
    """One BibTeX entry. `key` None: the key it was read with, else one from author, year and title."""
    kind = paper.extra.get("ENTRYTYPE", "")
    if not re.fullmatch(r"[a-z]+", kind) or kind in ("comment", "preamble", "string"):
        in_proceedings = paper.venue and _PROCEEDINGS.search(paper.venue)
        kind = "inproceedings" if in_proceedings else "article" if paper.venue else "misc"
    plain = {name: value for name, value in paper.extra.items() if _fits_a_field(name, value)}
    hidden = {name: value for name, value in paper.extra.items() if name not in plain}
    fields = {
        # Twice braced, or styles would write acronyms small.
        "title": f"{{{escape(paper.title)}}}" if paper.titled else "",
        "author": escape_names(paper.authors),
        "booktitle" if kind.startswith("in") else "journal": escape(paper.venue or ""),
        "year": str(paper.year or ""),
        "doi": escape_verbatim(paper.doi or ""),
        "url": escape_verbatim(paper.url or ""),
        "eprint": paper.arxiv_id or "",
        "archiveprefix": "arXiv" if paper.arxiv_id else "",
        "pmid": paper.pmid or "",
        BIBTEX_OPENREVIEW: escape_verbatim(paper.openreview_id or ""),
        "keywords": escape_list(paper.keywords),
        "abstract": escape(paper.abstract),
        **{name: escape(value) for name, value in plain.items()},
        BIBTEX_ID: escape_verbatim(paper.paper_id),
        BIBTEX_EXTRA: escape(json.dumps(hidden, ensure_ascii=False), mathematics=False) if hidden else "",
    }
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{kind}{{{key or _key(paper)},\n{''.join(lines)}}}\n"


def conversation_markdown(exchanges: Sequence[tuple[str, Answer]], title: str = "Conversation") -> str:
    """Questions (as asked) and their answers, each with its numbered references and the sentences they rest on."""
    pieces = [f"# {title}\n"]
    for question, answer in exchanges:
        pieces.append(f"\n## {' '.join(question.split())}\n\n{answer.text.strip()}\n")
        if answer.citations:
            pieces.append("\n### References\n\n")
        for citation in answer.citations:
            quote = f"\n   > {_marked(citation.quote)}\n" if citation.quote else ""
            pieces.append(f"{citation.n}. {_reference(citation.paper)}{quote}")
    return "".join(pieces)


def _bibtex(papers: Iterable[Paper]) -> Iterator[str]:
    used: set[str] = set()
    for paper in papers:
        key = wanted = _key(paper)
        count = 1
        while key.lower() in used:
            count += 1
            key = f"{wanted}-{count}"
        used.add(key.lower())
        yield bibtex_entry(paper, key) + "\n"


def _key(paper: Paper) -> str:
    given = paper.extra.get("ID", "")
    if re.fullmatch(r"[\w:.+/-]+", given):
        return given
    family = _ascii(paper.authors[0].split()[-1]) if paper.authors else ""
    words = [word for word in map(_ascii, paper.title.split()) if len(word) > 3] if paper.titled else []
    return "".join([family, str(paper.year or ""), *words[:1]]) or _ascii(paper.paper_id) or "paper"


def _ascii(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", text).lower())


def _fits_a_field(name: str, value: str) -> bool:
    """Whether an extra value can stand in a BibTeX field of its own and come back as it is."""
    visible = value == value.strip() and value.isprintable() and value != ""
    return visible and name not in _TAKEN and _PLAIN_NAME.fullmatch(name) is not None


def _ris(paper: Paper) -> str:
    names = paper.authors
    hidden: dict[str, Any] = {
        "arxiv_id": paper.arxiv_id,
        "pmid": paper.pmid,
        "openreview_id": paper.openreview_id,
        "authors": None if all(name == name_of(name) and not re.search(r"[;；]", name) for name in names) else names,
        "extra": dict(paper.extra),
    }
    in_proceedings = paper.venue and _PROCEEDINGS.search(paper.venue)
    lines = [
        ("TY", "CPAPER" if in_proceedings else "JOUR" if paper.venue else "GEN"),
        ("TI", paper.title if paper.titled else ""),
        *(("AU", name) for name in names),
        ("T2", paper.venue or ""),
        ("PY", str(paper.year or "")),
        ("DO", paper.doi or ""),
        ("UR", paper.url or ""),
        *(("KW", word) for word in paper.keywords),
        ("AB", paper.abstract.replace("\n", "\n      ")),
        ("U5", state_in_ris(paper.paper_id, {name: value for name, value in hidden.items() if value})),
    ]
    return "".join(f"{tag}  - {value}\n" for tag, value in lines if value) + "ER  - \n\n"


def _csv(papers: Iterable[Paper]) -> Iterator[str]:
    yield "\ufeff" + _row(CSV_COLUMNS)  # without the mark, spreadsheets take UTF-8 for an older encoding
    for paper in papers:
        values = _values(paper)
        cells = {
            **values,
            "authors": join_cell(paper.authors),
            "keywords": join_cell(paper.keywords),
            "extra": json.dumps(values["extra"], ensure_ascii=False) if values["extra"] else "",
        }
        yield _row(["" if cells[column] is None else guard(str(cells[column])) for column in CSV_COLUMNS])


def _row(cells: Sequence[str]) -> str:
    held = io.StringIO()
    csv.writer(held).writerow(cells)
    return held.getvalue()


def _json_line(paper: Paper) -> str:
    values = {name: value for name, value in _values(paper).items() if value not in (None, (), {})}
    return orjson.dumps({"id": paper.paper_id, "title": None, "abstract": "", **values}).decode() + "\n"


def _values(paper: Paper) -> Mapping[str, Any]:
    return {
        "id": paper.paper_id,
        "title": paper.title if paper.titled else None,
        "abstract": paper.abstract,
        "authors": paper.authors,
        "venue": paper.venue,
        "year": paper.year,
        "url": paper.url,
        "doi": paper.doi,
        "arxiv_id": paper.arxiv_id,
        "pmid": paper.pmid,
        "openreview_id": paper.openreview_id,
        "keywords": paper.keywords,
        "extra": dict(paper.extra),
    }


def _reference(paper: Paper) -> str:
    """Title, authors, venue, year and links, as one line of Markdown."""
    names = ", ".join(paper.authors[:6]) + (" et al." if len(paper.authors) > 6 else "")
    where = ", ".join(filter(None, (f"*{_marked(paper.venue)}*" if paper.venue else "", str(paper.year or ""))))
    links = [
        f"[{label}](<{address}>)"
        for label, address in (
            ("doi", paper.doi and f"https://doi.org/{paper.doi}"),
            ("arXiv", paper.arxiv_id and f"https://arxiv.org/abs/{paper.arxiv_id}"),
            ("PubMed", paper.pmid and f"https://pubmed.ncbi.nlm.nih.gov/{paper.pmid}/"),
            ("OpenReview", paper.openreview_id and f"https://openreview.net/forum?id={paper.openreview_id}"),
            ("link", paper.url),
        )
        if address
    ]
    parts = [f"**{_marked(paper.title)}**", _marked(names), where, " · ".join(links)]
    return ". ".join(part.rstrip(".") for part in parts if part) + "\n"


def _quoted(paper: Paper) -> str:
    lines = [f"   > {_marked(line)}\n" for line in paper.abstract.split("\n") if line]
    return "".join(["\n", *lines])


def _marked(text: str) -> str:
    """`text` with the signs that Markdown would take for its own escaped; mathematics is left to be set."""
    pieces = re.split(r"(\$[^\s$](?:[^$]*[^\s$])?\$)", " ".join(text.split()))
    return "".join(piece if n % 2 else _MARKDOWN.sub(r"\\\1", piece) for n, piece in enumerate(pieces))
