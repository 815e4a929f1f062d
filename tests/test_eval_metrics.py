"""Metrics: five questions worked by hand, and retrieval against ir_measures and ranx on random runs."""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Any

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.answers import fabricated, found_facts, score_answer, support, verdict
from eval.metrics import METRICS, Outcome, Scored, coverage_curve, score, summarise, summarise_kinds
from eval.ranking import score_rankings
from eval.resolve import Gold, resolve
from eval.sets import Item
from rag.answer_json import to_json
from rag.types import Question
from tests.fakes_eval import FakeIndex, make_answer

INDEX = FakeIndex()
PAPERS = INDEX.papers
QUESTION = Question("q", "q", "q")


def answer(passages: list[int], cited: list[int], text: str = "It is cheap.") -> dict[str, Any]:
    return to_json(make_answer(QUESTION, [PAPERS[n] for n in passages], [PAPERS[n] for n in cited], text))


# Five questions by hand: found first and cited; found third beside another; missed; refused rightly; failed.
ITEMS = (
    Item("one", "q", "a", relevant=("p0",), facts=(("cheap", "dear"), ("cold",)), forbidden=("dear",)),
    Item("two", "q", "a", relevant=("p1", "p2"), facts=(("CHEAP.",),)),
    Item("three", "q", "b", relevant=("not there",), facts=(("x",),)),
    Item("four", "q", "b", answerable=False),
    Item("five", "q", "b", relevant=("p3",), facts=(("x",),), forbidden=("y",)),
)
OUTCOMES = {
    "one": Outcome("one", answer([0, 5], [0]), ranking=("p0", "p5"), relevance=0.9),
    "two": Outcome("two", answer([7, 8, 1], [1, 7]), ranking=("p7", "p8", "p1"), relevance=0.8),
    "three": Outcome("three", answer([4], [4]), ranking=("p4",), relevance=0.7),
    "four": Outcome("four", answer([6], []), ranking=("p6",), relevance=0.1),
    "five": Outcome("five", None, error="RuntimeError: no", seconds=2.0),
}


def scored() -> tuple[Scored, ...]:
    golds, _ = resolve(ITEMS, INDEX)
    return score(ITEMS, golds, OUTCOMES, INDEX, retrieval_only=False)


@pytest.mark.parametrize(
    ("name", "value", "n"),
    [
        ("recall@1", (1 + 0 + 0 + 0) / 4, 4),
        ("recall@3", (1 + 1 / 2 + 0 + 0) / 4, 4),
        ("recall@20", (1 + 1 / 2 + 0 + 0) / 4, 4),
        ("mrr", (1 + 1 / 3 + 0 + 0) / 4, 4),
        ("ndcg@10", (1 + (1 / log2(4)) / (1 + 1 / log2(3)) + 0 + 0) / 4, 4),
        ("fact_recall", (1 / 2 + 1 + 0 + 0) / 4, 4),
        ("forbidden_hits", (0 + 1) / 2, 2),
        ("citation_precision", (1 + 1 / 2 + 0 + 0) / 4, 4),
        ("citation_recall", (1 + 1 / 2 + 0 + 0) / 4, 4),
        ("support_recall", (1 + 1 + 1 + 0) / 4, 4),
        ("support_precision", (1 + 1 + 1 + 0) / 4, 4),
        ("unsupported_sentences", (0 + 0 + 0 + 1) / 4, 4),
        ("fabricated_citations", (0 + 0 + 0 + 1) / 4, 4),
        ("abstain_precision", (1 + 0) / 2, 2),
        ("abstain_recall", 1.0, 1),
        # answerable .9 .8 .7 and the failed one at 0, unanswerable .1: three of four pairs are in order
        ("abstain_auroc", 3 / 4, 5),
        ("latency_total_ms", 10.0, 5),
        ("latency_first_token_ms", 4.0, 5),
    ],
)
def test_five_questions_by_hand(name: str, value: float, n: int) -> None:
    found = summarise(scored())[name]
    assert found.value == pytest.approx(value)
    assert found.n == n


