"""Citation numbers count from 1 in order of first use and never name a paper that is not a source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answering.citing import Numbering
from rag.types import AnswerSentence, Evidence, Paper, Span


def paper(name: str) -> Paper:
    return Paper(name, f"Title {name}", f"Abstract of {name}.")


def sentence(*sources: int) -> AnswerSentence:
    evidence = tuple(Evidence(n, f"p{n}", Span(0, 3, f"q{n}"), 1.0) for n in sources)
    return AnswerSentence("Something holds.", tuple(sources), "supported", evidence)


def test_numbers_are_given_in_order_of_first_use():
    numbering = Numbering({1: paper("p1"), 2: paper("p2"), 5: paper("p5")})
    first = numbering.number(sentence(5))
    second = numbering.number(sentence(1, 5))
    assert first.citations == (1,)
    assert second.citations == (1, 2)
    assert [piece.n for piece in second.evidence] == [2, 1]
    cited = numbering.citations([first, second])
    assert [(citation.n, citation.paper.paper_id, citation.quote) for citation in cited] == [
        (1, "p5", "q5"),
        (2, "p1", "q1"),
    ]


def test_a_source_that_was_not_retrieved_cannot_be_cited():
    with pytest.raises(KeyError, match="source 3"):
        Numbering({1: paper("p1")}).number(sentence(3))


@given(st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=4, unique=True), min_size=1, max_size=10))
def test_numbers_have_no_gap_and_first_uses_ascend(uses: list[list[int]]):
    numbering = Numbering({n: paper(f"p{n}") for n in range(1, 9)})
    numbered = [numbering.number(sentence(*sources)) for sources in uses]
    seen: list[int] = []
    for item in numbered:
        seen.extend(n for n in item.citations if n not in seen)
    assert seen == list(range(1, len({n for sources in uses for n in sources}) + 1))
    assert [citation.n for citation in numbering.citations(numbered)] == seen
