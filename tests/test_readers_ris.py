from __future__ import annotations

import pytest

from rag.readers import ris
from rag.types import Rejected
from tests.formats import items, only, records

ENTRY = """TY  - JOUR
TI  - On Things
AU  - Doe, Jane
A1  - Roe, Richard
T2  - Journal of Things
JO  - J. Things
PY  - 2021
DA  - 2021///
DO  - https://doi.org/10.1000/ABC
UR  - https://example.org/a
KW  - one; two
KW  - *three
AB  - First line
      second line.
SN  - 1234-5678
SN  - 8765-4321
ER  -
"""


def test_every_field_finds_its_place() -> None:
    record = only(ris, ENTRY)
    assert (record.title, record.abstract) == ("On Things", "First line second line.")
    assert record.authors == ("Jane Doe", "Richard Roe")
    assert (record.venue, record.year, record.doi) == ("Journal of Things", 2021, "10.1000/abc")
    assert (record.url, record.keywords) == ("https://example.org/a", ("one", "two", "three"))
    assert record.extra == {"TY": "JOUR", "JO": "J. Things", "DA": "2021///", "SN": "1234-5678\n8765-4321"}


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\n", "\r"), ("  - ", " - "), ("  - ", "\t- "), ("ER  -\n", "")])
def test_lines_and_tags_may_be_written_otherwise(change: tuple[str, str]) -> None:
    assert only(ris, ENTRY.replace(*change)).title == "On Things"


def test_marks_junk_and_headings_are_no_entries() -> None:
    text = "\ufeffProvider: X\nContent: text/plain\n\n1.\n" + ENTRY + "NL  - J Things\nLink to the text\n\n2.\n" + ENTRY
    first, second = records(ris, text)
    assert first.extra["NL"].startswith("J Things\nLink to the text")
    assert second.source.position == 2


def test_an_entry_may_lack_its_first_or_its_last_line() -> None:
    text = "TI  - A\nER  -\nTY  - JOUR\nTI  - B\nTY  - JOUR\nTI  - C\nER  -\nTI  - D\n"
    assert [record.title for record in records(ris, text)] == ["A", "B", "C", "D"]


def test_running_text_is_not_taken_for_tags() -> None:
    record = only(ris, "TY  - JOUR\nTI  - T\nAB  - first,\nER then second\nA1 is a name - or\nGO - no\nER  -\n")
    assert record.abstract == "first, ER then second A1 is a name - or GO - no"


@pytest.mark.parametrize(
    ("line", "year"),
    [
        ("PY  - 2019//", 2019),
        ("Y1  - 1990/2/27", 1990),
        ("PY  - 10 15", None),
        ("PY  - 0000", None),
        ("PY  -", None),
        ("C6  - SEP 2023", 2023),
        ("DA  - 2021 Mar 5", 2021),
    ],
)
def test_years(line: str, year: int | None) -> None:
    record = only(ris, f"TY  - JOUR\nTI  - T\n{line}\nER  - \n")
    assert record.year == year
    tag, _, value = line.partition("  -")
    if year is None and value.strip():
        assert record.extra[tag] == value.strip()


def test_empty_values_and_missing_titles() -> None:
    text = "TY  - GEN\nTI  -\nN2  - Text.\nER  -\nTY  - GEN\nTI  - T\nN2  -\nER  -\nTY  - GEN\nAU  - A\nER  -\n"
    untitled, bare, empty = items(ris, text)
    assert (untitled.title, untitled.abstract) == (None, "Text.")  # type: ignore[union-attr]
    assert (bare.title, bare.abstract) == ("T", "")  # type: ignore[union-attr]
    assert isinstance(empty, Rejected)
    assert (empty.line, empty.reason) == (9, "entry 3 has neither title nor abstract")


def test_two_authors_of_one_name_are_two() -> None:
    assert only(ris, "TY  - X\nTI  - T\nAU  - Wang, Wei\nAU  - Wang, Wei\n").authors == ("Wei Wang", "Wei Wang")


def test_authors_given_under_both_tags_are_given_once() -> None:
    text = "TY  - X\nTI  - T\nA1  - A, B\nA1  - C, D\nAU  - A, B\nAU  - C, D\n"
    assert only(ris, text).authors == ("B A", "D C")


def test_a_work_known_by_its_source_title_has_that_title() -> None:
    assert only(ris, "TY  - JOUR\nT2  - Report\nPY  - 0000\nER  -\n").title == "Report"


@pytest.mark.parametrize(
    ("lines", "pmid"),
    [
        ("DB  - PubMed\nAN  - 123", "123"),
        ("DB  - Embase\nDB  - Medline\nC5  - 123", "123"),
        ("AN  - WOS:0001", None),
        ("AN  - PMID: 123", "123"),
    ],
)
def test_pubmed_ids(lines: str, pmid: str | None) -> None:
    assert only(ris, f"TY  - JOUR\nTI  - T\n{lines}\nER  -\n").pmid == pmid


def test_the_doi_may_stand_among_the_links() -> None:
    record = only(ris, "TY  - JOUR\nTI  - T\nL2  - http://dx.doi.org/10.1000/X\nN1  - cites 10.9/other\n")
    assert record.doi == "10.1000/x"


def test_a_line_of_ours_that_is_not_whole_is_kept_as_it_is() -> None:
    record = only(ris, 'TY  - JOUR\nTI  - T\nU5  - abstract-qa {"own_id": 3, "year": "x"}\nER  -\n')
    assert record.own_id is None
    assert record.extra["U5"].startswith("abstract-qa")


@pytest.mark.parametrize(("head", "least", "most"), [(ENTRY, 0.9, 1), ("PMID- 1\nTI  - A", 0, 0), ("x", 0, 0)])
def test_sniff(head: str, least: float, most: float) -> None:
    assert least <= ris.sniff(head, "x") <= most
