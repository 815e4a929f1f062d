"""What a sentence states that can be held against a source: numbers with units, and names.

Numbers are read as values, so that 1,000 equals 1000, "six" equals 6, 7M equals 7 million, and 19.6\\% equals 19.6%.
Digits inside a name (ResNet50, CIFAR-10) belong to the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rag.texts.terms import GENERIC, STOP, stem

_SPELLED = {
    "zero": 0.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0,
    "eight": 8.0, "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0, "dozen": 12.0, "thirteen": 13.0,
    "fourteen": 14.0, "fifteen": 15.0, "sixteen": 16.0, "seventeen": 17.0, "eighteen": 18.0, "nineteen": 19.0,
    "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0, "eighty": 80.0,
    "ninety": 90.0,
}  # fmt: skip
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "billions": 1e9,
    "trillion": 1e12, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12,
    "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8, "百万": 1e6, "千万": 1e7, "十亿": 1e9,
}  # fmt: skip
_FOLDS = {"twice": 2.0, "double": 2.0, "doubles": 2.0, "doubled": 2.0, "doubling": 2.0, "triple": 3.0, "triples": 3.0,
          "tripled": 3.0, "thrice": 3.0, "quadruple": 4.0, "halve": 0.5, "halves": 0.5, "halved": 0.5}  # fmt: skip
_CHINESE = dict(zip("零一二三四五六七八九十两", (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2), strict=True))
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_^.])(?<![A-Za-z][-/])(?<![_^]\{)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\s?(?P<scale>hundred|thousand|millions?|billions?|trillion|百万|千万|十亿|百|千|万|亿)(?![A-Za-z])|"
    r"(?P<letter>[kKMBT])(?![A-Za-z]))?"
    r"\$?\s?(?P<unit>\\?[%％]|percent\b|per ?cent\b|percentage\b|pp\b|[x×](?![A-Za-z])|\\times\b|-?fold\b|times\b|倍)?"
    r"(?P<rest>[A-Za-z]+)?"
)
_SPELLED_RUN = re.compile(
    r"\b(?:(?:" + "|".join([*_SPELLED, "hundred", "thousand", "million", "billion"]) + r")(?:[\s-]+(?:and\s+)?|\b))+",
    re.IGNORECASE,
)
_FOLD = re.compile(r"\b(" + "|".join(_FOLDS) + r")\b", re.IGNORECASE)
_SPELLED_UNIT = re.compile(r"[\s-]*(percent\b|per cent\b|times\b|fold\b)", re.IGNORECASE)
_CHINESE_COUNT = re.compile(
    r"(?<![零一二三四五六七八九十两第唯统])(?P<n>[一二三四五六七八九十两])(?=[个種种项倍类大名篇层步组套款条])"
)
_CHINESE_PERCENT = re.compile(r"百分之(?P<n>\d+(?:\.\d+)?)")
_RANGE = re.compile(r"^\s*(?:-|–|—|to|and|or|~|到|至)\s*$")
_HEDGE = re.compile(
    r"\b(?:about|approximately|around|roughly|nearly|almost|over|some|more than|circa)\s*$|[~≈约]\s*$", re.I
)
_ORDINAL = re.compile(r"^(?:st|nd|rd|th)$")
_ITEM = re.compile(r"\d\)")
_NAME = re.compile(
    r"https?://[^\s)\]}>]*[^\s)\]}>.,;:]|[A-Za-zÀ-ɏͰ-Ͽ][\wÀ-ɏ]*(?:[-+/.&'’](?=\w)[\wÀ-ɏ]+)*\+*|\d+[A-Z]\b"
)
_GLUED = re.compile(r"[^0-9a-zà-ɏͰ-Ͽ]+")


@dataclass(frozen=True, slots=True)
class Number:
    """A number at `text[start:end]`. `unit` is "%", "x" (times) or "" (a count, a score, anything else)."""

    start: int
    end: int
    value: float
    unit: str
    hedged: bool = False

    def equals(self, other: Number) -> bool:
        """The same value; a missing unit is no contradiction. A hedged number may be the rounded one."""
        if self.unit and other.unit and self.unit != other.unit:
            return False
        if abs(self.value - other.value) <= 1e-9 * max(1.0, abs(other.value)):
            return True
        size = max(abs(self.value), abs(other.value))
        return self.hedged and size > 0 and abs(self.value - other.value) / size < 0.02


@dataclass(frozen=True, slots=True)
class Name:
    """A name at `text[start:end]`; `key` is what is compared. `sure` is False for a plain capitalised word."""

    start: int
    end: int
    text: str
    key: str
    sure: bool


def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of `text` in order of place."""
    found: list[Number] = []
    for match in _NUMBER.finditer(text):
        rest = match["rest"]
        if rest and not match["unit"] and (rest[0].isupper() or _ORDINAL.match(rest) or rest in ("d", "s")):
            continue  # 3D, 2nd, 1990s
        before = text[: match.start()]
        if _ITEM.match(text, match.start()) and (
            before[-1:] == "(" or before.rstrip()[-1:] in ("", ",", ";", ":", ".")
        ):
            continue  # 1) of a list inside a sentence
        value = float(match["digits"].replace(",", "")) * _SCALES.get(match["scale"] or match["letter"] or "", 1.0)
        end = match.end("rest") - len(rest) if rest else match.end()
        hedged = bool(_HEDGE.search(text[: match.start()]))
        found.append(Number(match.start(), end, value, _unit(match["unit"]), hedged))
    for match in _SPELLED_RUN.finditer(text):
        parts = [part for part in re.split(r"[\s-]+", match.group().casefold()) if part and part != "and"]
        if parts == ["one"] or not any(part in _SPELLED for part in parts):
            continue  # "one" is most often no number; "hundred" and "million" alone follow digits
        unit = _SPELLED_UNIT.match(text, match.end() - (len(match.group()) - len(match.group().rstrip())))
        end = match.start() + len(match.group().rstrip(" -\n"))
        found.append(Number(match.start(), end, _spelled(parts), _unit(unit[1].casefold() if unit else None)))
    found.extend(Number(match.start(), match.end(), _FOLDS[match[1].casefold()], "x") for match in _FOLD.finditer(text))
    found.extend(
        Number(match.start(), match.end(), float(_CHINESE[match["n"]]), "x" if text[match.end()] == "倍" else "")
        for match in _CHINESE_COUNT.finditer(text)
    )
    found.extend(
        Number(match.start(), match.end(), float(match["n"]), "%") for match in _CHINESE_PERCENT.finditer(text)
    )
    return _ranges(text, sorted(found, key=lambda number: number.start))


