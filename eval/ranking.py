"""Retrieval metrics, computed by trec_eval itself (through pytrec_eval)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.resolve import Gold

DEPTH = 20  # papers ranked for each question: the deepest that a metric looks
CUTOFFS = (1, 3, 5, 10, 20)
NAMES = (*(f"recall@{k}" for k in CUTOFFS), "mrr", "ndcg@10")
_MEASURES = {
    **{f"recall_{k}": f"recall@{k}" for k in CUTOFFS},
    "recip_rank": "mrr",
    "ndcg_cut_10": "ndcg@10",
}


def score_rankings(
    golds: Mapping[str, Sequence[Gold]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Question id -> metric -> value, for the questions that have relevant papers.

    `rankings` holds paper ids, best first; a question without one, or with an empty one, scores 0. trec_eval sorts by
    score and breaks ties by name, so each rank is handed over as a score of its own: the order given is the order
    judged. A relevant paper that is not in the library is one that no ranking can hold.
    """
    import pytrec_eval

    judged = {question: papers for question, papers in golds.items() if papers}
    scores = {question: dict.fromkeys(NAMES, 0.0) for question in judged}
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for question, papers in judged.items():
        ranking = list(dict.fromkeys(rankings.get(question, ())))[:DEPTH]
        if not ranking:
            continue  # trec_eval leaves a question without results out of its answer; here it keeps its 0
        # Ids may hold spaces or any script; trec_eval is written in C and sees a plain number for each.
        names = {paper_id: f"paper{place}" for place, paper_id in enumerate(ranking)}
        qrels[question] = {
            names.get(paper.paper_id or "", f"elsewhere{place}"): paper.grade for place, paper in enumerate(papers)
        }
        run[question] = {name: float(DEPTH - place) for place, name in enumerate(names.values())}
    if run:
        cutoffs = ",".join(map(str, CUTOFFS))
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"recall.{cutoffs}", "recip_rank", "ndcg_cut.10"})
        for question, values in evaluator.evaluate(run).items():
            scores[question] = {name: float(values[measure]) for measure, name in _MEASURES.items()}
    return scores
