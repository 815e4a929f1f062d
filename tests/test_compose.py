"""Answers made of evidence alone, and the text of checked sentences."""

from dataclasses import replace

import pytest

from rag.answering.compose import cited, from_evidence, instead, text_of
from rag.types import AnswerSentence, Evidence, Paper, Question, RankedPaper, Span


def hit(rank: int, relevance: float = 0.9) -> RankedPaper:
    paper = Paper(f"p{rank}", f"Title {rank}", f"First of {rank}. Second of {rank}.", venue="ICLR", year=2024)
    return RankedPaper(rank, paper, 1.0, relevance, Span(0, 11, f"First of {rank}."))


def piece(rank: int, text: str) -> Evidence:
    return Evidence(rank, f"p{rank}", Span(0, len(text), text), 1.0)


ASKED = Question("q?", "q?", "q?")


@pytest.mark.parametrize(
    ("text", "citations", "expected"),
    [
        ("It is fast.", (1,), "It is fast [1]."),
        ("Is it?!", (1, 2), "Is it [1][2]?!"),
        ("它很快。", (1,), "它很快 [1]。"),
        ("“It is fast.”", (3,), "“It is fast.” [3]"),
        ("No end", (1,), "No end [1]"),
        ("Uncited.", (), "Uncited."),
    ],
)
def test_numbers_stand_before_the_closing_mark(text: str, citations: tuple[int, ...], expected: str):
    assert cited(AnswerSentence(text, citations, "supported", ())) == expected


def test_sentences_are_joined_by_spaces():
    sentences = [AnswerSentence("A.", (1,), "supported", ()), AnswerSentence("B.", (2,), "supported", ())]
    assert text_of(sentences) == "A [1]. B [2]."


def test_a_fact_is_answered_by_the_first_papers_own_sentences():
    evidence = (piece(2, "Best."), piece(1, "Other paper."), piece(2, "Next."), piece(2, "Third."))
    assert [s.text for s in from_evidence(ASKED, (hit(1), hit(2)), evidence)] == ["Best.", "Next."]


def test_which_names_the_paper_and_says_why():
    asked = replace(ASKED, kind="which")
    (only,) = from_evidence(asked, (hit(1), hit(2, 0.2)), (piece(1, "Because of this."),))
    assert only.text == "Title 1 (ICLR 2024): “Because of this.”"
    assert only.citations == (1,)
    assert only.evidence[0].span.text == "Because of this."


def test_which_also_names_a_paper_that_is_as_relevant():
    asked = replace(ASKED, kind="which")
    both = from_evidence(asked, (hit(1, 0.9), hit(2, 0.88), hit(3, 0.3)), (piece(1, "Because."),))
    assert [s.citations for s in both] == [(1,), (2,)]
    assert both[1].text.endswith("“First of 2.”")


def test_compare_gives_each_side_a_sentence():
    asked = replace(ASKED, kind="compare")
    evidence = (piece(1, "A does."), piece(1, "More of A."), piece(2, "B does."))
    assert [s.text for s in from_evidence(asked, (hit(1), hit(2)), evidence)] == ["A does.", "B does."]


def test_what_the_model_wrote_gives_way_to_a_quotation():
    (quoted,) = instead(ASKED, (piece(1, "Decisive."), piece(1, "Lesser.")))
    assert quoted.text == "“Decisive.”"
    assert instead(ASKED, ()) == ()


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("How does it boil?", ("“Best.”", "“Next.”")),
        ("Why does it boil?", ("“Best.”", "“Next.”")),
        ("它是怎么工作的？", ("“Best.”", "“Next.”")),
        ("What is the boiling rate?", ("“Best.”",)),  # a number is one sentence
        ("Does it boil?", ("“Best.”",)),
    ],
)
def test_what_is_to_be_explained_is_quoted_twice_from_one_paper(text: str, quoted: tuple[str, ...]):
    pieces = (piece(1, "Best."), piece(2, "Of another paper."), piece(1, "Next."), piece(1, "Third."))
    assert tuple(one.text for one in instead(Question(text, text, text), pieces)) == quoted
