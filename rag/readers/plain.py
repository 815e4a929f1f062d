"""Plain text: a list of abstracts, with or without header, titles, numbers, rules, or `Title:` labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rag.papers.identifiers import URL, url_in
from rag.readers.fields import make_record, split_names
from rag.readers.labels import label_in
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.types import Record, Rejected

NAME = "plain"
_RULE = re.compile(r"\s*(?:[-=*_~#—─]\s?){3,}\s*$")
_NUMBER = re.compile(
    r"\s*(?:(?:paper|abstract|no\.?|论文)\s*#?\s*(\d{1,4})\s*[:.：)]?|#(\d{1,4})[:.]?|\[(\d{1,4})\]|\((\d{1,4})\)"
    r"|(\d{1,4})\s*(?:[.)](?!\d)|[、．]))\s*(?=\S|$)",
    re.IGNORECASE,
)
_LIST_WORD = re.compile(
    r"\b(?:accepted|papers?|abstracts?|list of|list|proceedings(?: of)?|reading list|publications|posters?|orals?|the"
    r"|of|from|at|all|main conference|conference track)\b|论文列表|论文集|论文|列表|摘要集|摘要|会议|合集|接收|录用|年",
    re.IGNORECASE,
)
_FIRM_LIST_WORD = re.compile(r"\b(?:papers|abstracts|proceedings|reading list|publications)\b|论文|摘要|列表", re.I)
_YEAR = re.compile(r"(?<!\d)(?:19[5-9]\d|20\d\d)(?!\d)")
_NAME = re.compile(r"(?:[A-ZÀ-Þ][\w.'’-]*\s){1,3}[A-ZÀ-Þ][\w'’-]+\s?[\d*†‡]*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDED = re.compile(r"[.!?。！？:：;；][\"'”’)\]]*$")
_OTHER_LABEL = re.compile(r"([^\W\d_][\w -]{1,24})[:：]\s*(\S.*)")
_SECTION = re.compile(
    r"(?:background|introduction|objectives?|aims?|purpose|methods?|materials and methods|results?|findings|discussion"
    r"|conclusions?|significance|limitations)\b\s*[:.\n]",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Entry:
    """One paper as it is gathered; `line` is where it begins."""

    line: int
    fields: dict[str, list[str]] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        if text.strip():
            self.fields.setdefault(name, []).append(text.strip("\n"))

    def text(self, name: str) -> str | None:
        return "\n".join(self.fields[name]) if name in self.fields else None


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines without a blank one between them. `ruled` when a rule stands before it."""

    line: int
    lines: tuple[str, ...]
    ruled: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def sniff(head: str, name: str) -> float:
    """The fallback for running text; surer where `Abstract:` labels or a header speak for a list."""
    if re.match(r"\s*(?:<\?xml|<!DOCTYPE|<[A-Za-z][\w:]*(?:\s+xmlns|>\s*<))", head):
        return 0.0  # markup of a kind that is not known
    ending = 0.05 if name.lower().endswith((".txt", ".text")) or "." not in name else 0.0
    labels = [found[0] for line in head.split("\n") if (found := label_in(line))]
    if "abstract" in labels and len(re.findall(r"^#{1,6} ", head, re.M)) == 0:
        return 0.5 + ending
    blocks = _blocks(head)
    if blocks and header_of(blocks[0].text) and len(blocks) > 1:
        return 0.4 + ending
    return 0.15 + ending if any(_is_long(block.text) for block in blocks) else ending


def read(file: Opened, _options: ReadOptions) -> Iterator[Record | Rejected]:
    """One record an abstract, in order. What is too short to be an abstract and no title of one is rejected."""
    blocks = _blocks(file.text())
    venue: str | None = None
    year: int | None = None
    headed = False
    while blocks and (header := header_of(blocks[0].text)) and (not headed or header[1]):
        venue, year = header[0] or venue, header[1] or year
        headed = True
        blocks = blocks[1:]
    fields = [found[0] for block in blocks for line in block.lines if (found := label_in(line))]
    entries = _labelled(blocks) if "abstract" in fields or fields.count("title") > 1 else _unlabelled(blocks, headed)
    for position, entry in enumerate(entries, start=1):
        title, abstract = entry.text("title"), entry.text("abstract")
        if "reject" in entry.fields:
            yield file.rejected(
                "too short to be an abstract, and no title of one: " + _start(entry.text("reject")), entry.line
            )
            continue
        record = make_record(
            file.source(position),
            title=title,
            abstract=abstract,
            authors=split_names(" ".join((entry.text("authors") or "").split())),
            venue=entry.text("venue") or venue,
            year=entry.text("year") or year,
            url=_address(entry.text("url")),
            doi=entry.text("doi"),
            arxiv_id=entry.text("arxiv_id"),
            pmid=entry.text("pmid"),
            openreview_id=entry.text("openreview_id"),
            keywords=re.split("[;；,，、]", entry.text("keywords") or ""),
            extra=entry.extra,
        )
        # An address inside the abstract leads to code as often as to a paper: it is a link, no identity.
        yield record if record.url else replace(record, url=url_in(record.abstract))


