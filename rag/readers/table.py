"""Tables: comma-, semicolon-, tab- and bar-separated values, with a header in any of several languages, or without."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import median

from rag.papers.identifiers import pmid_of
from rag.papers.own import CSV_COLUMNS, stated_in_row
from rag.readers.fields import items_of, make_record, split_names, year_of
from rag.readers.names import FIELDS, field_of
from rag.readers.opened import Opened
from rag.readers.options import NotLiterature, ReadOptions, Unreadable
from rag.readers.rows import Row, Rows, cells_of
from rag.types import Record, Rejected

NAME = "csv"
_DELIMITERS = ("\t", ";", ",", "|")
_SEEN = 40  # rows looked at before columns are settled
_PREAMBLE = 10  # lines of a report's heading above the header
_MARKDOWN_RULE = re.compile(r"^\s*\|?\s*:?-{3,}:?\s*\|", re.MULTILINE)
# A source that says where the entry was found, not where the paper appeared.
_DATABASE = re.compile(
    r"(?i)|scopus|web of science|pubmed|medline|crossref|openalex|google scholar|dblp|embase|dimensions"
)
# Embase and PubMed put volume and pages behind the journal's name.
_VOLUME = re.compile(r"\s\((?:19|20)\d\d\)\s+\d.*$")
_NAME_LIKE = re.compile(r"[^\W\d_][\w.'’ -]{1,40}")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which column holds which field; `names` are the header's, `skipped` the rows above the first entry."""

    delimiter: str
    width: int
    columns: Mapping[str, Sequence[int]]
    names: tuple[str, ...]
    skipped: int
    known: int = field(default=0)


def sniff(head: str, name: str) -> float:
    """Sure where a header names a title or an abstract and something else; less where columns look like fields."""
    ending = 0.1 if name.lower().endswith((".csv", ".tsv", ".tab")) else 0.0
    if (head.lstrip()[:1] in "{[<@%" and not ending) or _MARKDOWN_RULE.search(head):
        return 0.0
    layout = _layout(_start_of(head), ReadOptions())
    if layout is None:
        table = _without_text(head)
        return 2 * ending if table else 0.0
    if layout.names:
        return (0.8 if layout.known > 1 else 0.35) + ending
    return (0.6 if "abstract" in layout.columns else 0.1) + ending


def read(file: Opened, options: ReadOptions) -> Iterator[Record | Rejected]:
    """One record a row. A row whose cells do not fit the header and cannot be mended for certain is rejected."""
    unknown = set(options.columns) - set(FIELDS)
    if unknown:
        raise Unreadable(
            f"no field {sorted(unknown)[0]!r} to take from a column; there are {', '.join(sorted(FIELDS))}"
        )
    layout = _layout(_start_of(file.head), options)
    if layout is None:
        raise Unreadable(_no_columns(file.head, options))
    others = layout.width - layout.known
    if layout.names and layout.known == 1 and others > 1 and not options.columns and "abstract" not in layout.columns:
        raise NotLiterature(f"a table with titles beside {others} unknown columns; --column names what they hold")
    table = Rows(file.lines(), layout.delimiter)
    table.width = layout.width

    def is_row(line: str) -> bool:
        cells = cells_of(line, layout.delimiter)
        return cells is not None and len(cells) == layout.width and _plausible(cells, layout, strict=True)

    table.is_row = is_row
    position = 0
    for row in islice(table, layout.skipped, None):
        if not any(row.cells):
            continue
        position += 1
        cells = _fitted(row, layout)
        if cells is None:
            yield file.rejected(_misfit(row, layout), row.line)
        else:
            record = _record(cells, layout, file, position)
            yield record if record.title or record.abstract else file.rejected("neither title nor abstract", row.line)


def _misfit(row: Row, layout: _Layout) -> str:
    if not row.sound:
        return "a quote that does not close"
    if len(row.cells) == layout.width:
        return "columns are shifted: a year, DOI or address is expected where there is other text"
    return f"{len(row.cells)} cells where {layout.width} are expected"


def _record(cells: Sequence[str], layout: _Layout, file: Opened, position: int) -> Record:
    if layout.names == CSV_COLUMNS:
        stated = stated_in_row(cells)
        return replace(make_record(file.source(position), **stated), authors=tuple(stated["authors"]))

    def cell(name: str) -> str | None:
        return next((cells[at] for at in layout.columns.get(name, ()) if cells[at]), None)

    used = {at for name, columns in layout.columns.items() if name != "id" for at in columns[: 1 if cell(name) else 0]}
    used |= set(layout.columns.get("keywords", ()))
    keywords = [word for at in layout.columns.get("keywords", ()) for word in _words(cells[at])]
    venue = next((cells[at] for at in layout.columns.get("venue", ()) if not _DATABASE.fullmatch(cells[at])), None)
    venue, year = _VOLUME.sub("", venue or ""), cell("year")
    return make_record(
        file.source(position),
        title=cell("title"),
        abstract=cell("abstract"),
        authors=split_names(_names(cell("authors") or "", layout)),
        venue=venue,
        year=year_of(year) or (year_of(venue) if not layout.names else None),
        url=cell("url"),
        doi=cell("doi"),
        arxiv_id=cell("arxiv_id"),
        pmid=cell("pmid") or _noted_pmid(cells, layout),
        openreview_id=cell("openreview_id"),
        keywords=keywords,
        extra={_heading(layout, at): value for at, value in enumerate(cells) if at not in used},
    )


