"""Tables with headers of many exports, without header, and with wrong quotes."""

from __future__ import annotations

import pytest

from rag.readers import ReadOptions, table
from rag.readers.fields import split_names
from rag.readers.options import NotLiterature, Unreadable
from rag.types import Record, Rejected
from tests.formats import items, only, opened, records

LONG = "We weigh stones of old walls and find that their weight falls with height, as a mason would expect. " * 4


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters(mark: str) -> None:
    text = f'Title{mark}Abstract{mark}Year\n"A{mark} b"{mark}We do.{mark}2020\nC{mark}{mark}2021\n'
    first, second = records(table, text)
    assert (first.title, first.abstract, first.year) == (f"A{mark} b".replace("\t", ""), "We do.", 2020)
    assert (second.title, second.abstract, second.year) == ("C", "", 2021)


def test_scopus() -> None:
    header = '"Authors","Author full names","Title","Year","Source title","DOI","Link","Abstract",'
    header += '"Author Keywords","Index Keywords"'
    row = '"Roe J.; Doe K.","Roe, Jane (57200000000); Doe, Kim (57200000001)","A, b","2020","J. Walls","10.1000/W.1",'
    row += '"https://www.scopus.com/x","We weigh.","stone; wall","masonry"'
    record = only(table, f"\ufeff{header}\n{row}\n")
    people = ("Jane Roe", "Kim Doe")
    assert (record.title, record.authors, record.year, record.venue) == ("A, b", people, 2020, "J. Walls")
    assert (record.doi, record.url, record.keywords) == (
        "10.1000/w.1",
        "https://www.scopus.com/x",
        ("stone", "wall", "masonry"),
    )
    assert record.extra == {"Authors": "Roe J.; Doe K."}


def test_ieee_keeps_the_publication_for_the_venue() -> None:
    header = '"Document Title",Authors,"Publication Title","Publication Year",Abstract,DOI,PDF Link,"Author Keywords"'
    record = only(
        table,
        f'{header}\n"On ""Walls""",J. Roe; K. Doe,Proc. Walls,2013,We weigh.,10.1109/W.2013,https://x.org/a.pdf,a;b\n',
    )
    assert (record.title, record.venue, record.year, record.authors) == (
        'On "Walls"',
        "Proc. Walls",
        2013,
        ("J. Roe", "K. Doe"),
    )


@pytest.mark.parametrize(
    ("names", "people"),
    [
        ("Roe J., Doe K.", ("Roe J.", "Doe K.")),
        ("Roe, J., Doe, K.", ("J. Roe", "K. Doe")),
        ("Roe J, Doe K, Poe LM", ("Roe J", "Doe K", "Poe LM")),
        ("Jane Roe, Kim Doe", ("Jane Roe", "Kim Doe")),
        ("Jane Roe and Kim Doe", ("Jane Roe", "Kim Doe")),
        ("Roe, Jane and Doe, Kim", ("Jane Roe", "Kim Doe")),
        ("Roe, Jane", ("Jane Roe",)),
        ("['Jane Roe', \"K. O'Dea\"]", ("Jane Roe", "K. O'Dea")),
        ("Jane Roe et al.", ("Jane Roe",)),
        ("张三、李四", ("张三", "李四")),
    ],
)
def test_lists_of_names(names: str, people: tuple[str, ...]) -> None:
    assert split_names(names) == people


def test_springer_names_run_together() -> None:
    text = "Item Title,Item DOI,Authors,Publication Year\nOn Walls,10.1007/s1,Jane RoeKim McDoe,2020\n"
    assert only(table, text).authors == ("Jane Roe", "Kim McDoe")


@pytest.mark.parametrize(
    "header",
    [
        "题名;作者;摘要;年份",
        "Titel;Autoren;Zusammenfassung;Jahr",
        "Titre;Auteurs;Résumé;Année",
        "Título;Autores;Resumen;Año",
        "Title-题名;Author-作者;Summary-摘要;Year-年",
        "Item Title;Authors;Abstract Note;Publication Year",
    ],
)
def test_headers_in_other_languages(header: str) -> None:
    record = only(table, f"{header}\nMauern;Roe, J.;Wir wiegen.;2019\n")
    assert (record.title, record.authors, record.abstract, record.year) == ("Mauern", ("J. Roe",), "Wir wiegen.", 2019)


