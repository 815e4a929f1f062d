"""Is anything near enough to answer from? A calibrated probability, and what is said where it is too low.

What a library cannot answer shows in words: a name that no paper found has, an attribute ("batch size", "licence") that
the best paper never speaks of. What it has nothing on at all shows in the vectors. Both go into one logistic model,
its weights and threshold kept by the embedder's fingerprint (data/calibration.json, made by `eval/calibrate.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rag import calibration
from rag.claims import NameSource, name_source, names, numbers
from rag.evidence import Term, asks_number, question_terms, sentence_vectors
from rag.terms import content, listed, stems, words
from rag.text import split_sentences
from rag.types import AnswerSentence, Evidence, Paper, Question, RankedPaper

if TYPE_CHECKING:
    from rag.embeddings import FloatArray
    from rag.index import Index

# A description of a paper has words of its own that the paper need not have: from this many telling words on the
# threshold is this share of the usual one.
LONG = 9
LONG_SHARE = 0.4
_REFUSES = re.compile(
    r"^\W*(?:(?:sorry|unfortunately)\W+)?(?:"
    r"i (?:do not|don['’]?t|cannot|can['’]?t|am (?:not able|unable)|could not|couldn['’]?t)\b[^.]{0,60}\b"
    r"(?:know|answer|determine|find|say|tell|provide)"
    r"|(?:the )?(?:evidence|abstracts?|papers?|context|text|information|passages?|sources?|sentences?)\b[^.]{0,60}\b"
    r"(?:do(?:es)? not|don['’]?t|doesn['’]?t)\s+(?:explicitly |directly |specifically )?"
    r"(?:contain|state|mention|provide|say|specify|include|give|answer|report|describe|indicate|address|discuss)"
    r"|(?:there is )?no (?:information|evidence|mention|answer|data)\b"
    r"|not (?:stated|mentioned|specified|provided|given|answerable)\b|unknown\b|it is (?:not|un)\s?(?:clear|known|"
    r"stated|specified|mentioned)"
    r"|[^.]{0,120}\b(?:is|are|was|were|has|have)(?: not|n['’]t)\s+(?:been\s+)?(?:explicitly |directly |specifically )?"
    r"(?:specified|stated|mentioned|provided|given|reported|disclosed|included|described|available|discussed)\b"
    r"(?=\s*(?:$|[.,;]|in\b|by\b|within\b|anywhere\b))"
    r"|(?:我)?(?:不知道|无法(?:回答|确定|得知)|没有(?:提到|提及|说明|相关)|(?:证据|摘要|论文|文中)[^。]{0,12}(?:没有|未)(?:提|说|给|包含|说明|提供|提及|提到))"
    r")",
    re.I,
)
# A word that only asks, or speaks of papers in general, is no attribute that a paper must have.
_ASKED = re.compile(
    r"\b(?:what|which|whose|how (?:many|much))\b(?:\s+(?:is|are|was|were)\b)?(?:\s+(?:the|of the)\b)?", re.I
)
_ASKING = listed(
    "mani much mean say tell explain kind type sort thing part role way exampl compar differ relat topic subject name "
    "call exact avail public actual get could use work whi happen first time take need tri possibl go come give "
    "stand build built base state improv kind approach differ stem word find found full short abbrevi mention"
)


@dataclass(frozen=True, slots=True)
class Features:
    """One question in the light of what was found. All 0 to 1 but `margin`.

    `whole` and `sentence` are the best cosines with a paper and with a sentence; `cover_paper`, `cover_sentence` and
    `cover_evidence` the shares of the question's words, by how rare they are in the library, that the best paper, its
    best sentence and the evidence have; `unknown` the share that no paper of the library has; `missing` the weight of
    the heaviest word that the best paper lacks; `strange` 1 where a name of the question is in none of the papers
    found, `anchored` 1 where one is in the best paper; `rest` is `cover_paper` without the names; `asked` the share of
    the words after "which" or "how many" that the best paper lacks; `no_number` 1 where a number is asked and the best
    paper has none of that kind; `relevance` is the search's own estimate; `margin` its lead over the third paper's.
    """

    whole: float
    sentence: float
    cover_paper: float
    cover_sentence: float
    cover_evidence: float
    unknown: float
    missing: float
    strange: float
    anchored: float
    rest: float
    asked: float
    no_number: float
    relevance: float
    margin: float


NAMES = tuple(field.name for field in fields(Features))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to go on; `probability` that the library can answer, `reason` for the user where not."""

    near: bool
    probability: float
    reason: str


