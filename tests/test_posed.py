from __future__ import annotations

import pytest

from rag.answering.posed import YES_NO, denies, is_posed, reports


@pytest.mark.parametrize(
    "sentence",
    [
        "To critically assess the evidence that tea is a risk factor for late trains.",
        "The purpose of this study was to explore the influence of tea on trains.",
        "We sought to learn more of tea.",
        "Tea is still served for this purpose.AIM: To perform a study of tea.",
        "To evaluate tea on trains.METHODS/ On 40 trains, the drivers were served tea.",
        "This study investigates how tea can change the power of a timetable.",
        "The pattern that links tea with trains is yet unknown.",
        "Delays are seen and this may be due to tea.",
        "It was hypothesized that tea delays trains.",
        "We asked drivers in order to determine whether tea delays trains.",
    ],
)
def test_what_is_asked_or_left_open(sentence: str) -> None:
    assert is_posed(sentence)
    assert not reports(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Tea delays trains by 3 minutes.",
        "To test the timetable, we served tea on 40 trains.",
        "Tea was served to 40 drivers.",
    ],
)
def test_what_is_said_flatly(sentence: str) -> None:
    assert not is_posed(sentence)


def test_what_came_out() -> None:
    assert reports("No significant difference was found between tea and coffee.")
    assert reports("Delays were longer with tea (p < 0.01).")
    assert not reports("Tea was served to 40 drivers.")


def test_questions_for_yes_or_no() -> None:
    assert YES_NO.search("Does tea delay trains?")
    assert YES_NO.search("Tea on trains: is it a risk?")
    assert not YES_NO.search("How does tea delay trains?")


def test_what_was_not_so() -> None:
    assert denies("We found no significant difference between tea and coffee.")
    assert denies("Tea did not delay trains.")
    assert not denies("Tea delays trains.")
