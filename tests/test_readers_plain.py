"""Plain lists of abstracts in all their shapes."""

from __future__ import annotations

import pytest

from rag.readers import plain
from rag.types import Record, Rejected
from tests.formats import items, only, opened, records

ONE = "We study how small nets learn to sort long lists, and find that they do so in two phases. One orders pairs."
TWO = (
    "Maps of caves are hard to draw by hand. This paper presents a tool that draws them from sound, at https://a.org/x."
)
THREE = (
    "Rain falls on roofs at rates that differ by slope. Measured over ten years, the rates follow one law of angles."
)


@pytest.mark.parametrize(
    ("header", "venue", "year"),
    [
        ("ICLR 2025 Papers", "ICLR", 2025),
        ("ICLR 2024 论文列表", "ICLR", 2024),
        ("# NeurIPS 2023 Accepted Papers", "NeurIPS", 2023),
        ("Abstracts of ACL 2022", "ACL", 2022),
    ],
)
def test_a_header_gives_venue_and_year(header: str, venue: str, year: int) -> None:
    first, second = records(plain, f"{header}\n\n{ONE}\n\n{TWO}\n")
    assert (first.venue, first.year, first.title, first.abstract) == (venue, year, None, ONE)
    assert (second.venue, second.year, second.source.position, second.source.locator) == (venue, year, 2, "file#2")


def test_an_address_stays_in_the_abstract_and_becomes_the_link_but_no_identity() -> None:
    record = only(plain, TWO.replace("https://a.org/x", "https://arxiv.org/abs/2401.00001"))
    assert record.url == "https://arxiv.org/abs/2401.00001"
    assert "https://arxiv.org/abs/2401.00001." in record.abstract
    assert record.arxiv_id is None


def test_without_header_and_with_wrapped_lines() -> None:
    wrapped = ONE.replace(" and find", "\nand find")
    assert [record.abstract for record in records(plain, f"{wrapped}\n\n\n{TWO}")] == [ONE, TWO]


@pytest.mark.parametrize("mark", ["{}. ", "[{}] ", "({}) ", "{}) ", "Paper {}: ", "{}、"])
def test_numbered(mark: str) -> None:
    text = "\n\n".join(mark.format(number) + abstract for number, abstract in enumerate((ONE, TWO, THREE), start=1))
    assert [record.abstract for record in records(plain, text)] == [ONE, TWO, THREE]


def test_numbered_with_title_authors_and_a_second_paragraph() -> None:
    text = f"1. Nets That Sort\nJane Roe, John Q. Doe\n{ONE}\n\n{THREE}\n\n2. Caves, Drawn\n\n{TWO}\n"
    first, second = records(plain, text)
    assert (first.title, first.authors, first.abstract) == (
        "Nets That Sort",
        ("Jane Roe", "John Q. Doe"),
        f"{ONE} {THREE}",
    )
    assert (second.title, second.abstract) == ("Caves, Drawn", TWO)


@pytest.mark.parametrize("rule", ["---", "=====", "***", "* * *", "———"])
def test_separated_by_rules(rule: str) -> None:
    text = f"{ONE}\n\n{THREE}\n{rule}\n{TWO}\n{rule}\n{THREE}\n"
    assert [record.abstract for record in records(plain, text)] == [f"{ONE} {THREE}", TWO, THREE]


def test_labels() -> None:
    text = f"""Title: Nets That Sort
Authors: Roe, Jane; Doe, John
Venue: JMLR
Year: 2021
Abstract: {ONE}

{THREE}

Title: Caves
Abstract:
{TWO}
DOI: 10.1000/Caves.1
Note: read twice
"""
    first, second = records(plain, text)
    assert (first.title, first.authors, first.venue, first.year) == (
        "Nets That Sort",
        ("Jane Roe", "John Doe"),
        "JMLR",
        2021,
    )
    assert first.abstract == f"{ONE} {THREE}"
    assert second.extra == {"Note": "read twice"}
    assert (second.title, second.abstract, second.doi) == (
        "Caves",
        TWO,
        "10.1000/caves.1",
    )


def test_chinese_labels() -> None:
    first, second = records(
        plain, "题目：一\n作者：张三；李四\n摘要：本文研究排序。\n\n题目：二\n摘要：本文研究洞穴。\n"
    )
    assert (first.title, first.authors, first.abstract) == ("一", ("张三", "李四"), "本文研究排序。")
    assert second.title == "二"


def test_one_paper_a_line() -> None:
    lines = [f"{ONE} {TWO} {THREE}", f"{TWO} {THREE} {ONE}", f"{THREE} {ONE} {TWO}"]
    assert [record.abstract for record in records(plain, "\n".join(lines))] == lines


def test_titles_above_abstracts() -> None:
    first, second = records(plain, f"Nets That Sort\n\n{ONE}\n\nCaves From Sound\n{TWO}\n")
    assert (first.title, first.abstract) == ("Nets That Sort", ONE)
    assert (second.title, second.abstract) == ("Caves From Sound", TWO)


def test_titles_alone_below_a_header_are_papers_without_abstract() -> None:
    found = records(plain, "ICLR 2025 Papers\n\n1. Nets That Sort\n2. Caves From Sound\n")
    assert [(record.title, record.abstract, record.year) for record in found] == [
        ("Nets That Sort", "", 2025),
        ("Caves From Sound", "", 2025),
    ]


def test_a_structured_abstract_in_paragraphs_is_one_paper() -> None:
    text = f"{ONE}\n\nMethods: We weigh every stone of the wall and note its place and its age.\n\n{TWO}"
    assert len(records(plain, text)) == 2


def test_what_is_too_short_is_rejected_with_its_line() -> None:
    first, second = items(plain, f"{ONE}\n\nend of list\n")
    assert isinstance(first, Record)
    assert isinstance(second, Rejected)
    assert second.line == 3
    [alone] = items(plain, "hello\n")
    assert isinstance(alone, Rejected)
    assert "hello" in alone.reason


def test_running_text_is_told_from_other_formats() -> None:
    assert plain.sniff(opened(f"ICLR 2025 Papers\n\n{ONE}").head, "a.txt") > plain.sniff(f"{ONE}", "a.txt") > 0
    assert plain.sniff("Title: A\nAbstract: B\n", "") >= 0.5
