from __future__ import annotations

import pytest

from rag.answering.contradiction import (
    direction_differs,
    exchanged,
    misplaced_number,
    names_change_places,
    negation_differs,
    prefix_differs,
)

PAIR = "Yield rises by 12% in dry gardens and by 31% in wet gardens."


def test_a_number_that_belongs_to_something_else() -> None:
    wrong = misplaced_number("In wet gardens, yield rises by 31% and in wet gardens by 12%.", PAIR)
    assert wrong is None or wrong.value == 12
    assert misplaced_number("Yield rises by 12% in dry gardens.", PAIR) is None
    table = "Accuracy was 93% for copper kettles, 71% for iron kettles."
    found = misplaced_number("Accuracy was 71% for copper kettles.", table)
    assert found is not None
    assert found.value == 71


@pytest.mark.parametrize(
    ("claim", "source", "differs"),
    [
        ("The valve is not open at night.", "The valve is open at night.", True),
        ("The valve is open at night.", "The valve is not open at night.", True),
        ("Kettles work without labelled recordings.", "Kettles do not need labelled recordings.", False),
        ("Kettles are label-free.", "Kettles work without labels.", False),
        ("Water boils fast.", "Water boils fast, but no steam was measured.", False),
        ("Not only water but milk boils.", "Water and milk boil.", False),
    ],
)
def test_negation(claim: str, source: str, differs: bool) -> None:
    assert negation_differs(claim, source) is differs


@pytest.mark.parametrize(
    ("claim", "source", "differs"),
    [
        ("The policy increases water use.", "The policy reduces water use.", True),
        ("The policy reduces water use.", "The policy reduces water use and increases yield.", False),
        ("The policy lowers yield.", "The policy reduces water use and increases yield.", True),
        ("KettleNet is slower than SteamCast.", "KettleNet is faster than SteamCast.", True),
    ],
)
def test_direction(claim: str, source: str, differs: bool) -> None:
    assert direction_differs(claim, source) is differs


def test_a_prefix_that_turns_the_meaning() -> None:
    assert prefix_differs("The boil is stable.", "The boil is unstable.")
    assert not prefix_differs("The boil is stable.", "The boil is stable and the steam unstable.")


def test_two_names_on_the_others_side() -> None:
    source = "KettleNet outperforms SteamCast in noisy kitchens."
    assert names_change_places("SteamCast outperforms KettleNet.", source)
    assert not names_change_places("KettleNet outperforms SteamCast.", source)


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ("It reaches 93.5% accuracy on four public kettles.", "number"),
        ("It reaches 93.5% accuracy on six public kettles.", None),
        ("It is done by SteamCast on six public kettles with GasPro.", None),
    ],
)
def test_one_in_the_place_of_another(claim: str, kind: str | None) -> None:
    assert exchanged(claim, "It reaches 93.5% accuracy on six public kettles.") == kind


def test_a_name_in_the_place_of_another() -> None:
    source = "The gain over SteamCast is largest in noisy kitchens."
    assert exchanged("The gain over GasPro is largest in noisy kitchens.", source) == "name"


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("To boil STEAM in pots we introduce STEAM, a new way to boil with valves.", "name"),
        ("To boil STEAM in pots we introduce KETL-L, a new way to boil with valves.", "name"),
        ("To boil STEAM in pots we introduce KETL-based, a new way to boil with valves.", None),
        ("To boil STEAM in pots we introduce KETLs, a new way to boil with valves.", None),
    ],
)
def test_a_name_of_the_source_in_place_of_another(claim: str, found: str | None) -> None:
    assert exchanged(claim, "To boil STEAM in pots we introduce KETL, a new way to boil with valves.") == found


def test_a_name_of_what_follows_in_a_merged_sentence_is_no_exchange() -> None:
    source = "The water was boiled on the Kettle Scale-Revised."
    assert exchanged("The water was boiled on the Kettle Scale-Revised, and cooks wore fMRI hats.", source) is None
