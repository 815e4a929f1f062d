"""Choosing the weights of the search: places, weights, calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eval.tune_retrieval import RELEVANCE, Case, calibrate, choose, held_out, place, row
from rag.search.fusion import NAMES


def _case(relevant: int | None, **columns: list[float]) -> Case:
    size = len(next(iter(columns.values())))
    table = np.zeros((size, len(NAMES)), np.float32)
    for name, values in columns.items():
        table[:, NAMES.index(name)] = values
    marked = np.zeros(size, np.bool_)
    if relevant is not None:
        marked[relevant] = True
    return Case(table, marked)


# In each case `whole` is right and `title` is wrong.
CASES = [
    _case(i % 3, whole=[float(j == i % 3) for j in range(3)], title=[float(j != i % 3) for j in range(3)])
    for i in range(12)
]


def test_place_counts_ties_against_the_paper() -> None:
    assert place(_case(1, whole=[0.9, 0.5, 0.5, 0.1]), {"whole": 1.0}) == 2


def test_place_of_a_paper_that_was_not_found_is_the_last() -> None:
    assert place(_case(None, whole=[0.9, 0.5]), {"whole": 1.0}) > 1000


def test_feature_that_tells_outweighs_one_that_misleads() -> None:
    found = choose(CASES, [1.0] * len(CASES), ("whole", "title"))
    assert found["whole"] > 1
    assert found["title"] == 0


def test_held_out_places_are_those_of_every_question() -> None:
    assert held_out([CASES], ("whole", "title"), [1.0]) == [[0] * len(CASES)]


def test_calibration_tells_relevant_papers_from_others_and_from_strangers() -> None:
    strangers = [_case(None, whole=[0.4, 0.3, 0.2])] * 4
    found = calibrate([*CASES, *strangers], {"whole": 1.0}, [1.0] * (len(CASES) + 4))
    assert set(found) == {"constant", *RELEVANCE}

    def probability(whole: float) -> float:
        return 1 / (1 + math.exp(-(found["constant"] + found["whole"] * whole)))

    assert probability(1.0) > 0.9
    assert probability(0.4) < 0.5


@pytest.mark.parametrize(("places", "cells"), [([0, 1, 9, 30], ".250 / .500 / .750"), ([50], "0 / 0 / 0")])
def test_row_of_the_table(places: list[int], cells: str) -> None:
    assert row("all", [places]).replace(".000", "0") == f"| all | {cells} |"
