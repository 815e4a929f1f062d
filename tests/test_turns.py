"""One at a time, in rotation between owners."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import Busy
from rag.models.turns import Place, Turns


def served(places: list[Place]) -> list[int]:
    """The order in which places come to their turn when each leaves as soon as it has."""
    waiting = dict(enumerate(places))
    order = []
    while waiting:
        (number,) = [number for number, place in waiting.items() if place.wait(0)]
        order.append(number)
        waiting.pop(number).leave()
    return order


def test_one_owner_is_served_in_the_order_of_asking():
    turns = Turns("the model")
    assert served([turns.line_up("a") for _ in range(5)]) == [0, 1, 2, 3, 4]


def test_different_owners_are_served_in_the_order_of_asking():
    turns = Turns("the model")
    assert served([turns.line_up(owner) for owner in "dbca"]) == [0, 1, 2, 3]


def test_ten_questions_of_one_do_not_hold_up_the_first_of_another():
    turns = Turns("the model")
    places = [turns.line_up(owner) for owner in "aaaaaaaaaab"]
    # The first is being answered already, so b's comes second.
    assert places[10].ahead == 1
    assert served(places) == [0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_owners_take_turns():
    turns = Turns("the model")
    assert served([turns.line_up(owner) for owner in "aaabbc"]) == [0, 3, 5, 1, 4, 2]


def test_newcomers_do_not_keep_a_second_question_waiting_for_ever():
    turns = Turns("the model")
    first, second = turns.line_up("a"), turns.line_up("a")
    other = turns.line_up("b")
    first.leave()
    late = turns.line_up("c")  # after the first of a was done: a's second stands before it
    other.leave()
    assert second.wait(0)
    second.leave()
    assert late.wait(0)


@given(owners=st.text("abc", min_size=1, max_size=12), leaving=st.sets(st.integers(0, 11)))
def test_everyone_is_told_truly_how_many_come_before_them(owners: str, leaving: set[int]):
    turns = Turns("the model")
    places = [turns.line_up(owner) for owner in owners]
    for number in leaving:
        if number < len(places):
            places[number].leave()
    staying = [place for number, place in enumerate(places) if number not in leaving]
    told = [place.ahead for place in staying]
    assert [told[number] for number in served(staying)] == list(range(len(staying)))


def test_a_place_that_is_left_is_skipped_and_may_be_left_again():
    turns = Turns("the model")
    first, second, third = (turns.line_up(owner) for owner in "abc")
    second.leave()
    second.leave()
    assert third.ahead == 1
    first.leave()
    assert third.wait(0)
    first.leave()
    assert third.wait(0)
    assert not second.wait(0)


def test_an_exception_frees_the_place():
    turns = Turns("the model")
    place = turns.line_up("a")
    assert place.wait(0)
    with pytest.raises(ZeroDivisionError), place:
        raise ZeroDivisionError
    assert turns.line_up("b").wait(0)


def test_beyond_the_bound_it_is_said_and_nothing_is_taken():
    turns = Turns("the model", most=2)
    held = [turns.line_up(owner) for owner in "abc"]
    with pytest.raises(Busy, match="2 questions are waiting for the model already; ask again"):
        turns.line_up("d")
    assert served(held) == [0, 1, 2]
    assert turns.line_up("d").wait(0)


def test_a_waiting_thread_wakes_at_its_turn():
    turns = Turns("the model")
    first, second = turns.line_up("a"), turns.line_up("b")
    woken = threading.Event()
    thread = threading.Thread(target=lambda: second.wait() and woken.set())
    thread.start()
    assert not woken.is_set()
    first.leave()
    thread.join(10)
    assert woken.is_set()
