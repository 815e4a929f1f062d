"""From the raw values of an entry to a `Record`: what all formats do in one way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rag.papers.identifiers import arxiv_of, arxiv_year, doi_of, openreview_of, pmid_of, url_in
from rag.texts.notices import is_no_abstract, without_notices
from rag.texts.text import clean_text, clean_title
from rag.types import Record, Source

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_SUFFIX = re.compile(r"(?:[JS]r\.?|I{2,3}|IV|Ph\.?D\.?|M\.?D\.?|Inc\.?|Ltd\.?|LLC|GmbH|Corp\.|Co\.)$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ADDRESS = re.compile(r"[a-z][a-z+.-]*:|www\.|10\.\d{4}", re.IGNORECASE)
_AND_OTHERS = re.compile(r",?\s*\b(?:et\.?\s*al\.?|and others)\s*$", re.IGNORECASE)
_QUOTED = re.compile(r"""(?<=[\[,\s])'((?:[^'\\]|\\.)*)'(?=\s*[,\]])|"((?:[^"\\]|\\.)*)\"""")
_EMPTY = frozenset(
    {
        "",
        "none",
        "null",
        "nan",
        "n/a",
        "na",
        "-",
        "not available",
    }
)


def make_record(
    source: Source,
    *,
    title: str | None = None,
    abstract: str | None = None,
    authors: Iterable[str] = (),
    venue: str | None = None,
    year: str | int | None = None,
    url: str | None = None,
    doi: str | None = None,
    arxiv_id: str | None = None,
    pmid: str | None = None,
    openreview_id: str | None = None,
    keywords: Iterable[str] = (),
    own_id: str | None = None,
    extra: Mapping[str, str | None] | None = None,
) -> Record:
    """A Record from values as the file has them: text is cleaned, identifiers are normalised and also sought in `url`.

    Values that say "none" in one of the usual ways count as absent. `authors` may be "Family, Given" or in reading
    order; reading order is kept. `year` may be a date; without one, the venue ("ICML 2024 Poster") or an arXiv id may
    tell it.
    """
    stated = link = present(url)
    if stated and not _ADDRESS.match(stated):
        link = url_in(stated)
        extra = {**(extra or {}), "url": None if link else stated}
    if doi and present(doi) and not doi_of(doi) and not arxiv_of(doi):
        extra = {**(extra or {}), "doi": doi}  # a short form, or none at all: kept as it is
    arxiv = arxiv_of(present(arxiv_id), bare=True) or arxiv_of(doi) or arxiv_of(link)
    return Record(
        source=source,
        title=clean_title(title) or None if present(title) and title is not None else None,
        abstract=_abstract(abstract) if present(abstract) and abstract is not None else "",
        authors=tuple(name for author in authors if (name := name_of(author))),
        venue=clean_title(venue) or None if venue and present(venue) else None,
        year=(year if isinstance(year, int) else year_of(year)) or year_of(venue) or arxiv_year(arxiv),
        url=link,
        doi=doi_of(doi) or doi_of(link),
        arxiv_id=arxiv,
        pmid=pmid_of(present(pmid), bare=True) or pmid_of(link),
        openreview_id=present(openreview_id) or openreview_of(link),
        keywords=tuple(dict.fromkeys(word for raw in keywords if (word := clean_title(raw)))),
        own_id=present(own_id),
        extra={name: value for name, raw in (extra or {}).items() if (value := (raw or "").strip())},
    )


def _abstract(raw: str) -> str:
    text = without_notices(clean_text(raw))
    return "" if is_no_abstract(text) else text


def present(value: str | None) -> str | None:
    """`value` stripped, or None where it is empty or one of the words for "none"."""
    if value is None:
        return None
    stripped = value.strip()
    return None if stripped.casefold().rstrip(".") in _EMPTY else stripped


def year_of(text: str | None) -> int | None:
    """The first year, 1500 to 2099, in `text`: "2019//", "Oct-2021", "2012 Jan 5"."""
    found = _YEAR.search(text) if text else None
    return int(found[1]) if found else None


def name_of(author: str) -> str:
    """A person's name in reading order: "Hicks, III, Michael" and "Hicks, Michael" turn round. Empty for no name."""
    text = clean_title(author).strip(" ,;")
    if text[-1:].isdigit():
        text = re.sub(r"\s+\d{4}$", "", text)  # DBLP numbers namesakes
    if text.casefold() in _EMPTY or text.startswith("[No author") or not any(char.isalpha() for char in text):
        return ""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 2 and all(map(_CJK.fullmatch, parts)):
        return "".join(parts)  # Chinese, Japanese and Korean names have the family name first and no blank
    if len(parts) == 2 and not _SUFFIX.match(parts[1]):
        return f"{parts[1]} {parts[0]}"
    if len(parts) == 3 and _SUFFIX.match(parts[1]):
        return f"{parts[2]} {parts[0]} {parts[1]}"
    if len(parts) == 3 and _SUFFIX.match(parts[2]):
        return f"{parts[1]} {parts[0]} {parts[2]}"
    return text


def split_names(text: str) -> tuple[str, ...]:
    """The names of a list in one string: divided by ";", " and ", "|", "；", or by commas where these divide names.

    "Hu, J., Li, K." is two people; "Jie Hu, Ke Li" is two; "Hu, Jie" is one.
    """
    if (listed := items_of(text)) is not None:
        return tuple(name for item in listed if (name := name_of(item)))
    text = _AND_OTHERS.sub("", text)
    for mark in (";", "；", "|", "\n", "、"):
        if mark in text:
            return tuple(name for part in text.split(mark) if (name := name_of(part)))
    if re.search(r"\band\b", text):
        parts = re.split(r"\s*,?\s+and\s+", text)
        if len(parts) > 2 or parts[0].count(",") <= 1 == parts[0].count(","):
            family_first = all(part.count(",") == 1 for part in parts)
            if family_first:
                return tuple(name for part in parts if (name := name_of(part)))
        return tuple(name for part in parts for name in split_names(part) if name)
    parts = [part.strip() for part in text.replace("，", ",").split(",") if part.strip()]
    if len(parts) > 1 and len(parts) % 2 == 0 and all(_initials(part) for part in parts[1::2]):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return tuple(name_of(f"{family}, {given}") for family, given in pairs)
    if len(parts) == 2 and " " not in parts[0] and " " not in parts[1]:
        return tuple(name for name in (name_of(text),) if name)
    return tuple(name for part in parts if (name := name_of(part)))


def items_of(text: str) -> list[str] | None:
    """The strings of a list written out as Python or JSON write it, "['Jane Roe', \\"K. O'Dea\\"]"; else None."""
    if not (text.lstrip().startswith("[") and text.rstrip().endswith("]")):
        return None
    found = [single or double for single, double in _QUOTED.findall(text)]
    return found or None


def _initials(text: str) -> bool:
    return bool(re.fullmatch(r"(?:[^\W\d_]\.[\s-]?){1,4}|[A-Z]{1,3}", text))
