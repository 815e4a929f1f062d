"""MEDLINE, Web of Science, RefWorks and Refer, and what they share."""

from __future__ import annotations

from types import ModuleType

import pytest

from rag.readers import medline, refer, refworks, ris, wos
from rag.readers.tagged import Fields
from rag.types import Rejected
from tests.formats import items, only, records

PUBMED = """
PMID- 8402898
OWN - NLM
DP  - 1993 Oct 8
TI  - A protein binds to
      many others.
LID - 1042 [pii]
LID - 10.1000/Own [doi]
AB  - BACKGROUND: One thing.
      METHODS: Another thing.
FAU - Gout, Ivan
AU  - Gout I
AU  - et al.
JT  - Cell
TA  - Cell
OT  - binding
MH  - Brain/*enzymology
CON - J Things. 2000;1:1. doi: 10.1000/other. PMID: 999
"""


def test_pubmed() -> None:
    record = only(medline, PUBMED)
    assert record.title == "A protein binds to many others."
    assert record.abstract == "BACKGROUND: One thing. METHODS: Another thing."
    assert record.authors == ("Ivan Gout",)
    assert (record.venue, record.year, record.doi, record.pmid) == ("Cell", 1993, "10.1000/own", "8402898")
    assert record.keywords == ("binding", "Brain/enzymology")
    assert record.extra["AU"] == "Gout I\net al."
    assert record.extra["CON"].startswith("J Things")


def test_a_doi_of_a_comment_is_not_the_articles() -> None:
    record = only(medline, PUBMED.replace("LID - 10.1000/Own [doi]\n", ""))
    assert (record.doi, record.pmid) == (None, "8402898")


def test_pubmed_entries_need_no_end_line() -> None:
    text = PUBMED + PUBMED.replace("8402898", "2").lstrip("\n") + "\nPMID- 3\nTI  - Third\n"
    assert [record.pmid for record in records(medline, text)] == ["8402898", "2", "3"]


def test_eric_entries_begin_after_an_empty_line() -> None:
    text = "\nOWN - ERIC\nTI  - A\nSO  - v9 n1 2019\nDP  - Article 10 2019\n\nOWN - ERIC\nTI  - B\n"
    first, second = records(medline, text)
    assert (first.title, first.year, first.venue, second.title) == ("A", 2019, None, "B")


def test_ovid_entries_are_numbered_and_their_lines_run_on() -> None:
    text = """<3001. >
VN  - Ovid Technologies
TI  - On things.
SO  - J Things. Conference: X. 12 (no pagination), 2018. Date of Publication: 2018.
AU  - Behan L.
AB  - Background: One.
Method(s): Two.
DO  - http://dx.doi.org/10.1000/ABC
YR  - 2018

<3002. >
VN  - Ovid Technologies
AU  - Rubbo B.
"""
    first, second = items(medline, text)
    assert first.abstract == "Background: One. Method(s): Two."  # type: ignore[union-attr]
    assert (first.venue, first.year, first.doi) == ("J Things", 2018, "10.1000/abc")  # type: ignore[union-attr]
    assert isinstance(second, Rejected)
    assert second.line == 11


def test_the_doi_of_a_supplement_is_no_conference_abstracts_own() -> None:
    text = "<1. >\nVN  - Ovid Technologies\nTI  - T\nPT  - Conference Abstract\nDO  - http://dx.doi.org/10.1000/ABC\n"
    record = only(medline, text)
    assert (record.doi, record.url, record.extra["DO"]) == (None, None, "http://dx.doi.org/10.1000/ABC")


WOS = """\ufeffFN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Wang, JJ
   Guo, K
AF Wang, Jing
   Guo, Kun
TI On things
   and others
SO JOURNAL OF THINGS
DE One; Two
   words
ID THREE
AB First line.
   Second line.
CR Abbasi B, 2019, X, DOI 10.1000/other
   An Q, 2021, Y
DI 10.1000/ABC
PM 123
PD MAY 4
PY 2023
ER

PT J
TI Second
EA SEP 2022
ER

EF"""


def test_web_of_science() -> None:
    first, second = records(wos, WOS)
    assert first.title == "On things and others"
    assert first.abstract == "First line. Second line."
    assert first.authors == ("Jing Wang", "Kun Guo")
    assert (first.venue, first.year, first.doi, first.pmid) == ("JOURNAL OF THINGS", 2023, "10.1000/abc", "123")
    assert first.keywords == ("One", "Two words", "THREE")
    assert first.extra["CR"] == "Abbasi B, 2019, X, DOI 10.1000/other\nAn Q, 2021, Y"
    assert (second.title, second.year) == ("Second", 2022)


def test_web_of_science_without_first_or_last_lines() -> None:
    assert [record.title for record in records(wos, "TI A\nER\nPT J\nTI B\nPT J\nTI C\n")] == ["A", "B", "C"]


