"""The second look at the best candidates: how the words of a question occur in a paper, and its phrases in sentences.

Words: BM25 with the title counted twice and a question's repeated words as often as they occur (Robertson and Zaragoza,
2009), the rarity-weighted share of the question's words in the paper and in its title, neighbouring words that are
neighbours in the paper too (after Metzler and Croft's sequential dependence, 2005), and abbreviations written
out. Phrases: late interaction (after Khattab and Zaharia, 2020), with phrases for tokens and sentences for documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

from rag.texts.analysis import STOP_WORDS, terms
from rag.types import Paper

K1, B = 1.2, 0.75
TITLE_TIMES = 2
MOST_PHRASE_WORDS = 5
_PIECE = re.compile(r"[^\W_]+|[^\w\s]")
_CARRIES_ON = "-'’/"
# Words of asking; a phrase ends at them.
_ASKING_WORDS = """
paper papers work works study studies article articles research method methods approach approaches propose proposes
proposed present presents presented introduce introduces introduced show shows showed first any some there use uses used
using could would recommend suggest provide give find list name example examples did does via based new novel between
also
"""
_ASKING = STOP_WORDS | frozenset(_ASKING_WORDS.split())


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a question. `counts` and `weights` by term; `pairs` are neighbours; `expansions` are terms that
    an abbreviation adds. A weight is the best BM25 that the term reaches in the library, 0 where no paper has it.
    """

    counts: Mapping[str, int]
    weights: Mapping[str, float]
    pairs: frozenset[tuple[str, str]]
    expansions: Mapping[str, float]

    @property
    def known(self) -> float:
        """Sum of the weights, each term once."""
        return sum(self.weights.values())


@dataclass(frozen=True, slots=True)
class Match:
    """How a question's terms occur in one paper, each 0 to 1: see the module's first lines."""

    lexical: float
    coverage: float
    title: float
    adjacent: float
    abbreviation: float


def query_terms(text: str, best: Callable[[str], float]) -> QueryTerms:
    """The terms of a question; `best` gives a term's weight."""
    listed = terms(text)
    counts = Counter(listed)
    added = {term for term in _expansions(listed) if term not in counts}
    return QueryTerms(
        counts,
        {term: best(term) for term in counts},
        frozenset(pairwise(listed)),
        {term: best(term) for term in added},
    )


def match(asked: QueryTerms, paper: Paper, average: float) -> Match:
    """How `asked` occurs in `paper`; `average` is the usual length of a paper in terms."""
    title = _terms_of(paper.title) if paper.titled else ()
    abstract = _terms_of(paper.abstract)
    frequency = Counter(abstract)
    for term in title:
        frequency[term] += TITLE_TIMES
    length = len(abstract) + TITLE_TIMES * len(title)
    norm = K1 * (1 - B + B * length / max(1.0, average))
    weights = asked.weights
    once = asked.known or 1.0
    repeated = sum(count * weights[term] for term, count in asked.counts.items()) or 1.0
    in_title = set(title)
    beside = frozenset(pairwise(title)) | frozenset(pairwise(abstract))
    pairs = [(pair, weights[pair[0]] + weights[pair[1]]) for pair in asked.pairs]
    return Match(
        lexical=sum(
            count * weights[term] * frequency[term] / (frequency[term] + norm)
            for term, count in asked.counts.items()
            if term in frequency
        )
        / repeated,
        coverage=sum(weight for term, weight in weights.items() if term in frequency) / once,
        title=sum(weight for term, weight in weights.items() if term in in_title) / once,
        adjacent=sum(weight for pair, weight in pairs if pair in beside) / (sum(weight for _, weight in pairs) or 1.0),
        abbreviation=sum(
            weight * frequency[term] / (frequency[term] + norm)
            for term, weight in asked.expansions.items()
            if term in frequency
        )
        / once,
    )


def size(paper: Paper) -> int:
    """Length of a paper in terms, as `match` counts it."""
    return len(_terms_of(paper.abstract)) + (TITLE_TIMES * len(_terms_of(paper.title)) if paper.titled else 0)


def phrases(text: str) -> list[tuple[int, int]]:
    """Offsets of the runs of telling words in a question, at most MOST_PHRASE_WORDS long."""
    found: list[tuple[int, int]] = []
    start, end, words = 0, 0, 0
    for piece in _PIECE.finditer(text):
        word = piece[0].lower()
        if word in _CARRIES_ON and words:
            continue
        if word in _ASKING or not word[0].isalnum() or words == MOST_PHRASE_WORDS:
            if words:
                found.append((start, end))
            words = 0
            if word in _ASKING or not word[0].isalnum():
                continue
        if not words:
            start = piece.start()
        end = piece.end()
        words += 1
    return [*found, (start, end)] if words else found


@lru_cache(maxsize=8192)
def _terms_of(text: str) -> tuple[str, ...]:
    return tuple(terms(text))


def _expansions(listed: Sequence[str]) -> list[str]:
    """Terms of the long form of each abbreviation listed, and the abbreviation of each long form."""
    have = set(listed)
    joined = f" {' '.join(listed)} "
    found: list[str] = []
    for short, long in _abbreviations():
        if short in have:
            found += long
        elif f" {' '.join(long)} " in joined:
            found.append(short)
    return found


@cache
def _abbreviations() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Abbreviations and their long forms, as terms."""
    source = resources.files("rag").joinpath("data", "abbreviations.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in source.splitlines() if line and not line.startswith("#"))
    return tuple((terms(short)[0], tuple(terms(long))) for short, long in rows if terms(short))
