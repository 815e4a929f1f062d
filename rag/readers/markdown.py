"""Markdown lists of papers: a heading or a bullet each, with labelled lines, quotes or paragraphs; and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag.papers.identifiers import URL, arxiv_of, url_in
from rag.readers.fields import make_record, split_names, year_of
from rag.readers.labels import label_in
from rag.readers.names import field_of
from rag.readers.opened import Opened
from rag.readers.options import NotLiterature, ReadOptions
from rag.readers.plain import header_of
from rag.types import Record, Rejected

NAME = "markdown"
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$")
_BULLET = re.compile(r"^(\s*)(?:[-*+]|\d{1,4}[.)])\s+(.*)$")
_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)"
)
# A paper without a bullet: a title in bold, or a link that is one, at the line's start.
_BOLD_LINE = re.compile(r"^()((?:\*\*(?=[^*]{8,300}\*\*)|\[(?=\W*\w+\W+\w+\W+\w+[^\]]*\]\()).*)$")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_TAG_LINE = re.compile(
    r"^\s*(?:</?(?:details|summary|br|p|div|center|hr|a|img|table|tr|td|ul|li)\b[^>]*>\s*|Details\s*|</?\w+>\s*)+$",
    re.I,
)
_TAGS = re.compile(r"</?(?:details|summary|font|b|i|strong|em|br|span|sup|sub|center|div|p|a)\b[^<>]*>", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>\s*(?:<[^<>]*>\s*)*([^<>]{4,300}?)\s*(?:<[^<>]*>\s*)*</summary>", re.IGNORECASE)
_NAMED_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s+|<details[^>]*>\s*)?(?:<summary>\s*)?(?:<[bi]>|<strong>)?\W{0,3}(?:abstract|摘要)\W{0,3}"
    r"(?:</[bi]>|</strong>)?(?:\s*</summary>)?\s*(?:<br\s*/?>)?$",
    re.IGNORECASE,
)
_FRONT = re.compile(r"^['\"](.*)['\"]$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_NUMBER = re.compile(r"^\s*(?:\[?\(?\d{1,4}[.)\]:、]+\s*|#\d+\s+)")
_VENUE = re.compile(r"\b([A-Z][A-Za-z&-]*[A-Z][A-Za-z]*|[A-Z]{2,}(?:-[A-Z]+)?)\s*[-_ (,]?\s?['’]?\s?((?:19|20)\d\d)\b")
_HOSTS = re.compile(
    r"arxiv\.org/|openreview\.net/|doi\.org/|aclanthology\.org|aclweb\.org/anthology|proceedings\.|papers\.n(?:eur)?ips"
    r"|thecvf\.com|ojs\.aaai|ieeexplore|dl\.acm\.org|link\.springer|sciencedirect|nature\.com/articles|biorxiv|semanticscholar"
    r"|isca-|jmlr\.org|ijcai\.org|huggingface\.co/papers|\.pdf$",
    re.IGNORECASE,
)
_LINK_WORDS = re.compile(
    r"(?i)^\W*(?:pdf|paper|link|arxiv|code|github|html|abs|abstract|url|openreview|project|page|website|"
    r"poster|slides|video|demo|dataset|data|model|blog|bibtex|acl|doi|project page|homepage|论文|代码|链接)\W*$"
)
_LONG = 100


@dataclass(slots=True)
class _Entry:
    """What a heading, a bullet or a table's row gathers. `level` 7 and more are bullets."""

    line: int
    level: int
    title: str
    url: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    quotes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    venue: str | None = None
    year: int | None = None

    @property
    def labelled(self) -> bool:
        return bool(self.fields)

    @property
    def identified(self) -> bool:
        """Whether its address is one of a paper."""
        return bool(self.url and _HOSTS.search(self.url))