REFWORKS = """RT Journal Article
SR Electronic(1)
ID 206
A1 Stansfeld,Stephen
A1 Fuhrer,Rebecca
T1 On things
JF Journal of Things
YR 2002
K1 Etiology
K1 Anxiety
AB One
two.
DO 10.1000/ABC
LK https://example.org/a
"""


def test_refworks() -> None:
    record = only(refworks, REFWORKS)
    assert (record.title, record.abstract) == ("On things", "One two.")
    assert record.authors == ("Stephen Stansfeld", "Rebecca Fuhrer")
    assert (record.venue, record.year, record.doi) == ("Journal of Things", 2002, "10.1000/abc")
    assert (record.url, record.keywords) == ("https://example.org/a", ("Etiology", "Anxiety"))
    assert record.extra == {"RT": "Journal Article", "SR": "Electronic(1)", "ID": "206"}


def test_refworks_of_cnki() -> None:
    text = "RT Journal Article\r\nSR 1\r\nA1张三;   李四\r\nT1 论文题目\r\nvo 49\r\nFD 2020-04-17\r\nK1 甲;乙\r\n"
    text += "AB 摘要。\r\n方法。\r\n"
    record = only(refworks, text + "URL https://example.org/?a=1&amp;b=2\r\n")
    assert (record.title, record.authors, record.year) == ("论文题目", ("张三", "李四"), 2020)
    assert record.keywords == ("甲", "乙")
    assert record.abstract.startswith("摘要。")
    assert record.abstract.endswith("方法。")
    assert (record.url, record.extra["VO"]) == ("https://example.org/?a=1&b=2", "49")


def test_refworks_entries() -> None:
    empty = REFWORKS.replace("T1 On things\n", "").replace("AB One\ntwo.\n", "")
    text = "Heading\n" + REFWORKS + "\n" + empty + REFWORKS
    first, second, third = items(refworks, text)
    assert isinstance(second, Rejected)
    assert (first.title, third.source.position) == ("On things", 3)  # type: ignore[union-attr]


REFER = """%0 Journal Article
%A Doe, Jane
%A Roe, Richard
%T On things
%J Journal of Things
%D 1995/01/01
%K one
two
%X First
second.
%R 10.1000/ABC
%U https://example.org/a
%@ 1234-5678
%P 5
%P 6-7
"""


def test_refer() -> None:
    record = only(refer, REFER)
    assert (record.title, record.abstract) == ("On things", "First second.")
    assert (record.authors, record.venue, record.year) == (("Jane Doe", "Richard Roe"), "Journal of Things", 1995)
    assert (record.doi, record.url) == ("10.1000/abc", "https://example.org/a")
    assert record.keywords == ("one", "two")
    assert record.extra == {"%0": "Journal Article", "%D": "1995/01/01", "%@": "1234-5678", "%P": "5\n6-7"}


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("%0 Serial\n%0 Audio\n%T A\n\n%0 Book\n%T B\n", ["A", "B"]),
        ("%0 Book\n%T A\n%0 Book\n%T B\n", ["A", "B"]),
        ("%T A\n%A X\n\n\n%T B\n", ["A", "B"]),
        ("%0 Book\n%T A\n\n%X After an empty line.\n", ["A"]),
    ],
)
def test_refer_entries(text: str, titles: list[str]) -> None:
    assert [record.title for record in records(refer, text)] == titles


@pytest.mark.parametrize(
    ("module", "head"),
    [(medline, PUBMED), (wos, WOS), (refworks, REFWORKS), (refer, REFER), (ris, "TY  - JOUR\nTI  - A\n")],
)
def test_each_format_is_known_by_its_content_alone(module: ModuleType, head: str) -> None:
    scores = {other.NAME: other.sniff(head, "x") for other in (medline, wos, refworks, refer, ris)}
    assert max(scores, key=lambda name: scores[name]) == module.NAME
    assert scores[module.NAME] >= 0.85
    assert sum(score > 0 for score in scores.values()) == 1


def test_fields_are_used_up_once_and_the_rest_is_kept() -> None:
    fields = Fields(7)
    for tag, value in [("A", " x "), ("B", ""), ("A", "y"), ("C", "x"), ("D", "2001"), ("D", "May 2001")]:
        fields.add(tag, value)
    fields.extend("z")
    assert fields.first("B", "A", "C") == "x"
    assert fields.year("D") == 2001
    assert fields.rest() == {"A": "y", "D": "May 2001\nz"}
    assert (fields.line, "C" in fields, fields.first("Q")) == (7, False, None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_chinese_exports_come_in_several_encodings(encoding: str) -> None:
    text = "RT Journal Article\r\nA1 张三;李四\r\nT1 检索增强生成方法研究综述\r\nJF 计算机学报\r\nYR 2020\r\n"
    record = only(refworks, text.encode(encoding))
    assert (record.title, record.venue, record.year) == ("检索增强生成方法研究综述", "计算机学报", 2020)
