from __future__ import annotations

import pytest

from rag.answering.roles import converse, counts_other, spliced

STORE = "It contains over 7 million kettles lasting nearly 760K hours, yielding 234M kettle lids accompanied by notes."


@pytest.mark.parametrize(
    ("claim", "source", "value"),
    [
        ("KettleStore contains over 7 million kettle lids.", STORE, 7e6),
        ("KettleStore contains 234M kettles.", STORE, 234e6),
        ("KettleStore contains over 7 million kettles.", STORE, None),
        ("KettleStore yields 234M kettle lids.", STORE, None),
        ("It has 500,000 cooks.", "A data set with over 33,000 cooks and 500,000 pots.", 500_000),
        ("It has 500,000 pots and 33,000 cooks.", "A data set with over 33,000 cooks and 500,000 pots.", None),
        ("It wins on 5 kettles.", "It wins on 5 out of 6 kettles and reduces steam by 2%.", None),
        ("It was tried on 5 kettles.", "It was tried on 5 or 6 kettles.", None),
    ],
)
def test_a_number_belongs_to_what_it_counts(claim: str, source: str, value: float | None) -> None:
    found = counts_other(claim, source)
    assert (found.value if found else None) == value


def test_a_relation_turned_round() -> None:
    question = "Which data set was created for KettleNet?"
    source = "For KettleNet we bring LID-7, a data set of lids."
    assert converse("KettleNet was created for LID-7.", question, source)
    assert not converse("LID-7 was created for KettleNet.", question, source)
    assert not converse("KettleNet was created for LID-7.", question, "KettleNet was created for LID-7.")
    assert not converse("KettleNet reaches 93% on LID-7.", "What does KettleNet reach on LID-7?", source)


def test_halves_of_two_sentences_joined_as_reason() -> None:
    one = "The height of the shelf can be chosen freely with a folding bracket."
    other = "Boiling water cools slowly if copper walls touch wet clay."
    assert spliced("The height of the shelf can be chosen freely when copper walls touch wet clay.", one, other)
    assert not spliced("Boiling water cools slowly when copper walls touch wet clay.", one, other)
    third = "The shelf approximates those obtained by expert bakers in noisy kitchens."
    assert not spliced(
        "The height of the bracket matches those obtained by expert bakers in noisy kitchens.", one, third
    )
    assert not spliced("The shelf has a folding bracket, and boiling water cools slowly.", one, other)
    dated = "By winter, copper walls touch wet clay in seven gardens."
    assert not spliced("The shelf has a folding bracket, and by winter copper walls touch wet clay.", one, dated)
