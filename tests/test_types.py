"""Values that say something of themselves."""

import pytest

from rag.types import Paper, Source


@pytest.mark.parametrize(
    ("venue", "year", "where"),
    [("ICLR", 2024, "ICLR 2024"), ("ICML 2024 Poster", 2024, "ICML 2024 Poster"), (None, 2024, "2024"),
     ("ICLR", None, "ICLR"), (None, None, "")],
)  # fmt: skip
def test_where_a_paper_appeared(venue: str | None, year: int | None, where: str):
    assert Paper("p", "T", "", venue=venue, year=year).where == where


def test_a_locator_is_the_files_name_and_the_place_in_it():
    assert Source("/some/folder/list.txt", 3).locator == "list.txt#3"
    assert Paper("p", "T", "").locator is None