def header_of(text: str) -> tuple[str | None, int | None] | None:
    """(venue, year) of a line such as "ICLR 2025 Papers" or "ICLR 2024 论文列表"; None for any other line."""
    line = text.strip().strip("#*=_ ").strip()
    if "\n" in line or not 2 < len(line) <= 100 or _ENDED.search(line.rstrip(":：")) or URL.search(line):
        return None
    year = _YEAR.search(line)
    rest = _LIST_WORD.sub(" ", _YEAR.sub(" ", line))
    words = re.findall(r"[^\W_][\w&+.'/-]*", rest)
    if not (_FIRM_LIST_WORD.search(line) or (year and len(words) <= 2)) or len(words) > 8 or not (year or words):
        return None
    if not year and any(word[0].islower() for word in words if word[0].isascii()):
        return None
    venue = re.sub(r"\s+", " ", rest).strip(" -–—:：,，()（）[]'’")
    return venue or None, int(year[0]) if year else None


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    gathered: list[str] = []
    start, ruled = 1, False
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        rule = bool(_RULE.match(line))
        if line.strip() and not rule:
            if not gathered:
                start = number
            gathered.append(line.strip())
            continue
        if gathered:
            blocks.append(_Block(start, tuple(gathered), ruled))
            gathered, ruled = [], False
        ruled = ruled or rule
    return blocks


def _labelled(blocks: list[_Block]) -> Iterator[_Entry]:
    """A new entry begins at a title, and at an abstract, a rule or a number once there is an abstract."""
    entry: _Entry | None = None
    current: str | None = "abstract"
    for block in blocks:
        for offset, raw in enumerate(block.lines):
            number = _NUMBER.match(raw) if offset == 0 else None
            line = raw[number.end() :] if number else raw
            found = label_in(line)
            name = found[0] if found else None
            done = entry is not None and "abstract" in entry.fields
            begins = (name == "title" and entry is not None and ("title" in entry.fields or done)) or (
                done and (name == "abstract" or bool(number) or (block.ruled and offset == 0))
            )
            if entry is None or begins:
                if entry is not None and entry.fields:
                    yield entry
                entry, current = _Entry(block.line + offset), "title" if not found else current
            if found is None:
                other = _OTHER_LABEL.match(line) if current is None else None
                if other:
                    entry.extra[other[1]] = other[2]
                    continue
                if current == "title" and "title" in entry.fields and offset == 0:
                    current = "abstract"
                entry.add(current or "abstract", line)
            elif name is None or name == "id":
                entry.extra[found[1]] = found[2]
            else:
                current = name if name in ("title", "abstract", "authors", "keywords") else None
                entry.add(name, found[2])
    if entry is not None and entry.fields:
        yield entry