def test_a_failed_question_counts_as_slow_as_it_was() -> None:
    assert scored()[4].scores["latency_total_ms"] == 2000.0


def test_every_metric_is_there_and_kinds_stand_apart() -> None:
    by_kind = summarise_kinds(scored())
    assert list(by_kind) == ["a", "b"]
    assert set(by_kind["a"]) == {metric.name for metric in METRICS}
    assert by_kind["a"]["abstain_recall"].as_json() == {"value": None, "low": None, "high": None, "n": 0}
    assert by_kind["b"]["recall@1"].n == 2


def test_verdicts() -> None:
    assert [row.verdict for row in scored()] == ["partly right", "right", "wrong", "rightly refused", "failed"]
    golds = (Gold("p1", "p1"), Gold("p2", "p2"))
    plain = Item("x", "q", relevant=("p1", "p2"))
    assert verdict(plain, golds, answer([1, 2], [1, 2])) == "right"
    assert verdict(plain, golds, answer([1, 2], [1])) == "partly right"
    assert verdict(plain, golds, answer([1, 2], [])) == "wrongly refused"
    assert verdict(Item("x", "q", answerable=False), (), answer([1], [1])) == "wrongly answered"
    assert verdict(Item("x", "q"), (), answer([1], [1])) == "not judged"
    assert verdict(Item("x", "q", facts=(("cheap",),), forbidden=("is  CHEAP",)), (), answer([1], [1])) == "wrong"


def test_refusals_earn_nothing_where_there_is_an_answer() -> None:
    item = Item("x", "q", relevant=("p1",), facts=(("papers",),))
    scores = score_answer(item, (Gold("p1", "p1"),), answer([1], []), INDEX)
    assert scores["citation_precision"] == scores["citation_recall"] == scores["fact_recall"] == 0.0
    assert scores["abstain_precision"] == 0.0
    assert "unsupported_sentences" not in scores  # it claims nothing


def test_facts_are_found_without_case_and_across_white_space() -> None:
    item = Item("x", "q", facts=(("Très\u00a0 CHER",), ("nope",)))
    assert found_facts(item, answer([1], [1], "C'est très\n cher.")) == [True, False]


def changed(**changes: Any) -> dict[str, Any]:
    return {**answer([1, 2], [1, 2]), **changes}


@pytest.mark.parametrize(
    ("given_answer", "bad"),
    [
        (answer([1, 2], [1, 2]), []),
        (answer([1], [1, 2]), [2]),  # cited but not retrieved
        (changed(answer="It is cheap. [1] And [2, 7]"), [7]),  # not listed
        (changed(citations=[{**c, "paper_id": "ghost"} for c in answer([1, 2], [1, 2])["citations"]]), [1, 2]),
        (changed(citations=[{**c, "quote": "Never said."} for c in answer([1, 2], [1, 2])["citations"]]), [1, 2]),
        (changed(citations=answer([1, 2], [1, 2])["citations"] * 2), [1, 2]),  # a number listed twice
    ],
)
def test_citations_that_do_not_hold(given_answer: dict[str, Any], bad: list[int]) -> None:
    assert fabricated(given_answer, INDEX)[0] == bad


@pytest.mark.parametrize("change", [{"start": 0}, {"end": 10_000}, {"text": "It was cheap."}, {"start": -5}])
def test_evidence_that_is_not_at_its_offsets_does_not_hold(change: dict[str, Any]) -> None:
    given_answer = answer([1, 2], [1, 2])
    given_answer["sentences"][1]["evidence"][0].update(change)
    assert fabricated(given_answer, INDEX) == ([2], 2)


def test_a_paper_of_a_list_was_retrieved_by_the_scan() -> None:
    given_answer = answer([1], [1, 2])
    given_answer["matches"] = [{"paper_id": "p1"}, {"paper_id": "p2"}]
    assert fabricated(given_answer, INDEX) == ([], 2)


