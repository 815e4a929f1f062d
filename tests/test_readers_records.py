"""Title, year and abstract of records in every format, against what a person wrote down after reading the files.

The files in `data/formats` were written for this and are messy as real exports are: accents as LaTeX and HTML entities,
markup, mathematics, hyphens at line ends, copyright notices, absent years and abstracts, broken entries, encodings.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from rag.readers import format_names, read
from rag.types import Record, Rejected

FOLDER = Path(__file__).parent / "data" / "formats"
EXPECTED = FOLDER / "expected.tsv"
# Files with entries that cannot be read, and the lines where those begin.
BROKEN = {"jabref.bib": [33, 38]}


def expected() -> dict[str, list[tuple[int, int | None, str | None, str]]]:
    """By file: (position, year, title, abstract) of each record."""
    found = defaultdict(list)
    with EXPECTED.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            year = int(row["year"]) if row["year"] else None
            found[row["file"]].append((int(row["position"]), year, row["title"] or None, row["abstract"]))
    return found


def test_every_file_and_enough_records_are_written_down() -> None:
    names = {path.name for path in FOLDER.iterdir()} - {EXPECTED.name}
    assert names == set(expected())
    assert sum(map(len, expected().values())) >= 60
    formats = {item.format for name in names for item in read(FOLDER / name) if not isinstance(item, Record | Rejected)}
    assert formats == set(format_names())


@pytest.mark.parametrize("name", sorted(expected()))
def test_records_are_as_written_down(name: str) -> None:
    items = list(read(FOLDER / name))
    found = [(item.source.position, item.year, item.title, item.abstract) for item in items if isinstance(item, Record)]
    assert found == expected()[name]
    assert [item.line for item in items if isinstance(item, Rejected)] == BROKEN.get(name, [])
