from __future__ import annotations

import pytest

from rag.answering.comparing import missing, sentences, sides, table, without
from rag.answering.evidence import select
from rag.answering.premise import premise_mismatch
from tests.fakes_answers import PAPERS, FakeIndex, ask


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Why does the policy increase water use?", "direction"),
        ("How does KettleNet reach 71% accuracy on public kettles?", "number"),
        ("Why does KettleNet need labelled recordings?", "negation"),
        ("How does KettleNet reach 93.5% accuracy on public kettles?", None),
        ("Which policy reduces water use?", None),
        ("Does KettleNet outperform SteamCast?", None),
    ],
)
def test_what_a_question_takes_for_granted(text: str, kind: str | None) -> None:
    question, index = ask(text), FakeIndex(PAPERS)
    found = premise_mismatch(question, select(question, index.ranked(question), index, 8))
    assert (found.kind if found else None) == kind


def test_no_evidence_contradicts_nothing() -> None:
    assert premise_mismatch(ask("Why is water wet?"), ()) is None


def test_a_comparison_has_a_column_for_each_side() -> None:
    index = FakeIndex(PAPERS)
    question = ask("Compare KettleNet with chess endings", kind="compare", parts=("KettleNet", "chess endings"))
    ranked = index.ranked(question)
    compared = sides(question, ranked, select(question, ranked, index, 8))
    assert [side.paper.paper_id for side in compared] == ["kettle", "chess"]
    lines = table(compared, {side.n: place for place, side in enumerate(compared, start=1)}).splitlines()
    assert lines[0] == "| KettleNet [1] | chess endings [2] |"
    assert all(line.count("|") == 3 for line in lines)
    assert {sentence.citations[0] for sentence in sentences(compared)} == {side.n for side in compared}


def test_one_side_alone_is_no_table() -> None:
    assert table((), {}) == ""


def test_a_side_that_no_paper_is_of_is_said_to_be_missing() -> None:
    index = FakeIndex(PAPERS)
    # The paper of KettleNet speaks of SteamCast, and is not the paper of it.
    question = ask("Compare KettleNet with SteamCast", kind="compare", parts=("KettleNet", "SteamCast"))
    ranked = index.ranked(question)
    assert missing(question, ranked) == ("SteamCast",)
    assert [side.name for side in sides(question, ranked, select(question, ranked, index, 8))] == ["KettleNet"]
    assert "SteamCast" in without(question, ("SteamCast",))
    assert without(question, ()) == ""
    # What is not called by a name may be any paper's.
    plain = ask("Compare KettleNet with chess endings", kind="compare", parts=("KettleNet", "chess endings"))
    assert missing(plain, index.ranked(plain)) == ()