def _unlabelled(blocks: list[_Block], headed: bool) -> Iterator[_Entry]:
    blocks = _one_per_line(blocks)
    numbered = _numbered(blocks)
    if numbered:
        blocks = _split_at_numbers(blocks)
    ruled = sum(block.ruled for block in blocks[1:])
    long = sum(_is_long(block.text) for block in blocks)
    if long == 0 and (numbered or headed):
        for block in _per_line(blocks):
            yield _Entry(block.line, {"title": [_without_number(block.text, numbered)]})
        return
    by_rule = ruled >= max(1, (long - 1) // 2) and ruled > 0
    authored = any(len(block.lines) > 2 and _is_names(block.lines[1]) for block in blocks)
    entry: _Entry | None = None
    for block in blocks:
        begins = _begins(block, numbered, by_rule)
        text = _without_number(block.text, numbered)
        for line, kind, part in _parts(block.line, text, authored):
            full = entry is not None and "abstract" in entry.fields
            goes_on = (
                full
                and kind == "abstract"
                and (((numbered or by_rule) and not begins) or bool(_SECTION.match(part)) or part[:1].islower())
            )
            if entry is None or begins or (full and not goes_on):
                if entry is not None:
                    yield _settled(entry)
                entry, begins = _Entry(line), False
            entry.add("title" if kind == "authors" and "title" not in entry.fields else kind, part)
    if entry is not None:
        yield _settled(entry)


def _settled(entry: _Entry) -> _Entry:
    """Short text without an abstract after it was no title: it is rejected."""
    if "abstract" in entry.fields:
        return entry
    return _Entry(entry.line, {"reject": [text for texts in entry.fields.values() for text in texts]})


def _parts(line: int, text: str, authored: bool) -> Iterator[tuple[int, str, str]]:
    """(line, field, text): a title line, lines of names and addresses, then the abstract.

    `authored`: entries of the list have a line of names, so that a name alone may be one too.
    """
    lines = text.split("\n")
    for index, part in enumerate(lines):
        address = URL.fullmatch(part.strip())
        if address:
            yield line + index, "url", part
        elif index + 1 < len(lines) and not _is_long(part) and not _ENDED.search(part) and _is_title(lines, index):
            named = _is_names(part) or (authored and index == 1 and _NAME.fullmatch(part.strip()))
            yield line + index, "authors" if index and named else "title", part
        else:
            rest = "\n".join(lines[index:])
            yield line + index, _kind(rest), rest
            return


def _kind(text: str) -> str:
    if _is_long(text):
        return "abstract"
    return "authors" if _is_names(text) else "title"


def _is_title(lines: list[str], index: int) -> bool:
    """Whether a short line heads a long one, and is not the first of lines wrapped at one width."""
    longest = max(len(line) for line in lines[index + 1 :])
    following = lines[index + 1]
    return (
        (longest > 2 * len(lines[index]) or len(lines[index]) < 0.75 * len(following))
        and _is_long("\n".join(lines[index + 1 :]))
        and following[:1].upper() == following[:1]
    )


def _is_names(text: str) -> bool:
    names = re.split(r"\s*(?:,|;|&|\band\b)\s*", text.strip())
    shaped = all(
        re.fullmatch(r"[^\W\d_][\w.'’-]*(?:\s[^\W\d_][\w.'’-]*){0,4}\s?[\d*†‡]*", name) for name in names if name
    )
    return len(names) > 1 and shaped and sum(name[:1].isupper() for name in names) >= len(names) - 1


def _is_long(text: str) -> bool:
    """Enough to be an abstract: 100 characters with 15 words, or 40 Chinese characters with a sentence's end."""
    if len(_CJK.findall(text)) >= 40:
        return len(text) >= 100 or bool(re.search("[。！？]", text))
    return len(text) >= 100 and len(text.split()) >= 15


def _one_per_line(blocks: list[_Block]) -> list[_Block]:
    """Blocks of whole abstracts line under line, taken apart."""
    several = [block for block in blocks if len(block.lines) > 1]
    lines = [line for block in several for line in block.lines]
    whole = [line for line in lines if len(line) > 250 and _ENDED.search(line)]
    return _per_line(blocks) if lines and len(whole) > 0.8 * len(lines) else blocks


def _per_line(blocks: list[_Block]) -> list[_Block]:
    return [
        _Block(block.line + offset, (line,), block.ruled and not offset)
        for block in blocks
        for offset, line in enumerate(block.lines)
    ]


def _number_of(text: str) -> int | None:
    found = _NUMBER.match(text)
    return int(next(group for group in found.groups() if group)) if found else None


def _numbered(blocks: list[_Block]) -> bool:
    """Whether lines count up from where the first number starts, so that numbers tell entries apart."""
    numbers = [number for block in blocks for line in block.lines if (number := _number_of(line)) is not None]
    rising = sum(1 for a, b in pairwise(numbers) if b == a + 1)
    first = _number_of(blocks[0].text) if blocks else None
    return first in (0, 1) and (len(numbers) == 1 or rising >= 0.6 * (len(numbers) - 1))


def _split_at_numbers(blocks: list[_Block]) -> list[_Block]:
    """Blocks cut before each line that carries the next number."""
    cut: list[_Block] = []
    awaited = _number_of(blocks[0].text) or 0
    for block in blocks:
        start = 0
        for offset, line in enumerate(block.lines):
            if _number_of(line) == awaited:
                awaited += 1
                if offset > start:
                    cut.append(_Block(block.line + start, block.lines[start:offset], block.ruled and not start))
                start = offset
        cut.append(_Block(block.line + start, block.lines[start:], block.ruled and not start))
    return cut


def _begins(block: _Block, numbered: bool, by_rule: bool) -> bool:
    return (by_rule and block.ruled) or (numbered and _number_of(block.text) is not None)


def _without_number(text: str, numbered: bool) -> str:
    found = _NUMBER.match(text) if numbered else None
    return text[found.end() :] if found else text


def _address(text: str | None) -> str | None:
    return (url_in(text) or text) if text else None


def _start(text: str | None) -> str:
    words = " ".join((text or "").split())
    return words if len(words) <= 60 else words[:57] + "…"
