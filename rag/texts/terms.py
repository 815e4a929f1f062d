"""Words of a text as the checks see them: stems with offsets and a weight, the same for both spellings of English.

A weight says how much a word tells: 0 for function words, little for what any abstract may say (method, results),
1 for the rest. Where a library is at hand, its document frequencies say it better (`rag.answering.evidence`).
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import lru_cache

import Stemmer


def listed(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


STOP = listed(
    "a an and are as at be been being but by can could did do does doing done for from had has have having he her hers "
    "him his how i if in into is it its itself let may me might more most much must my no nor not of off on onto or "
    "our ours ourselves out own per she should so some such than that the their theirs them themselves then there "
    "these they this those through thus to too under until up upon us very via was we were what when where whether "
    "which while who whom whose why will with within without would yes yet you your also any all each every both few "
    "other others another same here however moreover furthermore hence therefore although though because since "
    "about above across after again against along among around before below between beyond during down over "
    "only just even ever never neither either instead rather well e.g i.e eg ie etc et al vs s t re ve ll d m "
    "am cannot one ones"
)
# What nearly every abstract says; a claim is not made true by sharing these.
GENERIC = listed(
    "paper papers study studies work works article articles author authors abstract research researcher researchers "
    "propose proposes proposed proposing present presents presented presenting introduce introduces introduced "
    "introducing show shows shown showed showing demonstrate demonstrates demonstrated demonstrating find finds found "
    "finding findings report reports reported describe describes described discuss discusses explore explores "
    "explored investigate investigates investigated examine examines examined analyze analyzes analyzed address "
    "addresses addressed consider considers considered use uses used using utilize utilizes utilized leverage "
    "leverages leveraged "
    "employ employs employed apply applies applied provide provides provided offer offers offered achieve achieves "
    "achieved achieving obtain obtains obtained reach reaches reached allow allows allowed enable enables enabled "
    "method methods approach approaches technique techniques framework frameworks algorithm algorithms model models "
    "system systems result results experiment experiments experimental evaluate evaluates evaluated evaluation "
    "performance novel new existing various several many different based call called name named term termed known "
    "develop develops developed aim aims main specifically additionally respectively significant significantly "
    "important recent recently state art suggest suggests suggested indicate indicates indicated make makes made "
    "include includes included including involve involves focus focuses focused goal purpose way help helps "
    "mention mentioned mentions state states stated conclude concludes concluded according information"
)
GENERIC_WEIGHT = 0.25
NUMBER_WEIGHT = 1.0
_WORD = re.compile(
    r"https?://[^\s)\]}>]*[^\s)\]}>.,;:]|[㐀-鿿]"
    r"|(?:(?![㐀-鿿])[^\W\d_])+(?:\d+(?:(?![㐀-鿿])[^\W_])*)*|\d+(?:[.,]\d+)*(?:(?![㐀-鿿])[^\W\d_])*"
)
_CJK = re.compile(r"[㐀-鿿]")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?:s|re|ve|ll|d|m)\b")
_BRITISH = (
    (re.compile(r"(?<=\w{3})is(e|es|ed|ing|er|ers|able|ation|ations|ational)$"), r"iz\1"),
    (re.compile(r"(?<=\w{3})ys(e|es|ed|ing|er|ers)$"), r"yz\1"),
    (re.compile(r"(?<=[a-z]{2})our(s|ed|ing|al|able|ite|less|ful)?$"), r"or\1"),
    (re.compile(r"(?<=[a-z])ll(ed|ing|er|ers)$"), r"l\1"),
    (re.compile(r"(?<=[a-z]{2})tre(s)?$"), r"ter\1"),
)
_local = threading.local()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text at `text[start:end]`; `stem` is what is compared, `weight` 0 to 1 how much it tells."""

    start: int
    end: int
    text: str
    stem: str
    weight: float


def american(word: str) -> str:
    """`word` in lower case and American spelling, by its ending; not always a word, but always the same one."""
    lower = word.casefold()
    for pattern, replacement in _BRITISH:
        lower = pattern.sub(replacement, lower)
    return lower


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The Porter2 stem of a word in lower case, American spelling first."""
    lower = american(word)
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:  # one per thread: the library's stemmers are not safe to share
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(lower))


@lru_cache(maxsize=65536)
def weight(word: str) -> float:
    """How much a word tells, 0 to 1."""
    lower = word.casefold()
    if lower in STOP or (len(lower) == 1 and lower.isascii() and word.islower()):
        return 0.0
    return GENERIC_WEIGHT if lower in GENERIC else 1.0


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    """All words of `text` in order; hyphenated words apart, Chinese characters one by one."""
    found = []
    skip = {place for mark in _APOSTROPHE.finditer(text) for place in range(mark.start(), mark.end())}
    for match in _WORD.finditer(text):
        if match.start() not in skip:
            word = match.group()
            found.append(Word(match.start(), match.end(), word, stem(word), weight(word)))
    return tuple(found)


def content(text: str) -> tuple[Word, ...]:
    """The words of `text` that tell something."""
    return tuple(word for word in words(text) if word.weight > 0)


def stems(text: str) -> frozenset[str]:
    """Stems of all words of `text`."""
    return frozenset(word.stem for word in words(text))


def is_cjk(text: str) -> bool:
    """Whether a good part of `text` is Chinese characters."""
    return len(_CJK.findall(text)) * 4 > len(text.strip())