def sniff(head: str, name: str) -> float:
    """Headings or bullets with labelled lines or addresses of papers; a heading alone still is Markdown."""
    ending = 0.1 if name.lower().endswith((".md", ".markdown", ".mdown")) else 0.0
    lines = head.split("\n")
    headings = sum(bool(_HEADING.match(line)) for line in lines)
    labels = sum(1 for line in lines if (found := label_in(line)) and found[0] == "abstract")
    addresses = sum(1 for line in lines if (_BULLET.match(line) or line.startswith("|")) and _HOSTS.search(line))
    marked = headings or any(_LINK.search(line) for line in lines) or "**" in head
    if marked and (labels and (headings or "**" in head)):
        return 0.8 + ending
    if addresses > 2 or (headings and addresses):
        return 0.6 + ending
    if headings > 1 or (headings and header_of(next(line for line in lines if line.strip()))):
        return 0.35 + ending
    return 0.2 * ending * 10


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """One record a paper. A heading with labelled lines but without an abstract is a paper without one."""
    entries = list(_entries(file))
    prose = not any(entry.level > 0 and (entry.labelled or entry.identified) for entry in entries)
    position = 0
    for entry in entries:
        if entry.level == 0 and not prose:
            continue  # an introduction below the list's heading
        abstract = entry.fields.get("abstract") or _unlabelled_abstract(entry, prose)
        is_paper = (
            abstract or (entry.identified and entry.level >= 7) or {"authors", "url", "title"} & set(entry.fields)
        )
        if not is_paper:
            continue
        position += 1
        url = entry.url or _address(entry.fields.get("url", "")) or None
        if entry.level == 0 and abstract:
            yield _untitled(file, position, abstract, entry)
            continue
        quotes = " ".join(entry.quotes)
        texts = "\n".join(entry.texts)
        extra = entry.extra | ({"summary": quotes} if quotes and quotes != abstract else {})
        extra |= {"text": texts} if texts and texts != abstract else {}
        yield make_record(
            file.source(position),
            title=_FRONT.sub(r"\1", entry.fields.get("title", "")) or entry.title,
            abstract=abstract,
            authors=_people(entry.fields.get("authors", "")),
            venue=entry.fields.get("venue") or entry.venue,
            year=year_of(entry.fields.get("year")) or (None if arxiv_of(url) else entry.year),
            url=url,
            doi=entry.fields.get("doi"),
            arxiv_id=entry.fields.get("arxiv_id"),
            pmid=entry.fields.get("pmid"),
            openreview_id=entry.fields.get("openreview_id"),
            keywords=re.split("[;；,，、]", entry.fields.get("keywords", "")),
            extra=extra,
        )
    if not position:
        raise NotLiterature("Markdown without a list of papers: no abstracts, and no addresses of papers")


def _untitled(file: Opened, position: int, abstract: str, entry: _Entry) -> Record:
    record = make_record(file.source(position), abstract=abstract, venue=entry.venue, year=entry.year)
    return make_record(
        record.source, abstract=abstract, venue=entry.venue, year=entry.year, extra={"link": url_in(record.abstract)}
    )


def _unlabelled_abstract(entry: _Entry, prose: bool) -> str | None:
    """The long text below a title: of a labelled or identified entry, or where the whole document is such a list."""
    text = "\n".join(entry.texts) or "\n".join(entry.quotes)
    if len(text) < _LONG or not (entry.labelled or entry.identified or (prose and (entry.venue or entry.year))):
        return None
    return text


