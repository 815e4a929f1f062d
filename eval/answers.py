"""What is measured of one answer, from the Answer object as `ask --json` prints it.

Working from that object, and not from values in memory, means that a finished run can be scored again and that what is
scored is what a user gets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from eval.resolve import Finder, Gold
from eval.sets import Item

AnswerJson = Mapping[str, Any]
Verdict = Literal[
    "right", "partly right", "wrong", "rightly refused", "wrongly refused", "wrongly answered", "not judged", "failed"
]
VERDICTS: tuple[Verdict, ...] = (
    "right",
    "partly right",
    "wrong",
    "rightly refused",
    "wrongly refused",
    "wrongly answered",
    "not judged",
    "failed",
)
_MARK = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")


def normalised(text: str) -> str:
    """Without case, every run of white space one space."""
    return " ".join(text.casefold().split())


def found_facts(item: Item, answer: AnswerJson) -> list[bool]:
    """Per fact group: whether one of its strings is in the answer. A refusal states no fact."""
    if refused(answer):
        return [False] * len(item.facts)
    text = normalised(str(answer["answer"]))
    return [any(normalised(fact) in text for fact in group) for group in item.facts]


def found_forbidden(item: Item, answer: AnswerJson) -> list[str]:
    """The forbidden strings that are in the answer."""
    text = normalised(str(answer["answer"]))
    return [phrase for phrase in item.forbidden if normalised(phrase) in text]


def refused(answer: AnswerJson) -> bool:
    return bool(answer["status"] == "abstained")


def cited_papers(answer: AnswerJson) -> tuple[str, ...]:
    """Ids of the cited papers, each once."""
    return tuple(dict.fromkeys(str(citation["paper_id"]) for citation in answer["citations"]))


def fabricated(answer: AnswerJson, index: Finder) -> tuple[list[int], int]:
    """The citation numbers that do not hold, and how many numbers the answer uses.

    A number holds when it is listed once, its paper is in the library and was retrieved for this question, its quote is
    in that paper's abstract or title, and each piece of evidence under it is `abstract[start:end]`.
    """
    listed: dict[int, list[Mapping[str, Any]]] = {}
    for citation in answer["citations"]:
        listed.setdefault(int(citation["n"]), []).append(citation)
    used = set(listed)
    evidence: dict[int, list[Mapping[str, Any]]] = {}
    for sentence in answer["sentences"]:
        used.update(int(n) for n in sentence["citations"])
        for piece in sentence["evidence"]:
            evidence.setdefault(int(piece["n"]), []).append(piece)
    used.update(evidence)
    used.update(int(n) for mark in _MARK.findall(str(answer["answer"])) for n in mark.split(","))
    # A list is made by a scan of the library: what it found stands in `matches`.
    found = [*answer["passages"], *(answer.get("matches") or ())]
    retrieved = {str(passage["paper_id"]) for passage in found}
    bad = []
    for n in sorted(used):
        entries = listed.get(n, [])
        known = len(entries) == 1 and str(entries[0]["paper_id"]) in retrieved
        if not known or not _resolves(entries[0], evidence.get(n, []), index):
            bad.append(n)
    return bad, len(used)


def _resolves(citation: Mapping[str, Any], pieces: Sequence[Mapping[str, Any]], index: Finder) -> bool:
    paper = index.find(str(citation["paper_id"]))
    if paper is None:
        return False
    quote = str(citation.get("quote") or "")
    if quote not in paper.abstract and quote not in paper.title:
        return False
    # A slice that reaches past the end still matches: the length must be compared too.
    return all(
        0 <= piece["start"] < piece["end"] <= len(paper.abstract)
        and paper.abstract[piece["start"] : piece["end"]] == piece["text"]
        for piece in pieces
    )


def support(answer: AnswerJson) -> tuple[float, float | None]:
    """Support recall and precision of an answer, after ALCE (T. Gao et al., EMNLP 2023) with this program's verifier.

    Recall: share of sentences that are supported by what they cite. Precision: share of (sentence, citation) pairs
    where the sentence is supported and the cited paper carries evidence for it; None where nothing is cited.
    """
    sentences = answer["sentences"]
    if not sentences:
        return 0.0, None
    backed, pairs, precise = 0, 0, 0
    for sentence in sentences:
        supported = sentence["support"] == "supported"
        backed += supported and bool(sentence["citations"])
        with_evidence = {piece["n"] for piece in sentence["evidence"]}
        for n in set(sentence["citations"]):
            pairs += 1
            precise += supported and n in with_evidence
    return backed / len(sentences), precise / pairs if pairs else None


def score_answer(item: Item, golds: Sequence[Gold], answer: AnswerJson, index: Finder) -> dict[str, float]:
    """Metric -> value for one answered or refused question; a metric that has nothing to say of it is left out."""
    scores: dict[str, float] = {}
    abstained = refused(answer)
    if item.facts:
        scores["fact_recall"] = sum(found_facts(item, answer)) / len(item.facts)
    if item.forbidden:
        scores["forbidden_hits"] = float(bool(found_forbidden(item, answer)))
    if golds:
        cited = cited_papers(answer)
        right = {gold.paper_id for gold in golds if gold.paper_id is not None} & set(cited)
        scores["citation_precision"] = len(right) / len(cited) if cited else 0.0
        scores["citation_recall"] = len(right) / len(golds)
    if abstained:
        scores["abstain_precision"] = float(not item.answerable)
    if not item.answerable:
        scores["abstain_recall"] = float(abstained)
    bad, used = fabricated(answer, index)
    if used or not abstained:
        scores["fabricated_citations"] = len(bad) / used if used else 0.0
    if not abstained:
        scores["support_recall"], precision = support(answer)
        if precision is not None:
            scores["support_precision"] = precision
        sentences = answer["sentences"]
        if sentences:
            scores["unsupported_sentences"] = sum(s["support"] == "unsupported" for s in sentences) / len(sentences)
    for name in ("first_source", "first_token", "total"):
        if (milliseconds := answer["timings_ms"].get(name)) is not None:
            scores[f"latency_{name}_ms"] = float(milliseconds)
    return scores


def failed_scores(item: Item, golds: Sequence[Gold], slowest: Mapping[str, float]) -> dict[str, float]:
    """The worst value of every metric that a question enters or could have entered, for one that failed.

    `slowest` gives what stands for the latencies, which have no worst value.
    """
    scores = {"abstain_precision": 0.0, "fabricated_citations": 1.0, "unsupported_sentences": 1.0}
    scores |= {"support_recall": 0.0, "support_precision": 0.0}
    if item.facts:
        scores["fact_recall"] = 0.0
    if item.forbidden:
        scores["forbidden_hits"] = 1.0
    if golds:
        scores |= {"citation_precision": 0.0, "citation_recall": 0.0}
    if not item.answerable:
        scores["abstain_recall"] = 0.0
    return scores | dict(slowest)


def verdict(item: Item, golds: Sequence[Gold], answer: AnswerJson | None) -> Verdict:
    """One word on a question, for people to filter by; None stands for a question that failed.

    An answer is judged by its facts and forbidden strings where the set gives any, else by whether it cites a relevant
    paper: all of them (right), some (partly right), none (wrong).
    """
    if answer is None:
        return "failed"
    if refused(answer):
        return "wrongly refused" if item.answerable else "rightly refused"
    if not item.answerable:
        return "wrongly answered"
    if item.forbidden and found_forbidden(item, answer):
        return "wrong"
    if item.facts:
        facts = found_facts(item, answer)
        return "right" if all(facts) else "partly right" if any(facts) else "wrong"
    if golds:
        held = {gold.paper_id for gold in golds} & set(cited_papers(answer))
        return "right" if len(held) == len(golds) else "partly right" if held else "wrong"
    return "not judged"