def _noted_pmid(cells: Sequence[str], layout: _Layout) -> str | None:
    """PubMed's id where Zotero has it."""
    return pmid_of(cells[layout.names.index("Extra")]) if "Extra" in layout.names else None


def _names(text: str, layout: _Layout) -> str:
    """Scopus puts author ids behind names; Springer puts names behind one another without anything between."""
    if "Item DOI" in layout.names:
        return re.sub(r"(?<=[a-zß-ÿ])(?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bLa)(?=[A-ZÀ-Þ])", ";", text)
    return re.sub(r"\s*\(\d{6,}\)", "", text)


def _heading(layout: _Layout, at: int) -> str:
    return (layout.names[at] if at < len(layout.names) else "") or f"column {at + 1}"


def _words(text: str) -> list[str]:
    if (listed := items_of(text)) is not None:
        return listed
    mark = next((mark for mark in (";", "；", "|", "\n") if mark in text), ",")
    return text.split(mark)


def _fitted(row: Row, layout: _Layout) -> tuple[str, ...] | None:
    """The cells in their columns, or None. Delimiters inside an unquoted text are put back where all else then fits."""
    cells = row.cells
    while len(cells) > layout.width and not cells[-1]:
        cells = cells[:-1]
    if len(cells) < layout.width:
        cells = (*cells, *[""] * (layout.width - len(cells)))
        return cells if _plausible(cells, layout) else None
    if len(cells) == layout.width:
        return cells if layout.names == CSV_COLUMNS or _plausible(cells, layout) else None
    surplus = len(cells) - layout.width
    for name in ("abstract", "title", "authors", "keywords"):
        for at in layout.columns.get(name, ())[:1]:
            text = layout.delimiter.join((*cells[at : at + surplus + 1],))
            if layout.delimiter != "\t":
                text = text.replace(layout.delimiter, layout.delimiter + " ")
            mended = (*cells[:at], text, *cells[at + surplus + 1 :])
            if _plausible(mended, layout, strict=len(layout.columns) > 2):
                return mended
    return None


def _plausible(cells: Sequence[str], layout: _Layout, *, strict: bool = False) -> bool:
    """Whether years, DOIs and addresses are where they should be. `strict`: and at least one is there to tell."""
    told = False
    for name, shape in _SHAPES.items():
        for at in layout.columns.get(name, ()):
            if cells[at]:
                if not shape.search(cells[at]) or len(cells[at]) > 400:
                    return False
                told = True
    return told or not strict


_SHAPES = {
    "year": re.compile(r"\d{2}|^(?:n\.?d\.?|in press|forthcoming|null|nan|none|-|—)$", re.IGNORECASE),
    "doi": re.compile(r"\d|^(?:null|nan|none|n/?a|-)$", re.IGNORECASE),
    "url": re.compile(r"[./]|^(?:null|nan|none|n/?a|-)$|^[\w-]+$", re.IGNORECASE),
}


def _start_of(head: str) -> list[tuple[int, str]]:
    lines = head.split("\n")
    # The last line may be cut off.
    return list(enumerate(lines[:-1] if len(lines) > 1 and len(head) > 60_000 else lines, start=1))


def _layout(lines: list[tuple[int, str]], options: ReadOptions) -> _Layout | None:
    """The best layout over all delimiters: by a header if one can be read, else by what the columns hold."""
    if lines and re.fullmatch(r"(?i)sep=.", lines[0][1].strip()):
        mark = lines[0][1].strip()[-1]
        found = _with_header(list(islice(Rows(lines, mark), _SEEN)), mark, options)
        return found
    tables = {mark: list(islice(Rows(lines, mark), _SEEN)) for mark in _DELIMITERS}
    headed = [found for mark, rows in tables.items() if (found := _with_header(rows, mark, options))]
    if headed:
        return max(headed, key=lambda layout: (layout.known, layout.width))
    bare = [found for mark, rows in tables.items() if (found := _without_header(rows, mark, options))]
    return max(bare, key=lambda layout: (layout.known, -_DELIMITERS.index(layout.delimiter)), default=None)


def _without_text(head: str) -> bool:
    """Whether lines have cells in equal number, though none of titles or abstracts."""
    widths = [len(line.split(mark)) for mark in ("\t", ";", ",") for line in head.split("\n")[:5] if mark in line]
    return bool(widths) and len(set(widths)) == 1


