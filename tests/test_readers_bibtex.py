from __future__ import annotations

import pytest

from rag.readers import bibtex
from rag.readers.bibtex_values import fields_of, names_of, ungrouped, value_of
from rag.types import Record, Rejected
from tests.formats import items, only, records

ENTRY = r"""
@article{ doe2021,
  title = {{Learning to {R}ank with $x_1 < y$}},
  author = {Doe, Jane and de la Cruz, Juan and {Institute of Things, Inc.} and others},
  journal = "Journal of {\'E}tudes",
  year = 2021, month = mar,
  abstract = {We study 50\% of all na{\"\i}ve cases.},
  doi = {https://doi.org/10.1000/ABC\_1},
  url = {https://example.org/a\_b},
  keywords = {ranking, retrieval},
  volume = 12
}
"""


def test_every_field_finds_its_place() -> None:
    record = only(bibtex, ENTRY)
    assert record.title == "Learning to Rank with $x_1 < y$"
    assert record.authors == ("Jane Doe", "Juan de la Cruz", "Institute of Things, Inc.")
    assert (record.venue, record.year) == ("Journal of Études", 2021)
    assert record.abstract == "We study 50% of all naïve cases."
    assert (record.doi, record.url) == ("10.1000/abc_1", "https://example.org/a_b")
    assert record.keywords == ("ranking", "retrieval")
    assert record.extra == {"ENTRYTYPE": "article", "ID": "doe2021", "month": "mar", "volume": "12"}
    assert record.own_id is None


def test_an_unclosed_brace_costs_only_its_own_entry() -> None:
    damaged = "@book{b,\n title={B {oops},\n year={2002}\n}\n"
    text = "@book{a, title={A}}\n\n" + damaged + "@book{c, title={C}}\n@book{d, title={D}}\n"
    first, second, third, fourth = items(bibtex, text)
    assert isinstance(second, Rejected)
    assert (second.file, second.line) == ("file", 3)
    assert second.reason == "entry b: a brace or quote is not closed"
    found = [item for item in (first, third, fourth) if isinstance(item, Record)]
    assert [(record.title, record.source.position) for record in found] == [("A", 1), ("C", 3), ("D", 4)]


def test_an_entry_cut_off_by_the_end_of_the_file_is_rejected_with_its_line() -> None:
    good, cut = items(bibtex, "@book{a, title={A}}\n@book{b, title={B")
    assert isinstance(good, Record)
    assert isinstance(cut, Rejected)
    assert cut.line == 2


def test_macros_are_replaced_and_parts_joined() -> None:
    macros = '@string{j = "Journal of " # {Tests}}\n@STRING(who = {Doe, J.})\n'
    record = only(bibtex, macros + '@misc{a, title = "A" # { and } # "B", journal = J, author = who}')
    assert (record.title, record.venue, record.authors) == ("A and B", "Journal of Tests", ("J. Doe",))


def test_comments_preambles_and_text_between_entries_are_no_entries() -> None:
    text = "Exported by a tool\n@comment{jabref-meta: x;}\n@preamble{ {\\newcommand{\\x}{y}} }\n% note\n"
    text += "@misc{a, title={A}}\n"
    assert [record.title for record in records(bibtex, text)] == ["A"]


def test_the_brace_may_stand_on_the_next_line() -> None:
    text = "@misc{z,title={Z}}\n@article\n  {a,\n title = {A}\n}\n"
    assert [record.title for record in records(bibtex, text)] == ["Z", "A"]


def test_a_forgotten_comma_loses_no_field() -> None:
    record = only(bibtex, "@misc{a,\n title = {A}\n note = {n = {1}},\n year = 1999\n}")
    assert (record.title, record.year, record.extra["note"]) == ("A", 1999, "n = 1")


def test_crossref_hands_down_what_concerns_the_volume() -> None:
    text = """@inproceedings{p, title={Paper}, crossref={Vol}, author={A B}}
@proceedings{vol, title={Proceedings of X}, year={2019}, publisher={P}}"""
    paper, volume = records(bibtex, text)
    assert (paper.title, paper.venue, paper.year) == ("Paper", "Proceedings of X", 2019)
    assert paper.extra["publisher"] == "P"
    assert volume.title == "Proceedings of X"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("eprint = {2101.00001v3}, archivePrefix = {arXiv}, primaryClass = {cs.CL}", "2101.00001"),
        ("eprint = {2101.00001}, eprinttype = {arxiv}", "2101.00001"),
        ("journal = {arXiv preprint arXiv:2101.00001}", "2101.00001"),
        ("journal = {CoRR}, volume = {abs/2101.00001}", "2101.00001"),
        ("doi = {10.48550/arXiv.2101.00001}", "2101.00001"),
        ("url = {http://arxiv.org/abs/2101.00001v1}", "2101.00001"),
        ("eprint = {12345}, eprinttype = {jstor}", None),
    ],
)
def test_arxiv_ids_are_found_where_people_write_them(fields: str, expected: str | None) -> None:
    assert only(bibtex, f"@misc{{a, title={{A}}, {fields}}}").arxiv_id == expected


