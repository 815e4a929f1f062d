"""Papers for a question: candidates, second stage, filters, quotes; and what a question's words find in a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import InputError, LibraryEmpty
from rag.ingest.prepare import prepare
from rag.question.understand import understand
from rag.search.fusion import NAMES, Features, Weights, weights
from rag.search.rerank import K1, B, match, phrases, query_terms
from rag.search.retrieve import LibraryRetriever, Searcher
from rag.settings import load_settings
from rag.store.index import Index, PreparedPaper
from rag.types import Filters, Paper, Question, RankedPaper, Source
from tests.fakes import FakeEncoder


def _paper(paper_id: str, title: str, abstract: str, venue: str, year: int) -> Paper:
    return Paper(
        paper_id, title, abstract, venue=venue, year=year, sources=(Source("/in/list.txt", int(paper_id[1:])),)
    )


PAPERS = (
    _paper("p1", "Falcon Prune", "We remove weights of networks. Curvature decides which weights go.", "ICLR", 2024),
    _paper("p2", "Tidal Flow", "Ocean currents are forecast. A graph network reads buoys.", "ICLR", 2023),
    _paper("p3", "Quiet Speech", "Speech is cleaned of noise. Masks are learned without labels.", "NeurIPS", 2023),
    _paper("p4", "Graph Mosaic", "Graph neural networks are condensed into few nodes.", "NeurIPS", 2024),
    _paper("p5", "Untold", "", "CoRL", 2022),
)


def _open(folder: object, papers: Sequence[Paper]) -> Index:
    encoder = FakeEncoder(dimension=256, max_tokens=64)
    index = Index.open(load_settings(folder), encoder, write=True)  # type: ignore[arg-type]
    if papers:
        index.put(
            [PreparedPaper(paper, vectors) for paper, vectors in zip(papers, prepare(papers, encoder), strict=True)]
        )
    return index


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with _open(tmp_path_factory.mktemp("retrieve"), PAPERS) as opened:
        yield opened


@pytest.fixture
def searcher(index: Index) -> Searcher:
    return Searcher(index, index.settings)


def _ids(found: Sequence[RankedPaper]) -> list[str]:
    return [hit.paper.paper_id for hit in found]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which paper forecasts ocean currents?", "p2"),
        ("How does Falcon Prune decide which weights go?", "p1"),
        ("speech noise masks", "p3"),
        ("条件：图神经网络 condensed nodes", "p4"),
    ],
)
def test_the_paper_asked_for_comes_first(searcher: Searcher, question: str, first: str) -> None:
    found = searcher.search(question, 3)
    assert found[0].paper.paper_id == first
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(0 <= hit.relevance <= 1 for hit in found)


def test_quote_is_the_sentence_that_tells(searcher: Searcher) -> None:
    hit = searcher.search("Does curvature decide?", 1)[0]
    assert hit.quote.text == "Curvature decides which weights go."
    assert hit.paper.abstract[hit.quote.start : hit.quote.end] == hit.quote.text


def test_paper_without_abstract_is_quoted_by_its_title(searcher: Searcher) -> None:
    hit = searcher.search("Untold", 1)[0]
    assert (hit.paper.paper_id, hit.quote.text) == ("p5", "Untold")


def test_each_paper_comes_once(searcher: Searcher) -> None:
    ids = _ids(searcher.search("graph network weights speech", 50))
    assert sorted(ids) == ["p1", "p2", "p3", "p4", "p5"]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (Filters(venue="iclr"), {"p1", "p2"}),
        (Filters(year_from=2024), {"p1", "p4"}),
        (Filters("NeurIPS", 2023, 2023), {"p3"}),
        (Filters("CVPR"), set()),
    ],
)
def test_filters_hold(searcher: Searcher, filters: Filters, left: set[str]) -> None:
    assert set(_ids(searcher.search("graph networks", 10, filters))) == left


def test_filters_said_in_words_hold(searcher: Searcher) -> None:
    assert set(_ids(searcher.search("ICLR 2023 papers on networks", 10))) == {"p2"}


def test_filters_set_by_hand_win_over_those_of_the_question(searcher: Searcher, index: Index) -> None:
    asked = understand("ICLR 2023 papers on networks", (), index)
    assert set(_ids(searcher.search(asked, 10, Filters(year_from=2024, year_to=2024)))) == {"p1"}


def test_many_questions_get_what_each_would_alone(searcher: Searcher) -> None:
    questions = ["ocean currents", "curvature weights", "哪些论文研究图神经网络？"]
    together = searcher.search_many(questions, 3)
    alone = [searcher.search(question, 3) for question in questions]
    assert [_ids(found) for found in together] == [_ids(found) for found in alone]


def test_many_questions_are_embedded_in_one_call(index: Index) -> None:
    encoder = index.encoder
    assert isinstance(encoder, FakeEncoder)
    before = len(encoder.calls)
    Searcher(index, index.settings).search_many(["ocean currents", "curvature weights"], 3)
    assert encoder.calls[before:] == [("ocean currents", "curvature weights")]


def test_what_was_found_comes_with_the_vector_and_the_times(searcher: Searcher, index: Index) -> None:
    asked = understand("ocean currents", (), index)
    found = searcher.found(asked, 2)
    assert found.ranked == searcher.search(asked, 2)
    np.testing.assert_array_equal(found.vector, index.encoder.encode(["ocean currents"])[0])
    np.testing.assert_array_equal(found.vector, searcher.vector(asked))
    assert all(spent > 0 for spent in astuple(found.times))


def test_score_gives_features_of_the_best_candidates(searcher: Searcher, index: Index) -> None:
    scored = searcher.score(understand("ocean currents", (), index), depth=2)
    assert scored[0].paper.paper_id == "p2"
    assert len(scored) == 2
    assert scored[0].features.coverage == pytest.approx(1.0)
    assert scored[0].features.adjacent == pytest.approx(1.0)


def test_empty_question_and_empty_library_are_refused(searcher: Searcher, tmp_path: object) -> None:
    with pytest.raises(InputError, match="empty"):
        searcher.search("  ", 5)
    with _open(tmp_path, ()) as empty, pytest.raises(LibraryEmpty, match="ingest"):
        Searcher(empty, empty.settings).search("anything", 5)


def test_langchain_retriever_gives_documents(searcher: Searcher) -> None:
    found = LibraryRetriever(searcher=searcher, k=2, filters=Filters("ICLR")).invoke("ocean currents")
    assert [document.id for document in found] == ["p2", "p1"]
    assert found[0].page_content == PAPERS[1].abstract
    metadata = found[0].metadata
    assert (metadata["title"], metadata["venue"], metadata["year"]) == ("Tidal Flow", "ICLR", 2023)
    assert metadata["locator"] == "list.txt#2"


@given(st.text(min_size=1, max_size=80))
def test_any_question_ranks_without_gaps(index: Index, text: str) -> None:
    try:
        found = Searcher(index, index.settings).search(text, 5)
    except InputError:
        return
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert len(set(_ids(found))) == len(found)


def test_match_is_bm25_with_the_title_twice() -> None:
    paper = Paper("x", "Falcon", "falcon wings wings", titled=True)
    asked = query_terms("falcon wings storm", {"falcon": 2.0, "wing": 1.0, "storm": 3.0}.__getitem__)
    found = match(asked, paper, average=5)
    # Five terms with the title counted twice, as many as usual: the norm is k1.
    assert B < 1
    falcon, wing = 3 / (3 + K1), 2 / (2 + K1)
    assert found.lexical == pytest.approx((2 * falcon + 1 * wing) / 6)
    assert found.coverage == pytest.approx(3 / 6)
    assert found.title == pytest.approx(2 / 6)
    # Of the pairs falcon-wing (weight 3) and wing-storm (weight 4), the first is in the abstract.
    assert found.adjacent == pytest.approx(3 / 7)


def test_label_of_an_untitled_paper_counts_for_nothing() -> None:
    asked = query_terms("falcon", lambda term: 1.0)
    assert match(asked, Paper("x", "Falcon", "wings", titled=False), 2).coverage == 0


def test_repeated_words_of_a_question_count_as_often() -> None:
    asked = query_terms("wings wings storm", lambda term: 1.0)
    found = match(asked, Paper("x", "", "wings", titled=False), 1)
    assert found.lexical == pytest.approx(2 / 3 * 1 / (1 + K1))
    assert found.coverage == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("question", "text"), [("GNN pruning", "graph neural networks"), ("graph neural network", "A GNN.")]
)
def test_abbreviation_meets_its_long_form(question: str, text: str) -> None:
    assert match(query_terms(question, lambda term: 1.0), Paper("x", "", text, titled=False), 3).abbreviation > 0


def test_phrases_are_runs_of_telling_words() -> None:
    text = "Which paper uses evolutionary algorithms and cross-domain MT metrics?"
    assert [text[start:end] for start, end in phrases(text)] == ["evolutionary algorithms", "cross-domain MT metrics"]


def test_long_runs_are_cut() -> None:
    text = "one2 two2 three2 four2 five2 six2 seven2"
    assert [text[start:end] for start, end in phrases(text)] == ["one2 two2 three2 four2 five2", "six2 seven2"]


def test_weights_apply_by_name() -> None:
    chosen = weights("an embedder that nothing is known of")
    assert len(chosen.rank) == len(NAMES)
    assert (chosen.rank >= 0).all()
    table = np.zeros((2, len(NAMES)), np.float32)
    table[1] = 1
    low, high = chosen.probability(table)
    assert 0 <= low < high <= 1


def test_probability_is_logistic() -> None:
    zero = np.zeros(len(NAMES), np.float32)
    one = zero.copy()
    one[NAMES.index("whole")] = 2
    found = Weights(zero, zero, one, -1.0).probability(np.eye(len(NAMES), dtype=np.float32)[:2])
    # Of whole alone: 2 - 1; of the next feature: -1.
    assert found == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_features_are_in_the_order_of_their_names() -> None:
    assert NAMES[:4] == ("whole", "sentence", "title", "bm25")
    assert replace(Features(1, 2, 3, 4), adjacent=5.0).adjacent == 5.0


def test_comparison_side_is_searched_alone(searcher: Searcher, index: Index) -> None:
    asked = understand("Compare Falcon Prune and Tidal Flow.", (), index)
    sides = [searcher.search(replace(asked, search_text=part), 1)[0].paper.paper_id for part in asked.parts]
    assert sides == ["p1", "p2"]
    assert isinstance(asked, Question)