def _entries(file: Opened) -> Iterator[_Entry]:
    """Candidates in order: each heading, bullet and table row with what stands below it."""
    entry: _Entry | None = None
    venue, year = None, None
    current: str | None = None
    columns: list[str | None] = []
    fenced = False
    for number, raw in file.lines():
        if _FENCE.match(raw):
            fenced = not fenced
        if fenced or _TAG_LINE.match(raw):
            continue
        line = _IMAGE.sub("", raw).rstrip()
        if not line.strip() or _RULE.match(line):
            columns = columns if line.strip() else []
            current = (
                current
                if not line.strip() and current == "abstract" and entry and "abstract" not in entry.fields
                else (None if _RULE.match(line) and line.strip() else current)
            )
            continue
        if line.lstrip().startswith("|"):
            columns, row = _table_row(line, columns, number)
            if row:
                if entry:
                    yield entry
                    entry = None
                row.venue, row.year = venue, year
                yield row
            continue
        heading = None if entry and _NAMED_HEADING.match(line) else _HEADING.match(line)
        if heading:
            if entry:
                yield entry
            title, url = _linked(heading[2])
            if found := _VENUE.search(title) if header_of(title) or len(heading[1]) < 3 else None:
                venue, year = found[1], int(found[2])
            elif header := header_of(title):
                year = header[1] or year
            level = 0 if header_of(title) else len(heading[1])
            entry, current = _Entry(number, level, title, url, venue=venue, year=year), None
            continue
        if _NAMED_HEADING.match(line) and entry and "abstract" not in entry.fields:
            current = "abstract"
            continue
        if (summary := _SUMMARY.search(line)) and len(summary[1].split()) > 1:
            if entry:
                yield entry
            entry, current = _Entry(number, 6, *_linked(summary[1]), venue=venue, year=year), None
            continue
        label = label_in(line)
        if label:
            name, said, rest = label
            if entry is None or (name == "title" and ("title" in entry.fields or "abstract" in entry.fields)):
                if entry:
                    yield entry
                entry = _Entry(number, 6, "", venue=venue, year=year)
            current = _labelled(entry, name, said, rest)
            continue
        bullet = _BULLET.match(line) or (_BOLD_LINE.match(line) if current is None else None)
        if (
            bullet
            and (item := _item(number, bullet[2], numbered=line.lstrip()[:1].isdigit()))
            and not (entry and current == "abstract" and not item.identified)
        ):
            if entry and entry.labelled and len(bullet[1]) > 1 and not item.identified:
                entry.texts.append(bullet[2])
                continue
            if entry:
                yield entry
            item.venue, item.year = venue, year
            entry, current = item, None
            continue
        if bullet and not bullet[1] and entry and entry.level >= 7:
            yield entry  # the next bullet, which names no paper
            entry = current = None
            continue
        if entry is None:
            continue
        text = _TAGS.sub("", line).strip()
        if current:
            text = text.lstrip("> ").strip()
            entry.fields[current] = f"{entry.fields[current]}\n{text}" if current in entry.fields else text
        elif text.startswith(">"):
            entry.quotes.append(text.lstrip("> ").strip())
        elif entry.level == 0 and len(text) >= _LONG:
            yield _Entry(number, 0, "", None, {"abstract": text}, venue=venue, year=year)
        else:
            _plain_line(entry, text)
    if entry:
        yield entry


def _labelled(entry: _Entry, name: str | None, said: str, rest: str) -> str | None:
    """Stores a labelled line; the field that lines below go on with, or None."""
    address = _address(rest)
    if name is None and address and _HOSTS.search(address):
        name = "url"
    if name is None or name == "id":
        if rest:
            entry.extra[said] = _unlinked(rest)
        return None
    if name in ("url", "arxiv_id", "openreview_id") and address:
        if not entry.url or _HOSTS.search(address):
            entry.url = address if not entry.identified else entry.url
        return None
    if rest:
        value = _unlinked(rest) if name != "abstract" else rest
        entry.fields[name] = value if name not in entry.fields else f"{entry.fields[name]}\n{value}"
    return name if name == "abstract" or (name in ("title", "authors") and not rest) else None


def _plain_line(entry: _Entry, text: str) -> None:
    """A line of text without a label below a title: an address, names, or the abstract."""
    address = _address(text)
    if address and len(_unlinked(text)) < _LONG:
        if not entry.identified:
            entry.url = address
    elif "authors" not in entry.fields and not entry.texts and re.fullmatch(r"[*_][^*_]{3,2000}[*_]", text):
        entry.fields["authors"] = text.strip("*_")  # a line in italics below the title
    elif entry.level >= 7 and "authors" not in entry.fields and len(text) < 300 and len(split_names(text)) > 1:
        entry.fields["authors"] = text.strip("*_ ")
    else:
        entry.texts.append(text)