def decide(
    asked: Question,
    ranked: Sequence[RankedPaper],
    found: Sequence[Evidence],
    index: Index,
    vector: FloatArray | None = None,
) -> Verdict:
    """Whether the papers found can answer `asked`; `vector` as in `features`."""
    if not ranked or not found:
        return Verdict(False, 0.0, _reason(asked, (), bool(ranked)))
    seen = features(asked, ranked, found, index, vector)
    probability = relevance(seen, index.encoder.fingerprint)
    least = calibration.threshold("refusal", index.encoder.fingerprint).least
    if len(content(asked.search_text)) >= LONG:
        least *= LONG_SHARE
    lacking = () if probability >= least else tuple(missing_names(asked, [hit.paper for hit in ranked]))
    return Verdict(probability >= least, probability, _reason(asked, lacking, True))


def relevance(features: Features, fingerprint: str) -> float:
    """Probability, 0 to 1, that the library can answer; `fingerprint` is the embedder's."""
    return calibration.logistic(calibration.threshold("refusal", fingerprint).weights, astuple(features))


def features(
    asked: Question,
    ranked: Sequence[RankedPaper],
    found: Sequence[Evidence],
    index: Index,
    vector: FloatArray | None = None,
) -> Features:
    """What `relevance` weighs. `ranked` and `found` are not empty; `vector` (d,) is that of the question's
    `search_text`, None embeds it here.
    """
    text = asked.search_text
    terms = {s: term for s, term in question_terms(text, index).items() if s not in _ASKING}
    papers = [hit.paper for hit in ranked[:3]]
    held = [
        stems(f"{paper.title} {paper.abstract} {' '.join(paper.authors)} {paper.venue} {paper.year}")
        for paper in papers
    ]
    best = int(np.argmax([_share(terms, have) for have in held]))
    vector = index.encoder.encode([text])[0] if vector is None else vector
    vectors = sentence_vectors(index, papers)
    sentences = [stems(span.text) for spans, _ in vectors.values() for span in spans]
    whole = index.dense(vector, 1, asked.filters)
    named = [name for name in names(text) if name.sure]
    parts = {word.stem for name in named for word in content(name.text)}
    wanted = asked_for(text)
    return Features(
        whole=whole[0][1] if whole else 0.0,
        sentence=max((float((matrix @ vector).max()) for _, matrix in vectors.values() if len(matrix)), default=0.0),
        cover_paper=_share(terms, held[best]),
        cover_sentence=max((_share(terms, have) for have in sentences), default=0.0),
        cover_evidence=_share(terms, stems(" ".join(piece.span.text for piece in found))),
        unknown=1 - _share(terms, {s for s, term in terms.items() if term.known}),
        missing=max((term.weight for s, term in terms.items() if s not in held[best]), default=0.0),
        strange=float(bool(missing_names(asked, papers))),
        anchored=float(any(_source(papers[best]).has(name) for name in named)),
        rest=_share({s: term for s, term in terms.items() if s not in parts}, held[best], empty=0.7),
        asked=1 - _share({s: terms[s] for s in wanted if s in terms}, held[best], empty=0.7),
        no_number=float(
            asks_number(text) and not _has_number(papers[best], wanted if "how many" in text.casefold() else ())
        ),
        relevance=ranked[0].relevance,
        margin=ranked[0].relevance - ranked[min(2, len(ranked) - 1)].relevance,
    )


