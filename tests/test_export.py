"""What is written is read back to the same papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rag.papers import own
from rag.papers.export import FORMATS, bibtex_entry, conversation_markdown, export
from rag.readers import FileRead, bibtex, json_lines, read, ris, table
from rag.readers.fields import make_record
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.types import Answer, Citation, Paper, Question, Record, Source, Timings

SIGNS = st.sampled_from([
    *"ab Z19{}\\%&$#_^~\"'@,;:=+-<>()[]|./é中文ß–“”*`!?\n", "\\alpha", "$x_1$", " and ", "{}", "\\\\", "ER  - ",
    "\n@article{x,", "&amp;", "$5", "others", "\\textbackslash{}", '","', "=1+1",
])  # fmt: skip
TEXT = st.lists(SIGNS, max_size=25).map("".join)
FIELDS = (
    "title", "abstract", "authors", "venue", "year", "url", "doi", "arxiv_id", "pmid", "openreview_id", "keywords",
    "own_id", "extra",
)  # fmt: skip
NAME = st.one_of(
    st.sampled_from(["doi_note", "volume", "ID", "ENTRYTYPE", "PY", "Journal/ISSN[Print]", "abstract"]), TEXT
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A record as the readers make them: cleaned, with identifiers in their normal form."""
    made = made_of(
        title=draw(st.one_of(st.none(), TEXT)) or "Untold",
        abstract=draw(TEXT),
        authors=draw(st.lists(TEXT, max_size=3)),
        venue=draw(st.one_of(st.none(), TEXT)),
        year=draw(st.one_of(st.none(), st.integers(1500, 2099))),
        url=draw(st.sampled_from([None, "https://example.org/a_b%20c?x={1}&y=~z#t", "http://x.example/\\path"])),
        doi=draw(st.sampled_from([None, "10.1000/abc_(1)", "10.1234/a&b;c<d>"])),
        arxiv_id=draw(st.sampled_from([None, "2101.00001", "cs.CL/0101001"])),
        pmid=draw(st.sampled_from([None, "123456"])),
        openreview_id=draw(st.sampled_from([None, "aB_c-12345"])),
        keywords=draw(st.lists(TEXT, max_size=3)),
        own_id=draw(st.sampled_from(["doi:10.1/x_y", "title:a{b}c", "p-1"])),
        extra=draw(st.dictionaries(NAME.filter(str.strip), TEXT, max_size=3)),
    )
    again = made_of(**{name: getattr(made, name) for name in FIELDS})
    assume(made.title or made.abstract)
    assume(again == made)  # what cleaning leaves may itself be a word for "none"
    return made


def made_of(**values: Any) -> Record:
    return make_record(Source("x", 1), **values)


def paper_of(record: Record) -> Paper:
    assert record.own_id is not None
    return Paper(
        record.own_id, record.title or "label", record.abstract, record.title is not None, record.authors, record.venue,
        record.year, record.url, record.doi, record.arxiv_id, record.pmid, record.openreview_id, record.keywords,
        extra=record.extra,
    )  # fmt: skip


def read_back(module: ModuleType, text: str) -> list[Record]:
    data = text.encode()
    items: Iterator[Record] = module.read(Opened("x", lambda: io.BytesIO(data)), ReadOptions())
    return list(items)


def held(record: Record) -> list[object]:
    """All that an export is to keep."""
    return [getattr(record, name) for name in FIELDS]


@pytest.mark.parametrize(
    ("format_", "module"), [("bibtex", bibtex), ("ris", ris), ("csv", table), ("jsonl", json_lines)]
)
@settings(max_examples=60, deadline=None)
@given(st.lists(records(), min_size=1, max_size=3))
def test_export_then_read_is_the_identity(format_: str, module: ModuleType, found: list[Record]) -> None:
    text = "".join(export(map(paper_of, found), format_))  # type: ignore[arg-type]
    assert [held(record) for record in read_back(module, text)] == [held(record) for record in found]


PAPER = Paper(
    "doi:10.1000/x",
    "LLMs & {braces}",
    "It costs $5.",
    authors=("Jane Doe", "Institute of Things, Inc."),
    venue="Proceedings of Things",
    year=2021,
    url="https://example.org/a_b",
    doi="10.1000/x",
    arxiv_id="2101.00001",
    keywords=("a", "b"),
    extra={"volume": "3", "Journal/ISSN": "1234"},
)
UNTITLED = Paper("abs:1", "We study things …", "We study things in depth.", titled=False)


def test_a_bibtex_entry() -> None:
    assert bibtex_entry(PAPER) == (
        "@inproceedings{doe2021llms,\n"
        "  title = {{LLMs \\& \\textbraceleft{}braces\\textbraceright{}}},\n"
        "  author = {Jane Doe and {Institute of Things, Inc.}},\n"
        "  booktitle = {Proceedings of Things},\n"
        "  year = {2021},\n"
        "  doi = {10.1000/x},\n"
        "  url = {https://example.org/a_b},\n"
        "  eprint = {2101.00001},\n"
        "  archiveprefix = {arXiv},\n"
        "  keywords = {a; b},\n"
        "  abstract = {It costs \\$5.},\n"
        "  volume = {3},\n"
        "  abstract-qa-id = {doi:10.1000/x},\n"
        '  abstract-qa-extra = {\\textbraceleft{}"Journal/ISSN": "1234"\\textbraceright{}},\n'
        "}\n"
    )