def test_without_header() -> None:
    rows = "\n".join(
        f"https://openreview.net/forum?id=abcDEF{n}\tOn the Weight of Wall Number {n}\tJane Roe;Kim Doe\t\t"
        f"ICML 2024 Poster\t{LONG}{n}"
        for n in range(5)
    )
    found = records(table, rows)
    assert len(found) == 5
    assert (found[3].title, found[3].authors) == ("On the Weight of Wall Number 3", ("Jane Roe", "Kim Doe"))
    assert (found[3].venue, found[3].year, found[3].openreview_id) == ("ICML 2024 Poster", 2024, "abcDEF3")
    assert found[3].abstract == f"{LONG}3"


def test_quotes_inside_cells() -> None:
    text = 'title,abstract,year\nOne,"The "optimism in the face" rule, applied",2020\n'
    text += 'Two,"So ""called"", yes",2021\nThree "x,y z,2022\n'
    assert [record.abstract for record in records(table, text)] == [
        'The "optimism in the face" rule, applied',
        'So "called", yes',
        "y z",
    ]


def test_cells_over_several_lines() -> None:
    assert only(table, 'title,abstract\nOne,"first\nsecond\n\nthird"\n').abstract == "first second third"


def test_an_unclosed_quote_swallows_no_other_row() -> None:
    text = 'title,abstract,year\nOne,a,2020\nTwo,"never closed,2021\nThree,c,2022\nFour,"d",2023\n'
    assert [(record.title, record.year) for record in records(table, text)] == [
        ("One", 2020),
        ("Two", 2021),
        ("Three", 2022),
        ("Four", 2023),
    ]
    found = items(table, 'title,abstract\nOne,a\nTwo,"never, closed\nThree,c\nFour,"d"\n')
    assert [item.title if isinstance(item, Record) else item.line for item in found] == ["One", "Two", "Three", "Four"]


def test_shifted_columns_are_rejected_and_the_rest_read() -> None:
    found = items(table, "title,authors,year,abstract\nOne,Roe,2020,a\nTwo,2021,Roe J,b\nThree,Roe,2022,c\n")
    assert [type(item) for item in found] == [Record, Rejected, Record]
    assert isinstance(found[1], Rejected)
    assert found[1].line == 3


def test_a_delimiter_inside_an_unquoted_abstract_is_put_back() -> None:
    assert only(table, "title,year,abstract\nOne,2020,We weigh, then we note\n").abstract == "We weigh, then we note"


def test_rows_with_nothing_to_know_a_paper_by_are_rejected() -> None:
    found = items(table, "title;abstract;doi\nOne;a;10.1000/x\n;;10.1000/y\n")
    assert [item.line for item in found if isinstance(item, Rejected)] == [3]


def test_columns_can_be_named() -> None:
    options = ReadOptions(columns={"title": "Was", "abstract": "3"})
    [record] = list(table.read(opened("Was,Wann,Worum\nOne,2020,It is about it.\n"), options))
    assert isinstance(record, Record)
    assert (record.title, record.abstract, record.extra) == ("One", "It is about it.", {"Wann": "2020"})
    with pytest.raises(Unreadable, match="Wie"):
        list(table.read(opened("Was,Wann\nOne,2020\n"), ReadOptions(columns={"title": "Wie"})))
    with pytest.raises(Unreadable, match="no field 'titel'"):
        list(table.read(opened("Was,Wann\nOne,2020\n"), ReadOptions(columns={"titel": "Was"})))


def test_a_table_that_only_labels_other_files_is_no_literature() -> None:
    with pytest.raises(NotLiterature):
        list(table.read(opened("file\tposition\ttitle\thow\na.txt\t1\tOne\tseen\n"), ReadOptions()))


def test_tables_are_told_from_running_text() -> None:
    assert table.sniff("Title,Abstract\nA,b\n", "") >= 0.8
    assert table.sniff("We weigh walls, stones, and sand; it, so to say, works.\nIt does, too, here.\n", "a.txt") < 0.15