def _share(terms: Mapping[str, Term], held: Set[str], empty: float = 0.0) -> float:
    """Share of `terms` by weight that are in `held`; `empty` where there are no terms."""
    total = sum(term.weight for term in terms.values())
    return sum(term.weight for s, term in terms.items() if s in held) / total if total else empty


def asked_for(text: str) -> tuple[str, ...]:
    """Stems of what is asked for: the words after "which", "what" or "how many", up to the next function word."""
    found = _ASKED.search(text)
    if found is None:
        return ()
    taken: list[str] = []
    for word in words(text[found.end() :]):
        if word.weight == 0 or len(taken) == 3:
            if taken:
                break
            continue
        taken.append(word.stem)
    return tuple(taken)


def _has_number(paper: Paper, counted: Sequence[str]) -> bool:
    """Whether the abstract has a number, and near one of the words `counted` where there are any."""
    for span in split_sentences(paper.abstract):
        for number in numbers(span.text):
            after = [word.stem for word in words(span.text) if word.start >= number.start][:9]
            before = [word.stem for word in words(span.text) if word.end <= number.start][-4:]
            if not counted or set(counted) & {*after, *before}:
                return True
    return False


def _source(paper: Paper) -> NameSource:
    return name_source((paper.title, paper.abstract, paper.venue or "", *paper.authors))


def missing_names(asked: Question, papers: Sequence[Paper]) -> list[str]:
    """Names in the question (acronyms, CamelCase, words with digits) that none of `papers` has."""
    source = name_source(f"{paper.title} {paper.abstract} {paper.venue} {' '.join(paper.authors)}" for paper in papers)
    return [name.text for name in names(asked.search_text) if name.sure and not source.has(name)]


def holds(asked: Question, sentences: Sequence[AnswerSentence]) -> bool:
    """Whether what was written answers: something is supported, and a number is there where a number was asked."""
    kept = [sentence for sentence in sentences if sentence.support != "unsupported"]
    if not kept:
        return False
    return not asks_number(asked.standalone) or any(
        numbers(sentence.text) or any(numbers(piece.span.text) for piece in sentence.evidence) for sentence in kept
    )


def is_refusal(text: str) -> bool:
    """Whether a model's sentence says that it cannot answer."""
    return bool(_REFUSES.search(text))


def not_stated(asked: Question) -> str:
    """For the user, where papers were near but nothing in them answered."""
    if asked.language == "zh":
        return f"文库中的摘要没有说明：“{asked.standalone}”。下面是最接近的论文。"
    return (
        f"The abstracts do not say. Looked for: “{asked.search_text}”. "
        "The nearest papers are listed; none of them states it."
    )


def no_match(asked: Question) -> str:
    """For the user, where no paper belongs in a list."""
    if asked.language == "zh":
        return f"文库中没有符合“{asked.standalone}”的论文。"
    return f"No paper in the library matches. Looked for: “{asked.search_text}”{_filtered(asked)}."


def _reason(asked: Question, lacking: Sequence[str], found: bool) -> str:
    if asked.language == "zh":
        return f"文库中没有找到可以回答“{asked.standalone}”的论文。下面是最接近的论文。"
    named = f" No paper found names {' or '.join(lacking)}." if lacking else ""
    looked = f"The library does not hold an answer. Looked for: “{asked.search_text}”{_filtered(asked)}.{named}"
    if not found:
        return f"{looked} No paper passes the filters; take them off to search all." if asked.filters else looked
    return f"{looked} The nearest papers are listed."


def _filtered(asked: Question) -> str:
    years = (asked.filters.year_from, asked.filters.year_to)
    parts = [asked.filters.venue] if asked.filters.venue else []
    if years != (None, None):
        low, high = years
        parts.append(str(low) if low == high else f"{low or '…'} to {high or '…'}")
    return f" ({', '.join(parts)})" if parts else ""