def test_pubmed_ids_stand_in_fields_and_notes() -> None:
    assert only(bibtex, "@misc{a, title={A}, pmid={123}}").pmid == "123"
    assert only(bibtex, "@misc{a, title={A}, note={{PMID:} 23439512}}").pmid == "23439512"


@pytest.mark.parametrize(
    ("year", "expected"), [("2021/05/03", 2021), ("in press", None), ("{c. 1999}", 1999), ("", None), ("0000", None)]
)
def test_years_come_from_dates_and_odd_ones_are_kept(year: str, expected: int | None) -> None:
    record = only(bibtex, f"@misc{{a, title={{A}}, date={{{year}}}}}")
    assert record.year == expected
    assert record.extra.get("date", "") == year.strip("{}")


def test_repeated_keys_and_fields_lose_nothing() -> None:
    text = "@misc{k, title={A}, note={one}, note={two}}\n@misc{k, title={B}}"
    first, second = records(bibtex, text)
    assert first.extra["note"] == "one two"
    assert second.title == "B"


def test_ties_are_blanks_and_other_tildes_are_not() -> None:
    record = only(bibtex, "@misc{a, title={Table~1 of~A}, author={Doe, J.~B.}, abstract={It is ~5, or 5~10 \\~{n}.}}")
    assert (record.title, record.authors) == ("Table 1 of A", ("J. B. Doe",))
    assert record.abstract == "It is ~5, or 5~10 ñ."


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("Of \\textit{Homo {S}apiens} and cats", "Of Homo Sapiens and cats"),
        ("On {\\textless}i{\\textgreater}E. coli{\\textless}/i{\\textgreater}", "On E. coli"),
        ("p {\\textless} 5 {\\textbar} D\\textquotesingle alembert", "p < 5 | D'alembert"),
        ("{The {DNA} of {\\ss} and \\v{c}}", "The DNA of ß and č"),
    ],
)
def test_what_reference_managers_write_in_titles(raw: str, title: str) -> None:
    assert only(bibtex, f"@misc{{a, title={{{raw}}}}}").title == title


def test_addresses_in_howpublished() -> None:
    assert (
        only(bibtex, "@misc{a, title={A}, howpublished={\\url{http://a.example/x\\_y}}}").url == "http://a.example/x_y"
    )


def test_entries_in_parentheses_and_without_key() -> None:
    first, second = records(bibtex, "@book(a,\n title = {A (b)}, year = 2001\n)\n@book{,\n title = {B}\n}\n")
    assert (first.title, first.year, second.title) == ("A (b)", 2001, "B")


def test_keys_need_not_be_latin() -> None:
    record = only(bibtex, "@article{张三2020, title={标题}, author={张, 三 and 李四}, year={2020}}")
    assert (record.title, record.authors, record.extra["ID"]) == ("标题", ("张三", "李四"), "张三2020")


def test_an_entry_without_title_and_abstract_is_rejected() -> None:
    [item] = items(bibtex, "\n\n@misc{a, year={2000}}")
    assert isinstance(item, Rejected)
    assert (item.line, item.reason) == (3, "entry 1 has neither title nor abstract")


def test_a_line_break_before_a_brace_closes_the_value() -> None:
    assert only(bibtex, "@misc{a, title={A}, note={x \\\\}, year={2001}}").year == 2001


def test_old_encodings_are_read() -> None:
    assert only(bibtex, "@misc{a, title={Café über}, author={Müller, K.}}".encode("latin-1")).title == "Café über"


def test_an_at_sign_within_a_value_begins_no_entry() -> None:
    record = only(bibtex, "@misc{a, title={A}, abstract={Mail\n @home or x@y {z}.}}")
    assert record.abstract == "Mail @home or x@y z."


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("{A {b} c}", "A {b} c"), ('"a {"} b"', 'a {"} b'), ("12", "12"), ("m # {x}", "Mx"), ("mar", "mar"), ("", "")],
)
def test_values(raw: str, expected: str) -> None:
    assert value_of(raw, {"m": "M"}) == expected


def test_fields_divided_by_no_comma() -> None:
    assert list(fields_of("a", '{1}\n b = "2" c=3', {})) == [("a", "1"), ("b", "2"), ("c", "3")]


def test_only_braces_that_protect_letters_are_taken_off() -> None:
    assert ungrouped("{T}he {RNA} of \\emph{x} is $a_{1}$, \\'{e}") == "The RNA of \\emph{x} is $a_{1}$, \\'{e}"


def test_names() -> None:
    text = "Doe, J. and \\'{E}vry, A. AND {Barnes and Noble} and\n others"
    assert names_of(text) == ["Doe, J.", "\\'{E}vry, A.", "{Barnes and Noble}"]


@pytest.mark.parametrize(
    ("head", "least", "most"),
    [(ENTRY, 0.85, 1), ("@string{a = {b}}", 0.2, 0.4), ("someone@example.org {x}", 0, 0), ("TY  - JOUR", 0, 0)],
)
def test_sniff(head: str, least: float, most: float) -> None:
    assert least <= bibtex.sniff(head, "x") <= most