def _with_header(rows: list[Row], mark: str, options: ReadOptions) -> _Layout | None:
    for skipped, row in enumerate(rows[:_PREAMBLE]):
        if any(len(cell) > 80 for cell in row.cells):
            continue
        columns = _by_names(row.cells, options)
        if columns is None:
            continue
        single = len(row.cells) == 1
        if ("title" in columns or "abstract" in columns) and (not single or skipped == 0):
            # A lone word "Title" heads a column of titles only if the lines below are no labelled text.
            if single and any(len(other.cells) > 1 for other in rows[1:]) and mark != ",":
                continue
            same_width = sum(len(other.cells) == len(row.cells) for other in rows[skipped + 1 :])
            if skipped and 2 * same_width < len(rows) - skipped - 1:
                continue  # a line of running text that names a field
            known = sum(1 for name in columns if name != "id") + (0.5 if "id" in columns else 0)
            return _Layout(mark, len(row.cells), columns, row.cells, skipped + 1, int(known))
    return None


def _by_names(names: Sequence[str], options: ReadOptions) -> dict[str, list[int]] | None:
    """The columns of each field; None where one that the caller named is not among `names`."""
    chosen = {name: _column(wanted, names) for name, wanted in options.columns.items()}
    if any(at is None for at in chosen.values()):
        return None
    found: dict[str, list[tuple[int, int]]] = {}
    for at, name in enumerate(names):
        match = field_of(name) if name else None
        if match and at not in chosen.values():
            found.setdefault(match[0], []).append((match[1], at))
    columns = {name: [at for _, at in sorted(places)] for name, places in found.items()}
    if not columns and all(wanted.strip().isdigit() for wanted in options.columns.values()):
        return None  # numbers over a row without names: there is no header
    return columns | {name: [at] for name, at in chosen.items() if at is not None}


def _column(wanted: str, names: Sequence[str]) -> int | None:
    folded = [name.strip().casefold() for name in names]
    if wanted.strip().casefold() in folded:
        return folded.index(wanted.strip().casefold())
    return int(wanted) - 1 if wanted.strip().isdigit() and 1 <= int(wanted) <= len(names) else None


def _no_columns(head: str, options: ReadOptions) -> str:
    first = next((line for line in head.split("\n") if line.strip()), "")
    mark = max(_DELIMITERS, key=first.count)
    names = [cell for cell in cells_of(first, mark) or () if cell]
    for wanted in options.columns.values():
        if _column(wanted, names) is None:
            return f"no column {wanted!r}; there are {', '.join(names)[:300]}"
    return "no column of titles or abstracts found; name one, as with --column title=NAME"


def _without_header(rows: list[Row], mark: str, options: ReadOptions) -> _Layout | None:
    """Columns told by what is in them, where most rows have the same number of cells."""
    if not rows:
        return None
    width, often = Counter(len(row.cells) for row in rows).most_common(1)[0]
    if width < 2 or often < 0.7 * len(rows) or (len(rows) == 1 and width < 4):
        return None
    fitting = [row.cells for row in rows if len(row.cells) == width]
    columns: dict[str, list[int]] = {}
    for at in range(width):
        cells = [cells[at] for cells in fitting if at < len(cells) and cells[at]]
        name = _told_by(cells)
        if name and name not in columns:
            columns[name] = [at]
        elif name == "abstract":
            longer = median(len(cells[at]) for cells in fitting) > median(
                len(cells[columns[name][0]]) for cells in fitting
            )
            columns[name] = [at] if longer else columns[name]
    for name, wanted in options.columns.items():
        at_wanted = _column(wanted, [""] * width)
        if at_wanted is None:
            return None
        columns[name] = [at_wanted]
    if "title" not in columns and "abstract" not in columns:
        return None
    if "abstract" not in columns and not {"year", "doi", "url"} & set(columns) and not options.columns:
        return None
    return _Layout(mark, width, columns, (), 0, len(columns))


def _told_by(cells: list[str]) -> str | None:
    """The field that all of `cells`, of one column without a name, most look like."""
    if not cells:
        return None

    def share(pattern: str) -> float:
        return sum(bool(re.search(pattern, cell, re.IGNORECASE)) for cell in cells) / len(cells)

    length = median(len(cell) for cell in cells)
    if share(r"^https?://\S+$") > 0.8:
        return "url"
    if share(r"^(?:doi:\s*|https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+$") > 0.8:
        return "doi"
    if share(r"^(?:19|20)\d\d(?:[-/]\d\d?){0,2}$") > 0.8:
        return "year"
    if length > 250:
        return "abstract"
    if (
        len(set(cells)) <= max(1, len(cells) // 4)
        and length < 80
        and share(r"(?:19|20)\d\d|conference|journal|proc") > 0.8
    ):
        return "venue"
    if length < 4 or share(r"^[\d.,%-]+$") > 0.5:
        return None
    names = [re.split(r"\s*[;|]\s*|,\s+|\s+and\s+", cell) for cell in cells]
    people = sum(
        len(parts) > 1
        and all(_NAME_LIKE.fullmatch(part) and part[0].isupper() and len(part.split()) <= 5 for part in parts if part)
        for parts in names
    )
    if people > 0.6 * len(cells):
        return "authors"
    return "title" if 15 <= length <= 250 and share(r"\s\S+\s") > 0.7 and len(set(cells)) > 0.7 * len(cells) else None