def test_support_by_hand() -> None:
    sentence = answer([1, 2], [1])["sentences"][0]
    sentences = [
        sentence,  # supported, its citation carries evidence
        {**sentence, "citations": [1, 2]},  # supported, the second carries none
        {**sentence, "support": "partial"},
        {**sentence, "citations": []},  # supported but by nothing cited
    ]
    assert support({"sentences": sentences}) == (2 / 4, 2 / 4)
    assert support({"sentences": []}) == (0.0, None)


def test_coverage_curve_by_hand() -> None:
    # by relevance: right .9, right .8, wrong .7, unanswerable .1, failed 0
    assert coverage_curve(scored()) == [(1 / 5, 1.0), (2 / 5, 1.0), (3 / 5, 2 / 3), (4 / 5, 2 / 4), (1.0, 2 / 5)]
    tied = [replace(row, outcome=replace(row.outcome, relevance=0.5)) for row in scored()]
    assert coverage_curve(tied) == [(1.0, 2 / 5)]


runs = st.dictionaries(
    st.sampled_from([f"q{n}" for n in range(6)]),
    st.tuples(
        st.lists(st.integers(0, 25), unique=True, max_size=20),
        st.dictionaries(st.integers(0, 30), st.integers(1, 3), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=150)
@given(runs)
def test_retrieval_agrees_with_ir_measures(run: dict[str, tuple[list[int], dict[int, int]]]) -> None:
    golds = {
        q: tuple(Gold(str(p), f"paper {p}", grade) for p, grade in judged.items()) for q, (_, judged) in run.items()
    }
    rankings = {q: [f"paper {p}" for p in ranking] for q, (ranking, _) in run.items()}
    ours = score_rankings(golds, rankings)
    measures = {f"recall@{k}": ir_measures.R @ k for k in (1, 3, 5, 10, 20)}
    measures |= {"mrr": ir_measures.RR, "ndcg@10": ir_measures.nDCG @ 10}
    qrels = [ir_measures.Qrel(q, f"paper {p}", grade) for q, (_, judged) in run.items() for p, grade in judged.items()]
    hits = [
        ir_measures.ScoredDoc(q, f"paper {p}", -place)
        for q, (ranking, _) in run.items()
        for place, p in enumerate(ranking)
    ]
    theirs = {(m.query_id, m.measure): m.value for m in ir_measures.iter_calc(measures.values(), qrels, hits)}
    for question in run:
        for name, measure in measures.items():
            assert ours[question][name] == pytest.approx(theirs.get((question, measure), 0.0), abs=1e-9)


@settings(max_examples=60)
@given(runs)
def test_retrieval_agrees_with_its_definition(run: dict[str, tuple[list[int], dict[int, int]]]) -> None:
    golds = {q: tuple(Gold(str(p), str(p), grade) for p, grade in judged.items()) for q, (_, judged) in run.items()}
    ours = score_rankings(golds, {q: [str(p) for p in ranking] for q, (ranking, _) in run.items()})
    for question, (ranking, judged) in run.items():
        gains = [judged.get(p, 0) for p in ranking]
        first = next((1 / place for place, gain in enumerate(gains, 1) if gain), 0.0)
        ideal = sum(gain / log2(place + 1) for place, gain in enumerate(sorted(judged.values(), reverse=True)[:10], 1))
        dcg = sum(gain / log2(place + 1) for place, gain in enumerate(gains[:10], 1))
        assert ours[question]["mrr"] == pytest.approx(first, abs=1e-9)
        assert ours[question]["ndcg@10"] == pytest.approx(dcg / ideal, abs=1e-9)
        assert ours[question]["recall@5"] == pytest.approx(sum(map(bool, gains[:5])) / len(judged), abs=1e-9)


def test_a_question_without_results_keeps_its_zero_and_one_without_relevant_papers_stays_out() -> None:
    found = score_rankings({"a": (Gold("x", None),), "b": ()}, {"a": [], "b": ["p1"]})
    assert found == {"a": dict.fromkeys(found["a"], 0.0)}
