"""Answers put together without the model: from evidence sentences, word for word, and the text of checked sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answering.evidence import asks_number, decisive
from rag.types import AnswerSentence, Evidence, Paper, Question, RankedPaper

QUOTED = 3
_END = re.compile(r"(?P<end>[.!?。！？]+)$")
_EXPLAIN = re.compile(
    r"^\W*(?:how (?:do|does|did|is|are|can)|why|explain|describe|tell me|what (?:is|are|does|do|problem|makes?))\b|"
    r"如何|怎[么样]|为什么|为何|什么是|是什么|解释|介绍",
    re.I,
)
# A second paper is worth naming for a which-question when it is about as relevant as the first.
_AS_RELEVANT = 0.85


def text_of(sentences: Sequence[AnswerSentence]) -> str:
    """Markdown of the sentences, each with its citation numbers before its closing mark: `It is fast [1][2].`"""
    return " ".join(cited(sentence) for sentence in sentences)


def cited(sentence: AnswerSentence) -> str:
    """One sentence with its citation numbers."""
    if not sentence.citations:
        return sentence.text
    marks = "".join(f"[{n}]" for n in sentence.citations)
    text, ends = _END.subn(lambda end: f" {marks}{end['end']}", sentence.text)
    return text if ends else f"{sentence.text} {marks}"


def from_evidence(
    asked: Question, ranked: Sequence[RankedPaper], evidence: Sequence[Evidence]
) -> tuple[AnswerSentence, ...]:
    """The answer to `asked` made of evidence alone: for a which-question the paper and why, else the sentences.

    `evidence` is in order of importance, its `n` a rank in `ranked`.
    """
    by_rank = {hit.rank: hit for hit in ranked}
    if asked.kind == "which":
        first = by_rank[evidence[0].n]
        near = [hit for hit in ranked if hit.rank == first.rank or hit.relevance >= first.relevance * _AS_RELEVANT]
        near.sort(key=lambda hit: (hit.rank != first.rank, hit.rank))
        return tuple(_named(hit, evidence) for hit in near[:QUOTED])
    if asked.kind == "compare":
        chosen = _first_of_each(evidence)
    else:
        best = evidence[0].n
        chosen = [piece for piece in evidence if piece.n == best][: QUOTED - 1] or list(evidence[:1])
    return tuple(_plain(piece) for piece in chosen)


def instead(asked: Question, evidence: Sequence[Evidence]) -> tuple[AnswerSentence, ...]:
    """What stands where nothing that the model wrote held: the decisive sentence, in quotation marks.

    Where something is to be explained, the next best of the same paper follows.
    """
    if asked.kind == "compare":
        return tuple(_quoted(piece) for piece in _first_of_each(evidence))
    best = decisive(asked, evidence)
    if best is None:
        return ()
    more = [piece for piece in evidence if piece.n == best.n and piece.span != best.span]
    explained = not asks_number(asked.search_text) and any(map(_EXPLAIN.search, (asked.search_text, asked.standalone)))
    return tuple(_quoted(piece) for piece in [best, *(more[:1] if explained else [])])


def correction(asked: Question, piece: Evidence) -> AnswerSentence:
    """What is said to a question that takes for granted what `piece` contradicts."""
    opening = "摘要的说法不同：" if asked.language == "zh" else "The abstract says otherwise: "
    text = f"{opening}“{piece.span.text}”"
    return AnswerSentence(text, (piece.n,), "supported", (piece,))


def _first_of_each(evidence: Sequence[Evidence]) -> list[Evidence]:
    first: dict[int, Evidence] = {}
    for piece in evidence:
        first.setdefault(piece.n, piece)
    return list(first.values())[:4]


def _named(hit: RankedPaper, evidence: Sequence[Evidence]) -> AnswerSentence:
    own = next((piece for piece in evidence if piece.n == hit.rank), None)
    span = own.span if own else hit.quote
    piece = own or Evidence(hit.rank, hit.paper.paper_id, span, hit.score)
    return AnswerSentence(f"{name(hit.paper)}: “{span.text}”", (hit.rank,), "supported", (piece,))


def name(paper: Paper) -> str:
    """The paper as a sentence names it: title, and venue and year where known."""
    return f"{paper.title} ({paper.where})" if paper.where else paper.title


def _plain(piece: Evidence) -> AnswerSentence:
    return AnswerSentence(piece.span.text, (piece.n,), "supported", (piece,))


def _quoted(piece: Evidence) -> AnswerSentence:
    return AnswerSentence(f"“{piece.span.text}”", (piece.n,), "supported", (piece,))
