"""Venue and years said in a question, taken as filters where they restrict which papers are meant.

"ICLR 2024 papers on pruning" and "published since 2022" restrict. "ImageNet 2012" and "tweets of 2017" are part of
what is asked: a year counts only beside a venue of the library, a word for papers or a verb of publishing, or at the
edge of a question about many papers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rag.types import Filters, Kind

KnownVenue = Callable[[str], bool]

_YEAR = r"(?:19|20)\d\d"
_PERIOD = re.compile(
    rf"""(?<![A-Za-z0-9.-])(?P<between>(?:(?:between|from|in|during)\s+)?(?P<a>{_YEAR})\s*年?\s*(?:and|to|until|through|[-–—~到至])\s*
        (?P<b>{_YEAR})(?:\s*年?\s*(?:之间|间))?)(?![A-Za-z0-9-])
    |(?:(?P<since>\b(?:since|starting\s+in|from(?=\s+{_YEAR}\s+on(?:wards?)?\b))\s+|自从?|从)(?P<y1>{_YEAR})(?:\s*年)?
        (?:\s*(?:on|onwards?)\b|以来|起|开始)?
      |(?P<after>\bafter\s+)(?P<y2>{_YEAR})
      |(?P<before>\b(?:before|prior\s+to)\s+)(?P<y3>{_YEAR})
      |(?P<until>\b(?:until|till|up\s+to|through)\s+)(?P<y4>{_YEAR})
      |(?P<y5>{_YEAR})\s*年?(?P<zsince>以来|之后|以后|(?:\s+(?:or|and)\s+later|\s+onwards?)\b)
      |(?P<y6>{_YEAR})\s*年?(?P<zbefore>之前|以前)
      |(?P<in>\b(?:in|of|from|during|within)\s+(?:the\s+year\s+)?)?(?<![A-Za-z0-9.-])(?P<y7>{_YEAR})(?:\s*年)?
      |(?P<short>(?<=[A-Z]{{2}}['’])\d\d)
    )(?![A-Za-z0-9-])(?!\.\d)""",
    re.IGNORECASE | re.VERBOSE,
)
_PAPERS = r"(?:papers?|works?|articles?|abstracts?|studies|publications?|preprints?|research|literature|submissions?)"
_PUBLISHED = r"(?:publish(?:ed)?|appear(?:ed|ing)?|presented|accepted|released|written|submitted|came\s+out|come\s+out)"
_SAID_BEFORE = re.compile(
    rf"(?:\b(?:{_PAPERS}|{_PUBLISHED})|发表于|发表在)[\s,(]*(?:(?:are|were|is|was)\s+)?$", re.IGNORECASE
)
_SAID_AFTER = re.compile(
    rf"^\s*(?:['’]s\s+)?(?:[\w-]+\s+){{0,3}}?{_PAPERS}\b|^\s*的?[^，。？]{{0,16}}?(?:发表|论文|文章|文献|工作)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z&+*]*(?:-[A-Za-z]+)*")
_TITLE_PHRASE = re.compile(
    rf"\b(?:{_PAPERS}|{_PUBLISHED})\s+(?:(?:are|were|is|was|there)\s+)?(?P<lead>(?:in|at|from|of|by)\s+(?:the\s+|journal\s+)*)"
    r"(?P<name>[A-Z][\w&-]*(?:\s+(?:of|and|on|in|for|the|&)(?=\s+[A-Z])|\s+[A-Z][\w&-]*)*)"
)
_LEAD = re.compile(rf"(?:\b{_PUBLISHED}\s+)?\b(?:in|at|from|of|by|to)\s+(?:the\s+)?$|(?:发表)?[在于]$", re.IGNORECASE)
_FOLLOWED = re.compile(
    r"^\s*(?:papers?|works?|articles?|publications?|submissions?|abstracts?)\b|^\s*(?:的|上|中|会议)?\s*(?:发表|论文|文章|工作)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"^\s*(?:$|[?.!,;，。？]|(?:on|about|that|which|and|with)\b)", re.IGNORECASE)
_YEAR_AFTER = re.compile(rf"\s*(?:['’-]\s*)?(?:{_YEAR}|(?<=['’])\d\d)(?!\w)")
_YEAR_BEFORE = re.compile(rf"{_YEAR}\s*年?\s*的?\s*$")
_SHORTEST = 3  # letters up to which a name in small letters is too likely an ordinary word
_SPACES = re.compile(r"\s{2,}")
_LEFT_OVER = re.compile(
    rf"(?:[\s,;(]+(?:(?:in|at|from|of|by|and|are|were|is|was|that|{_PUBLISHED})\b[\s,]*)*)(?P<end>[\s?.!？。]*)$",
    re.IGNORECASE,
)
_MANY: frozenset[Kind] = frozenset(("list", "count", "overview"))


@dataclass(frozen=True, slots=True)
class Restriction:
    """Filters found, the question without the words that said them, and what to tell the user."""

    filters: Filters
    rest: str
    notes: tuple[str, ...] = ()


def restrict(text: str, kind: Kind, given: Filters, known_venue: KnownVenue) -> Restriction:
    """What `text` says about venue and years, added to `given`; what `given` states is never overridden.

    `known_venue` says whether some paper of the library is from a venue of that name.
    """
    cuts: list[tuple[int, int]] = []
    venue = _venue(text, known_venue, cuts)
    years = _years(text, kind, cuts)
    found = Filters(venue, *years)
    if not found:
        return Restriction(given, text)
    filters = Filters(
        given.venue or found.venue,
        given.year_from if given.year_from or given.year_to else found.year_from,
        given.year_to if given.year_from or given.year_to else found.year_to,
    )
    if filters == given:
        return Restriction(given, text)
    return Restriction(filters, _without(text, cuts), (f"Only papers {describe(filters)} are considered.",))


def describe(filters: Filters) -> str:
    """The filters in words: "from ICLR, 2023 to 2024"."""
    parts = [] if filters.venue is None else [f"from {filters.venue}"]
    low, high = filters.year_from, filters.year_to
    if low is not None and low == high:
        parts.append(f"of {low}")
    elif low is not None and high is not None:
        parts.append(f"of {low} to {high}")
    elif low is not None:
        parts.append(f"since {low}")
    elif high is not None:
        parts.append(f"up to {high}")
    return ", ".join(parts)


def _venue(text: str, known: KnownVenue, cuts: list[tuple[int, int]]) -> str | None:
    for phrase in _TITLE_PHRASE.finditer(text):
        if known(phrase["name"]):
            cuts.append((phrase.start("lead"), phrase.end("name")))
            return phrase["name"]
    for word in _WORD.finditer(text):
        before, after = text[: word.start()], text[word.end() :]
        lead = _LEAD.search(before)
        year_after = _YEAR_AFTER.match(after)
        dated = year_after is not None or _YEAR_BEFORE.search(before) is not None
        capitals = sum(char.isupper() for char in word[0]) >= 2
        followed = _FOLLOWED.match(after[year_after.end() :] if year_after else after) is not None
        meant = (
            (dated and (capitals or followed))
            or (followed and not dated and (capitals or len(word[0]) > _SHORTEST))
            or (lead is not None and capitals and _ENDS.match(after) is not None)
        )
        if meant and len(word[0]) > 1 and known(word[0]):
            cuts.append((lead.start() if lead else word.start(), word.end()))
            return word[0]
    return None


def _years(text: str, kind: Kind, cuts: list[tuple[int, int]]) -> tuple[int | None, int | None]:
    venues = list(cuts)
    for period in _PERIOD.finditer(text):
        before, after = text[: period.start()], text[period.end() :]
        beside_venue = any(
            not text[end : period.start()].strip(" -'’,年的") and end <= period.start() for _, end in venues
        ) or any(period.end() <= start and not text[period.end() : start].strip(" 年的在") for start, _ in venues)
        said = bool(period["in"] or period["since"] or period["after"] or period["before"] or period["until"])
        said = said or bool(period["between"]) or bool(period["zsince"] or period["zbefore"]) or "年" in period[0]
        at_edge = not before.strip(" ,") or not after.strip(" ?.!？。")
        restricts = (
            beside_venue
            or bool(_SAID_BEFORE.search(before))
            or (bool(_SAID_AFTER.match(after)) and (said or not _names_a_thing(before)))
            or (kind in _MANY and said and at_edge)
        )
        if restricts:
            cuts.append(period.span())
            return _bounds(period)
    return None, None


def _names_a_thing(before: str) -> bool:
    """Whether the word before a bare year is a name that it belongs to, as in "ImageNet 2012 papers"."""
    words = before.split()
    return bool(words) and len(words) > 1 and any(char.isupper() for char in words[-1])


def _bounds(period: re.Match[str]) -> tuple[int | None, int | None]:
    if period["between"]:
        low, high = sorted((int(period["a"]), int(period["b"])))
        return low, high
    if period["short"]:
        return 2000 + int(period["short"]), 2000 + int(period["short"])
    year = int(next(period[name] for name in ("y1", "y2", "y3", "y4", "y5", "y6", "y7") if period[name]))
    if period["since"] or period["zsince"]:
        return year, None
    if period["after"]:
        return year + 1, None
    if period["before"] or period["zbefore"]:
        return None, year - 1
    if period["until"]:
        return None, year
    return year, year


def _without(text: str, cuts: list[tuple[int, int]]) -> str:
    """`text` without the cut pieces and the prepositions left hanging; the whole text where nothing would remain."""
    rest = text
    for start, end in sorted(cuts, reverse=True):
        rest = f"{rest[:start].rstrip()} {rest[end:].lstrip()}"
    rest = _SPACES.sub(" ", _LEFT_OVER.sub(lambda tail: tail["end"], rest)).strip(" ,")
    return rest if re.search(r"\w", rest) else text
