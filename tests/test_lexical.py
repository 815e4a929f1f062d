"""Terms, and BM25 over them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.store.lexical import Lexical
from rag.texts.analysis import terms
from tests.library import paper


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The networks are pruned", ["network", "prune"]),
        ("SC-OmniGS", ["sc", "omnig", "scomnig"]),
        ("GPT-4", ["gpt", "4", "gpt4"]),
        ("GPT4", ["gpt", "4", "gpt4"]),
        ("k-means", ["k", "mean", "kmean"]),
        ("C++", ["c", "c++"]),
        ("the model's weights", ["model", "weight"]),
        ("ﬁne‑tuning", ["fine", "tune", "finetun"]),
        ("ＲＡＧ", ["rag"]),
        ("大语言模型", ["大语", "语言", "言模", "模型"]),
        ("用BERT", ["用", "bert"]),
        ("What is it?", []),
        ("", []),
        ("x" * 61, []),
    ],
)
def test_terms(text: str, wanted: list[str]) -> None:
    assert terms(text) == wanted


@given(st.text(max_size=300))
def test_any_text_gives_terms_that_tantivy_keeps_whole(text: str) -> None:
    for term in terms(text):
        assert term
        assert term.split() == [term]


def test_terms_are_the_same_in_every_thread() -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(terms("pruning quantised networks"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["prune", "quantiz", "network"]] * 4


@pytest.mark.parametrize(
    ("british", "american"),
    [("memorisation", "memorization"), ("generalise", "generalize"), ("optimising", "optimizing")],
)
def test_british_spelling_finds_american(british: str, american: str) -> None:
    assert terms(british) == terms(american)


def test_words_that_only_look_british_keep_their_family() -> None:
    assert terms("supervised") == terms("supervision")
    assert terms("precise") != terms("precize")


@pytest.fixture
def lexical(tmp_path: Path) -> Lexical:
    index = Lexical(tmp_path / "lexical")
    index.update(
        {
            1: paper(1, title="SC-OmniGS maps rooms", abstract="A robot maps rooms."),
            2: paper(2, title="Maps", abstract="Rooms and rooms and rooms."),
            3: paper(
                3, title="Clusters", abstract="We use k-means.", authors=("Grace Hopper",), keywords=("topology",)
            ),
        }
    )
    return index


def test_a_name_is_found_whole_and_in_parts(lexical: Lexical) -> None:
    for question in ("SC-OmniGS", "sc omnigs", "omnigs", "SCOmniGS"):
        assert [row for row, _ in lexical.search(question, 5)] == [1], question
    assert lexical.search("kmeans", 5)[0][0] == lexical.search("k-means clustering", 5)[0][0] == 3


def test_authors_and_keywords_are_searched(lexical: Lexical) -> None:
    assert lexical.search("papers by Hopper", 5)[0][0] == 3
    assert lexical.search("topology", 5)[0][0] == 3


def test_best_first_and_no_more_than_asked(lexical: Lexical) -> None:
    found = lexical.search("robot maps rooms", 5)
    assert [row for row, _ in found] == [1, 2]
    assert found[0][1] > found[1][1] > 0
    assert len(lexical.search("robot maps rooms", 1)) == 1


def test_questions_with_query_syntax_and_without_words_do_no_harm(lexical: Lexical) -> None:
    for question in ("", "the of", "title:maps AND (", '"rooms', "rooms~2^5", "* OR *", "rooms " * 10_000):
        lexical.search(question, 5)
    assert lexical.search("the of", 5) == []


def test_an_update_replaces_and_a_leaving_row_is_gone(lexical: Lexical) -> None:
    lexical.update({1: paper(1, title="Zebras", abstract="")}, leaving=[2])
    assert lexical.search("rooms", 5) == []
    assert lexical.rows() == {1, 3}
    assert lexical.count() == 2


def test_an_index_opens_again_as_it_was(lexical: Lexical) -> None:
    before = lexical.search("robot maps rooms", 5)
    assert Lexical(lexical.folder).search("robot maps rooms", 5) == before
