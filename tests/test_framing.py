from __future__ import annotations

import pytest

from rag.answering.framing import clean_answer, hints, shown, statement


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("KettleNet boils water [1].", "KettleNet boils water."),
        ("- **KettleNet** boils `water` [1][2].", "KettleNet boils water."),
        ("According to [1], KettleNet boils water.", "KettleNet boils water."),
        ("[2] shows that kettles boil.", "The paper shows that kettles boil."),
        ("KettleNet boils water (see [1, 2]).", "KettleNet boils water."),
        ("Yes, KettleNet boils water [1].", "Yes, KettleNet boils water."),
        ("水烧开了【1】。", "水烧开了。"),
    ],
)
def test_what_is_shown_has_no_marks(written: str, seen: str) -> None:
    assert shown(written) == seen


@pytest.mark.parametrize(
    "written",
    [
        "According to the paper, kettles boil.",
        "The authors report that kettles boil.",
        "Yes, kettles boil [1].",
        "In summary, the study shows that kettles boil.",
        "Based on the evidence provided, kettles boil.",
    ],
)
def test_the_statement_has_no_lead(written: str) -> None:
    assert statement(written).casefold() == "kettles boil."


def test_hints_are_the_numbers_written_in_order() -> None:
    assert hints("A [3]. B [1, 2] and [4-6].") == (3, 1, 2, 4, 5, 6)
    assert hints("no marks, but [CLS] and a[i]") == ()


@pytest.mark.parametrize("written", ["[1]", "[1], [2].", "- [3]", "...", "", "The valves are made of"])
def test_bare_marks_and_dangling_ends_are_no_answer(written: str) -> None:
    assert clean_answer(written) == ""


def test_a_short_answer_stays() -> None:
    assert clean_answer("93.5% [1]") == "93.5%"
    assert clean_answer("**SteamCast** [2].") == "SteamCast."