def _item(number: int, text: str, *, numbered: bool) -> _Entry | None:
    """A bullet that names a paper: by a link that is its title, or a bold or quoted title beside a link.

    In a numbered list a bold title needs no link.
    """
    links = [(label, url) for label, url in _LINK.findall(text)]
    titled = [(label, url) for label, url in links if not _LINK_WORDS.match(label) and len(label.split()) > 1]
    venue = re.search(r"\(?\*\*\s*([^*]{3,40}?)\s*\*\*\)?", text)
    if venue and _VENUE.fullmatch(venue[1]):
        text = f"{text.replace(venue[0], '', 1).strip()} {venue[1]}"
    bold = re.search(r"\*\*(.{8,300}?)\*\*|[\"“](.{8,300}?)[\"”]", _LINK.sub(r"\1", text))
    papers = [url for _, url in links if _HOSTS.search(url)] or [url for url in URL.findall(text) if _HOSTS.search(url)]
    if titled and (not bold or _HOSTS.search(titled[0][1])):
        title, url = titled[0]
    elif bold:
        title, url = bold[1] or bold[2], papers[0] if papers else ""
    elif papers:
        title, url = re.split(r"\s*(?:\[\[|\(\[|\[|https?://)", text)[0].strip("():-– "), papers[0]
    else:
        return None
    if url.startswith("#") or not (url or (numbered and text.startswith("**"))):
        return None
    plain = _NUMBER.sub("", _unlinked(title)).strip('*_ .,"“”')
    if len(plain) < 4:
        return None
    entry = _Entry(number, 7, plain, papers[0] if papers else url or None)
    if len(_unlinked(text)) > len(plain) + 8:
        entry.extra["listed as"] = _unlinked(text)
    rest = _unlinked(text).replace(_unlinked(title), " ", 1)
    if found := _VENUE.search(rest):
        entry.fields["venue"], entry.fields["year"] = found[1], found[2]
    elif year := year_of(URL.sub(" ", rest)):
        entry.fields["year"] = str(year)
    return entry


def _table_row(line: str, columns: list[str | None], number: int) -> tuple[list[str | None], _Entry | None]:
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
    if not columns:
        names = [field_of(_unlinked(cell)) for cell in cells]
        return [
            name[0] if name else ("title" if _unlinked(cell).lower() in ("paper", "papers", "论文") else cell)
            for name, cell in zip(names, cells, strict=True)
        ], None
    if all(re.fullmatch(r":?-+:?|", cell) for cell in cells) or "title" not in columns:
        return columns, None
    entry = _Entry(number, 7, "")
    for name, cell in zip(columns, cells, strict=False):
        if not cell or name is None:
            continue
        address = _address(cell)
        if name == "title":
            entry.title = _unlinked(cell)
        if address and (not entry.url or (_HOSTS.search(address) and not entry.identified)):
            entry.url = address
        if name in ("abstract", "authors", "venue", "year", "doi", "keywords", "title"):
            entry.fields[name] = _unlinked(cell)
        elif name not in ("url", "id"):
            entry.extra[name] = address or _unlinked(cell)
    return columns, entry if entry.title else None


def _linked(text: str) -> tuple[str, str | None]:
    """A heading's text without marks and number, and the address it links to."""
    address = _address(text)
    return _NUMBER.sub("", _unlinked(text)).strip("*_ "), address


def _unlinked(text: str) -> str:
    return re.sub(r"\*\*|__|`", "", _TAGS.sub("", _LINK.sub(r"\1", text))).strip()


def _address(text: str) -> str | None:
    links = [url for _, url in _LINK.findall(text) if url.startswith("http")]
    best = next((url for url in links if _HOSTS.search(url)), links[0] if links else None)
    return best or url_in(text)


def _people(text: str) -> tuple[str, ...]:
    """Names; "A, B 等 6 位作者" and "A, B et al." name only some."""
    text = text.strip().removeprefix("[").removesuffix("]")
    shortened = re.sub(
        r"\s*(?:等\s*\d*\s*位?\s*(?:作者|人)?|,?\s*et al\.?|,?\s*and \d+ (?:others|more))\s*$", "", text.strip()
    )
    return split_names(shortened.replace("*", ""))
