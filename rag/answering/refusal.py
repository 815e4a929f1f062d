"""Is anything near enough to answer from? A calibrated probability, and what is said where it is too low.

What a library cannot answer shows in words: a name that no paper found has, a word of which the best paper never
speaks, a detail that abstracts seldom give (see `details`). What it has nothing on at all shows in the vectors. The
details are settled by rule; the rest goes into one logistic model, its weights and threshold kept by the embedder's
fingerprint (data/calibration.json, made by `eval/calibrate.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from rag.answering import calibration, details
from rag.answering.claims import NameSource, name_source, names, numbers
from rag.answering.evidence import Term, asks_number, question_terms, sentence_vectors
from rag.question.language import ENGLISH
from rag.question.translate import lost
from rag.search.owning import DESCRIBES, called, owned
from rag.texts.terms import content, listed, stem, stems
from rag.types import AnswerSentence, Evidence, Paper, Question, RankedPaper

if TYPE_CHECKING:
    from rag.models.embeddings import FloatArray
    from rag.store.index import Index

# What is left of the probability where the best paper does not speak of a detail that is asked for.
UNTOLD_SHARE = 0.25
# Cosine with a sentence under which an abstract does not speak of what a question ends with, where it has none of its
# words: of the questions over the seed lists and the sample that name a paper it takes 8 of 13 that have no answer, and
# none of the others.
NEAR_ENOUGH = 0.2
# Weight of words taken for lacking in every question, so that one shared word is not yet everything.
_PRIOR = 0.3
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
_THAN = re.compile(r"\b(?:\w+er|more|less|worse) (?:\w+ )?than\b|\b(?:outperforms?|beats?)\b", re.I)
_AT_THE_END = re.compile(
    r"\b(?:at|for|on|about|with|in|against|during|across|under)\s+(?P<what>(?:[\w’'-]+\s?){1,5})\W*$", re.I
)
_IN_GENERAL = frozenset(map(stem, listed("once all general practice detail short fact particular total training")))
# A word that only asks, or speaks of papers in general, is no attribute that a paper must have.
_ASKING = listed(
    "mani much mean say tell explain kind type sort thing part role way exampl compar differ relat topic subject name "
    "call exact avail public actual get could use work whi happen first time take need tri possibl go come give "
    "problem solv address tackl issu purpos goal idea good benefit motiv "
    "stand build built base state improv kind approach differ stem word find found full short abbrevi mention"
)


@dataclass(frozen=True, slots=True)
class Features:
    """One question in the light of the best paper found, the one that has most of its words. All 0 to 1.

    `sentence` is the best cosine with a sentence of the first three papers; `cover` the share of the question's words,
    by how rare they are in the library, that the best paper has, `rest` the same without the names it has; in another
    language both shrink by what was lost in translation. `anchored` is 1 where a name of the question is in the best
    paper, `strange` 1 where one is in none of those found; `relevance` is the search's own estimate where no name
    anchors the question; `length` grows with the question's telling words.
    """

    sentence: float
    cover: float
    rest: float
    anchored: float
    strange: float
    relevance: float
    length: float


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
    paper = best_paper(asked, ranked, index)
    hidden = untold(asked, paper, [hit.paper for hit in ranked[:3]]) or _beside(asked, paper, index)
    probability = relevance(features(asked, ranked, index, vector), index.encoder.fingerprint)
    if hidden is not None:
        probability *= UNTOLD_SHARE
    least = calibration.threshold("refusal", index.encoder.fingerprint).least
    # Words that a glossary gives for one that has several meanings are missing from any paper; the name is what tells.
    if hidden is None and asked.language != ENGLISH and owned(paper, asked.search_text):
        probability = max(probability, least)
    if probability >= least:
        return Verdict(True, probability, "")
    lacking = missing_names(asked, [hit.paper for hit in ranked])
    return Verdict(False, probability, _reason(asked, lacking, True, hidden if not lacking else None))


def untold(asked: Question, paper: Paper, found: Sequence[Paper]) -> str | None:
    """The words that ask for what `paper` does not give: a detail, or its use of something of which none of the papers
    `found` has the name.

    None where nothing does: a description of a paper that is looked for asks for no detail.
    """
    text = asked.search_text
    if asked.kind == "which" or len(content(text)) >= DESCRIBES:
        return None
    if asked.kind != "compare" and _said(text, paper):
        # What is said to be better or worse than another is told where one paper has both.
        lacking = [name for name in missing_names(asked, [paper] if _THAN.search(text) else found) if len(name) > 2]
        if lacking:
            return lacking[0]
        if (proper := _proper_name_lacking(text, paper)) is not None:
            return proper
    return details.untold(text, paper)


def _beside(asked: Question, paper: Paper, index: Index) -> str | None:
    """What a question that names `paper` ends with ("at chess"), where the abstract has none of its words and no
    sentence near them; None where it speaks of it, or the question ends with nothing of the kind.
    """
    text = asked.search_text
    found = _AT_THE_END.search(text)
    if found is None or asked.kind != "fact" or not _said(text, paper):
        return None
    telling = [word for word in content(found["what"]) if word.weight == 1.0 and word.stem not in _ASKING | _IN_GENERAL]
    held = _held(paper)
    if not telling or any(word.stem in held for word in telling):
        return None
    _, sentences = sentence_vectors(index, [paper])[paper.paper_id]
    nearest = float((sentences @ index.encoder.encode([found["what"]])[0]).max()) if len(sentences) else 0.0
    return found.group().strip(" ?.!") if nearest < NEAR_ENOUGH else None


def _said(text: str, paper: Paper) -> list[str]:
    """The names in `text` that `paper` has, and what `text` calls it by; empty where the question does not name it."""
    source = _source(paper)
    return [name for name in (called(paper, text), *(n.text for n in names(text) if n.sure and source.has(n))) if name]


def _proper_name_lacking(text: str, paper: Paper) -> str | None:
    """A capitalised word within the question, a maker or a model, of which `paper` never speaks.

    Where most words are capitalised, as in titles, that tells nothing.
    """
    telling = content(text)
    if 2 * sum(word.text[:1].isupper() for word in telling) > len(telling) + 1:
        return None
    held = _held(paper)
    proper = [name for name in names(text) if not name.sure and name.text.isascii()]
    return next((name.text for name in proper if not stems(name.text) & held), None)


def relevance(features: Features, fingerprint: str) -> float:
    """Probability, 0 to 1, that the library can answer; `fingerprint` is the embedder's."""
    return calibration.logistic(calibration.threshold("refusal", fingerprint).weights, astuple(features))