def test_bibtex_keys_are_unique_and_those_read_are_kept() -> None:
    read_with = replace(PAPER, extra={"ID": "Doe:2021", "ENTRYTYPE": "book"})
    text = "".join(export([PAPER, PAPER, read_with, UNTITLED, replace(UNTITLED, paper_id="…")], "bibtex"))
    starts = [line for line in text.splitlines() if line.startswith("@")]
    assert starts == [
        "@inproceedings{doe2021llms,",
        "@inproceedings{doe2021llms-2,",
        "@book{Doe:2021,",
        "@misc{abs1,",
        "@misc{paper,",
    ]


def test_other_parsers_read_what_is_written() -> None:
    [entry] = parse_string(bibtex_entry(PAPER)).entries
    assert entry["author"] == "Jane Doe and {Institute of Things, Inc.}"
    assert entry["year"] == "2021"
    [fields] = rispy.loads("".join(export([PAPER], "ris")))
    assert fields["title"] == "LLMs & {braces}"
    assert fields["authors"] == ["Jane Doe", "Institute of Things, Inc."]
    assert fields["keywords"] == ["a", "b"]
    text = "".join(export([PAPER], "csv")).removeprefix("\ufeff")
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["title"], row["authors"]) == ("LLMs & {braces}", "Jane Doe; Institute of Things, Inc.")


@pytest.mark.parametrize(("format_", "module"), [("bibtex", bibtex), ("ris", ris), ("csv", table)])
def test_names_of_institutions_are_not_turned_round(format_: Any, module: ModuleType) -> None:
    paper = replace(PAPER, authors=("Department of Things, University", "A; B", "Doe, Jane"))
    [record] = read_back(module, "".join(export([paper], format_)))
    assert record.authors == paper.authors


@pytest.mark.parametrize("format_", ["bibtex", "ris", "csv", "jsonl"])
def test_a_label_is_not_written_as_a_title(format_: Any) -> None:
    assert UNTITLED.title not in "".join(export([UNTITLED], format_))


def test_cells_that_a_spreadsheet_would_run_are_made_harmless() -> None:
    formula = replace(PAPER, title="=HYPERLINK(1)", venue="'+x")
    [row] = csv.DictReader(io.StringIO("".join(export([formula], "csv")).removeprefix("\ufeff")))
    assert (row["title"], row["venue"]) == ("'=HYPERLINK(1)", "''+x")


@given(TEXT)
def test_guarded_cells_come_back_and_never_begin_a_formula(cell: str) -> None:
    guarded = own.guard(cell)
    assert own.unguard(guarded) == cell
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r"))


@settings(deadline=None)
@given(TEXT)
def test_escaped_values_come_back_and_have_balanced_braces(text: str) -> None:
    value = own.escape(text)
    assert own.unescape(value) == text
    assert value.count("{") == value.count("}")


def test_mathematics_is_left_to_latex_and_money_is_not_mathematics() -> None:
    assert own.escape("$x_{1}$ of $5 and $6 in {a_b}") == (
        "$x_{1}$ of \\$5 and \\$6 in \\textbraceleft{}a\\_b\\textbraceright{}"
    )
    assert own.escape("$x_{1$") == "\\$x\\_\\textbraceleft{}1\\$"


def test_markdown() -> None:
    assert "".join(export([PAPER, UNTITLED], "markdown")) == (
        "1. **LLMs & {braces}**. Jane Doe, Institute of Things, Inc. *Proceedings of Things*, 2021. "
        "[doi](<https://doi.org/10.1000/x>) · [arXiv](<https://arxiv.org/abs/2101.00001>) · "
        "[link](<https://example.org/a_b>)\n\n   > It costs $5.\n\n"
        "2. **We study things …**\n\n   > We study things in depth.\n\n"
    )


def test_markdown_signs_in_papers_are_escaped() -> None:
    text = "".join(export([replace(UNTITLED, title="a*b <script> $x_1$ [1]")], "markdown"))
    assert "**a\\*b \\<script\\> $x_1$ \\[1\\]**" in text


def test_a_conversation_has_its_questions_answers_and_references() -> None:
    answer = Answer(
        Question("What?", "What?", "What?"), "answered", "Things cost five [1].", (),
        (Citation(1, PAPER, "It costs $5."),), (), Timings(0, 0, None, None, 0), {}, "x",
    )  # fmt: skip
    refused = replace(answer, status="abstained", text="The abstracts do not say.", citations=())
    text = conversation_markdown([("What\nis it?", answer), ("Why?", refused)], "Costs")
    assert text == (
        "# Costs\n\n## What is it?\n\nThings cost five [1].\n\n### References\n\n"
        "1. **LLMs & {braces}**. Jane Doe, Institute of Things, Inc. *Proceedings of Things*, 2021. "
        "[doi](<https://doi.org/10.1000/x>) · [arXiv](<https://arxiv.org/abs/2101.00001>) · "
        "[link](<https://example.org/a_b>)\n\n   > It costs $5.\n"
        "\n## Why?\n\nThe abstracts do not say.\n"
    )


def test_papers_are_written_as_they_come() -> None:
    def endless() -> Iterator[Paper]:
        while True:
            yield PAPER

    for format_ in FORMATS:
        assert next(export(endless(), format_))


@pytest.mark.parametrize("format_", ["bibtex", "ris", "csv", "jsonl"])
def test_files_are_known_for_what_they_are_and_read_back(format_: Any, tmp_path: Path) -> None:
    path = tmp_path / "papers"
    paper = replace(PAPER, title="On LLMs")
    path.write_text("".join(export([paper, UNTITLED], format_)), encoding="utf-8")
    first, second, end = read(path)
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert isinstance(end, FileRead)
    assert end.format == format_
    assert (first.own_id, first.title, first.authors) == (paper.paper_id, paper.title, paper.authors)
    assert (second.own_id, second.title, second.abstract) == (UNTITLED.paper_id, None, UNTITLED.abstract)
