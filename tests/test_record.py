"""Who wrote a paper, when and where it appeared: from its record, for a question that calls it by name."""

from __future__ import annotations

import pytest

from rag.answering import record
from rag.types import Filters, Kind, Paper, Question, RankedPaper, Span

PAPER = Paper(
    "p1",
    "Heron: A Patient Hunter",
    "Heron waits for fish.",
    authors=("Ada Reed", "Ben Marsh", "Cy Pond"),
    venue="LAKECONF",
    year=2021,
)
OTHER = Paper("p2", "Otters at Play", "Otters slide.", authors=("Dee Brook",), year=2019)
BARE = Paper("p3", "Newt: A Small One", "Newt swims.")


def question(text: str, search: str | None = None, language: str = "en", kind: Kind = "fact") -> Question:
    return Question(text, text, search or text, kind, Filters(), language)


def ranked(*papers: Paper) -> tuple[RankedPaper, ...]:
    return tuple(RankedPaper(n, paper, 1.0, 0.5, Span(0, 1, "x")) for n, paper in enumerate(papers, 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Who wrote the Heron paper?", "“Heron: A Patient Hunter” was written by Ada Reed, Ben Marsh and Cy Pond."),
        ("Who are the authors of Heron?", "“Heron: A Patient Hunter” was written by Ada Reed, Ben Marsh and Cy Pond."),
        ("Who proposed Heron?", "“Heron: A Patient Hunter” was written by Ada Reed, Ben Marsh and Cy Pond."),
        ("When was Heron published?", "“Heron: A Patient Hunter” is from 2021."),
        ("In which year did Heron come out?", "“Heron: A Patient Hunter” is from 2021."),
        ("Where was Heron published?", "“Heron: A Patient Hunter” appeared in LAKECONF 2021."),
        ("At which conference was Heron presented?", "“Heron: A Patient Hunter” appeared in LAKECONF 2021."),
        ("Who wrote Otters at Play?", "“Otters at Play” was written by Dee Brook."),
    ],
)
def test_the_record_answers(text: str, said: str) -> None:
    found = record.sentence(question(text), ranked(OTHER, PAPER))
    assert found is not None
    rank = 1 if "Otters" in said else 2
    assert (found.text, found.citations, found.support, found.evidence) == (said, (rank,), "supported", ())


def test_a_record_that_does_not_say_leaves_it_to_the_next_of_that_name() -> None:
    found = record.sentence(question("Who wrote Heron?"), ranked(Paper("p4", PAPER.title, PAPER.abstract), PAPER))
    assert found is not None
    assert found.citations == (2,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("谁写了 Heron 这篇论文？", "《Heron: A Patient Hunter》的作者是Ada Reed、Ben Marsh、Cy Pond。"),
        ("Heron 是哪一年发表的？", "《Heron: A Patient Hunter》发表于 2021 年。"),
        ("Heron 发表在哪个会议？", "《Heron: A Patient Hunter》发表于 LAKECONF 2021。"),
    ],
)
def test_in_chinese(text: str, said: str) -> None:
    found = record.sentence(question(text, "Heron paper", "zh"), ranked(PAPER))
    assert found is not None
    assert found.text == said


@pytest.mark.parametrize(
    "text",
    [
        "What does Heron hunt?",
        "Who wrote the paper on patience?",  # calls no paper by name
        "When was Heron's code released?",
        "Where can I find the data of Heron?",
        "Who reviewed the Heron paper?",
        "Who introduced Heron to ponds?",
        "When was Heron published in Chinese?",
        "Who wrote Newt?",  # its record has no authors
        "When was Newt published?",
        "Where was Newt published?",
    ],
)
def test_what_the_record_does_not_say_is_left_to_the_abstracts(text: str) -> None:
    assert record.sentence(question(text), ranked(PAPER, OTHER, BARE)) is None


def test_lists_and_comparisons_are_not_answered_from_one_record() -> None:
    for kind in ("compare", "list", "count", "overview"):
        assert record.sentence(question("Who wrote Heron?", kind=kind), ranked(PAPER)) is None
