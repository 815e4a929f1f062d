"""The metrics by name, the values of every question, and the figures over all of them.

Definitions with formulas and sources are in docs/evaluation.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from eval import ranking
from eval.answers import Verdict, failed_scores, score_answer, verdict
from eval.resolve import Finder, Gold
from eval.sets import Item
from eval.stats import Estimate, auroc, bootstrap_mean, bootstrap_median

Group = Literal["retrieval", "answer", "citations", "refusal", "latency", "judge"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: `higher` says whether more is better, `unit` is empty for shares and `ms` for latencies."""

    name: str
    title: str
    group: Group
    higher: bool = True
    unit: str = ""


METRICS: tuple[Metric, ...] = (
    *(Metric(f"recall@{k}", f"Recall in the first {k}", "retrieval") for k in ranking.CUTOFFS),
    Metric("mrr", "Reciprocal rank", "retrieval"),
    Metric("ndcg@10", "nDCG in the first 10", "retrieval"),
    Metric("fact_recall", "Facts stated", "answer"),
    Metric("forbidden_hits", "Answers with a forbidden string", "answer", higher=False),
    Metric("citation_precision", "Cited papers that are relevant", "citations"),
    Metric("citation_recall", "Relevant papers that are cited", "citations"),
    Metric("support_precision", "Citations that carry evidence", "citations"),
    Metric("support_recall", "Sentences supported by their citations", "citations"),
    Metric("unsupported_sentences", "Unsupported sentences", "citations", higher=False),
    Metric("fabricated_citations", "Citations that do not hold", "citations", higher=False),
    Metric("abstain_precision", "Refusals that are right", "refusal"),
    Metric("abstain_recall", "Unanswerable questions refused", "refusal"),
    Metric("abstain_auroc", "Answerable told from unanswerable (AUROC)", "refusal"),
    Metric("judge_correct", "Judged correct by a model", "judge"),
    Metric("judge_unparsable", "Verdicts of the model that cannot be read", "judge", higher=False),
    Metric("latency_first_source_ms", "Time to the first source", "latency", higher=False, unit="ms"),
    Metric("latency_first_token_ms", "Time to the first word", "latency", higher=False, unit="ms"),
    Metric("latency_total_ms", "Time to the whole answer", "latency", higher=False, unit="ms"),
)
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run got for one question. Exactly one of `answer` (an Answer object, a partial one in a retrieval-only
    run) and `error` is set. `ranking` holds paper ids, best first; `relevance` is the first one's calibrated
    probability of bearing on the question, None where nothing was found. `seconds` is the time it took.
    `judged` is the model's verdict: None where no model was asked.
    """

    id: str
    answer: Mapping[str, Any] | None
    error: str | None = None
    ranking: tuple[str, ...] = ()
    relevance: float | None = None
    seconds: float = 0.0
    judged: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """One question of a run with everything known of it. `scores` lacks the metrics that it does not enter."""

    item: Item
    outcome: Outcome
    golds: tuple[Gold, ...]
    scores: Mapping[str, float] = field(hash=False)
    verdict: Verdict


def score(
    items: Sequence[Item],
    golds: Mapping[str, tuple[Gold, ...]],
    outcomes: Mapping[str, Outcome],
    index: Finder,
    *,
    retrieval_only: bool,
) -> tuple[Scored, ...]:
    """Every question with its values, in the order of `items`."""
    ranked = ranking.score_rankings(golds, {name: outcome.ranking for name, outcome in outcomes.items()})
    rows: list[Scored] = []
    for item in items:
        outcome, relevant = outcomes[item.id], golds[item.id]
        scores = dict(ranked.get(item.id, {}))
        if retrieval_only:
            found: Verdict = _retrieval_verdict(relevant, outcome)
            scores |= _latencies(outcome)
        else:
            found = verdict(item, relevant, outcome.answer)
            if outcome.answer is not None:
                scores |= score_answer(item, relevant, outcome.answer, index)
        if outcome.judged is not None:
            scores["judge_correct"] = float(outcome.judged == "correct")
            scores["judge_unparsable"] = float(outcome.judged == "unparsable")
        rows.append(Scored(item, outcome, relevant, scores, found))
    slowest = _slowest(rows)
    return tuple(
        row if row.outcome.error is None else _failed(row, slowest, retrieval_only=retrieval_only) for row in rows
    )


def summarise(rows: Sequence[Scored], seed: int = 0) -> dict[str, Estimate]:
    """Metric -> figure over the questions that enter it; every metric has one, with n = 0 where none enters."""
    summary: dict[str, Estimate] = {}
    for metric in METRICS:
        if metric.name == "abstain_auroc":
            # A question that failed counts as one that was placed wholly wrong.
            placed = [
                (float(not row.item.answerable) if row.outcome.error is not None else row.outcome.relevance or 0.0, row)
                for row in rows
            ]
            summary[metric.name] = auroc([at for at, _ in placed], [row.item.answerable for _, row in placed], seed)
            continue
        values = [row.scores[metric.name] for row in rows if metric.name in row.scores]
        estimate: Callable[[Sequence[float], int], Estimate]
        estimate = bootstrap_median if metric.unit == "ms" else bootstrap_mean
        summary[metric.name] = estimate(values, seed)
    return summary


def summarise_kinds(rows: Sequence[Scored], seed: int = 0) -> dict[str, dict[str, Estimate]]:
    """Kind -> metric -> figure, kinds in order of first use."""
    kinds = dict.fromkeys(row.item.kind for row in rows)
    return {kind: summarise([row for row in rows if row.item.kind == kind], seed) for kind in kinds}


def coverage_curve(rows: Sequence[Scored]) -> list[tuple[float, float]]:
    """(coverage, accuracy) when only the questions with the highest relevance were answered, from strict to all.

    A question counts as right when a relevant paper is among the first five; an unanswerable one never is. Questions
    without relevant papers that are answerable say nothing here. Questions of equal relevance enter together.
    R. El-Yaniv and Y. Wiener, Journal of Machine Learning Research 11 (2010).
    """
    known = [
        (row.outcome.relevance or 0.0, bool(row.golds) and row.scores.get("recall@5", 0.0) > 0)
        for row in rows
        if row.golds or not row.item.answerable
    ]
    known.sort(key=lambda pair: -pair[0])
    curve: list[tuple[float, float]] = []
    right = 0
    for place, (relevance, hit) in enumerate(known, start=1):
        right += hit
        if place == len(known) or known[place][0] != relevance:
            curve.append((place / len(known), right / place))
    return curve


def _retrieval_verdict(golds: Sequence[Gold], outcome: Outcome) -> Verdict:
    if outcome.error is not None:
        return "failed"
    if not golds:
        return "not judged"
    first = set(outcome.ranking[:5])
    held = sum(gold.paper_id in first for gold in golds)
    return "right" if held == len(golds) else "partly right" if held else "wrong"


def _latencies(outcome: Outcome) -> dict[str, float]:
    timings = (outcome.answer or {}).get("timings_ms", {})
    return {f"latency_{name}_ms": float(timings[name]) for name in ("first_source", "total") if timings.get(name)}


def _slowest(rows: Sequence[Scored]) -> dict[str, float]:
    """Per latency the slowest value of the run: what a failed question counts as, if it took no longer itself."""
    names = [metric.name for metric in METRICS if metric.unit == "ms"]
    found = {name: [row.scores[name] for row in rows if name in row.scores] for name in names}
    return {name: max(values) for name, values in found.items() if values}


def _failed(row: Scored, slowest: Mapping[str, float], *, retrieval_only: bool) -> Scored:
    own = row.outcome.seconds * 1000
    late = {name: max(value, own) for name, value in slowest.items()} or {"latency_total_ms": own}
    scores = dict(row.scores) | (late if retrieval_only else failed_scores(row.item, row.golds, late))
    return Scored(row.item, row.outcome, row.golds, scores, row.verdict)