def best_paper(asked: Question, ranked: Sequence[RankedPaper], index: Index) -> Paper:
    """Of the first three papers, the one that has most of the question's words; `ranked` is not empty.

    A paper whose name the question says goes before those that only have more of its words.
    """
    terms = _terms(asked, index)
    first = [hit.paper for hit in ranked[:3]]
    own = [paper for paper in first if owned(paper, asked.search_text)]
    return max(own or first, key=lambda paper: _share(terms, _held(paper)))


def features(
    asked: Question, ranked: Sequence[RankedPaper], index: Index, vector: FloatArray | None = None
) -> Features:
    """What `relevance` weighs. `ranked` is not empty; `vector` (d,) is that of the question's `search_text`, None
    embeds it here.
    """
    text = asked.search_text
    terms = _terms(asked, index)
    papers = [hit.paper for hit in ranked[:3]]
    best = best_paper(asked, ranked, index)
    held = _held(best)
    vector = index.encoder.encode([text])[0] if vector is None else vector
    vectors = sentence_vectors(index, papers)
    said = _said(text, best)
    parts = {word.stem for name in said for word in content(name)}
    others = {s: term for s, term in terms.items() if s not in parts}
    kept = 1 - lost(asked.standalone) if asked.language == "zh" else 1.0
    return Features(
        sentence=max((float((matrix @ vector).max()) for _, matrix in vectors.values() if len(matrix)), default=0.0),
        cover=kept * _share(terms, held),
        rest=kept * _share(others, held) if others else 0.5,
        anchored=float(bool(said)),
        strange=float(bool(missing_names(asked, papers))),
        relevance=0.0 if said else ranked[0].relevance,
        length=min(DESCRIBES, len(content(text))) / DESCRIBES,
    )


def _terms(asked: Question, index: Index) -> dict[str, Term]:
    return {s: term for s, term in question_terms(asked.search_text, index).items() if s not in _ASKING}


def _held(paper: Paper) -> frozenset[str]:
    return stems(f"{paper.title} {paper.abstract} {' '.join(paper.authors)} {paper.venue} {paper.year}")


def _share(terms: Mapping[str, Term], held: Set[str]) -> float:
    """Share of `terms` by weight that are in `held`, `_PRIOR` taken for lacking."""
    return sum(term.weight for s, term in terms.items() if s in held) / (
        sum(term.weight for term in terms.values()) + _PRIOR
    )


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


def _reason(asked: Question, lacking: Sequence[str], found: bool, hidden: str | None = None) -> str:
    if asked.language == "zh":
        return f"文库中没有找到可以回答“{asked.standalone}”的论文。下面是最接近的论文。"
    named = f" No paper found names {' or '.join(lacking)}." if lacking else ""
    if hidden is not None:
        named = f" The nearest abstract says nothing that answers “{hidden}”."
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