def _ranges(text: str, found: list[Number]) -> tuple[Number, ...]:
    """In a range the unit of the second number is the first one's too: 1.1-3×, 2 to 5%."""
    for place in range(len(found) - 1, 0, -1):
        first, second = found[place - 1], found[place]
        if not first.unit and second.unit and _RANGE.match(text[first.end : second.start]):
            found[place - 1] = Number(first.start, first.end, first.value, second.unit, first.hedged)
    return tuple(found)


def _unit(text: str | None) -> str:
    if not text:
        return ""
    return "%" if text.lstrip("\\")[0] in "%％p" else "x"


def _spelled(parts: list[str]) -> float:
    total = current = 0.0
    for part in parts:
        if part == "hundred":
            current = max(current, 1.0) * 100
        elif part in _SCALES:
            total += max(current, 1.0) * _SCALES[part]
            current = 0.0
        else:
            current += _SPELLED[part]
    return total + current


def key(text: str) -> str:
    """A name without case, hyphens, spaces and plural s, as it is compared."""
    squeezed = _GLUED.sub("", text.casefold())
    return squeezed[:-1] if len(squeezed) > 2 and text[-1:] == "s" and text[-2:-1].isupper() else squeezed


def names(text: str) -> tuple[Name, ...]:
    """The names of `text`: acronyms, CamelCase, words with digits, and capitalised words inside a sentence."""
    found: list[Name] = []
    for match in _NAME.finditer(text):
        word = match.group().rstrip("'’")
        if word.startswith("http"):
            found.append(Name(match.start(), match.end(), word, key(word), True))
            continue
        if word.endswith(("'s", "’s")):
            word = word[:-2]
        sure = is_structured(word)
        plain = word[0].isupper() and not sure
        bare = word.casefold()
        if bare in STOP or (plain and (bare in GENERIC or len(word) < 3)):
            continue
        if sure or (plain and not _opens(text, match.start())):
            found.append(Name(match.start(), match.start() + len(word), word, key(word), sure))
    return tuple(found)


def is_structured(word: str) -> bool:
    """Whether a word looks like a name wherever it stands: WardropNet, K-FAC, GPT4, D4RL, but not Self-supervised."""
    parts = re.split(r"[-+/.&]", word)
    inner = any(letter.isupper() for part in parts for letter in part[1:])
    acronym = sum(letter.isupper() for letter in word) >= 2
    digits = any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word)
    capitals = [part for part in parts if part[:1].isupper()]
    hyphened = len(parts) > 1 and len(capitals) == len(parts)
    return inner or digits or (acronym and (hyphened or len(parts) == 1))


def _opens(text: str, start: int) -> bool:
    """Whether a word at `start` opens a sentence, a quotation or a list item."""
    before = text[:start].rstrip()
    return not before or before[-1] in '.!?:;"“(*•-\n' or before.endswith(("(1)", "(2)", "(3)", "(i)", "(ii)"))


@dataclass(frozen=True, slots=True)
class NameSource:
    """Everything of a text that a name may be compared with."""

    tokens: frozenset[str]
    squeezed: str
    initials: str
    stems: frozenset[str]

    def has(self, name: Name) -> bool:
        """Whether `name`, its plural, its parts or its spelled-out form occurs."""
        if name.text.startswith("http"):
            return name.key in self.squeezed
        if not name.key or name.key in self.tokens or stem(name.text) in self.stems:
            return True
        if len(name.key) >= 5 and name.key in self.squeezed:
            return True
        if name.sure and name.text.rstrip("s").isupper() and len(name.key) >= 3 and name.key in self.initials:
            return True
        parts = [part for part in re.split(r"[-/+.]", name.text) if part]
        return len(parts) > 1 and all(key(part) in self.tokens or stem(part) in self.stems for part in parts)


def name_source(texts: Iterable[str]) -> NameSource:
    """What `texts` offer for names to be found in."""
    whole = "\n".join(texts)
    plain = re.findall(r"[^\W_]+", whole)
    tokens = {key(word) for word in plain}
    tokens |= {key(match.group()) for match in _NAME.finditer(whole)}
    initials = "".join(word[0].casefold() for word in plain if word.casefold() not in STOP or word[0].isupper())
    return NameSource(
        frozenset(tokens), _GLUED.sub("", whole.casefold()), initials, frozenset(stem(word) for word in plain)
    )
