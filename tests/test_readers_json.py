"""JSON lines and JSON of any structure."""

from __future__ import annotations

import io
import json

from rag.readers import ReadOptions, json_lines, json_whole, read_opened
from rag.readers.opened import Opened
from rag.types import Record, Rejected
from tests.formats import items, only, opened, records

OWN = {
    "id": "lab:1",
    "title": "Nets That Sort",
    "abstract": "They sort.",
    "authors": ["Jane Roe", "John Doe"],
    "venue": "ICLR",
    "year": 2024,
    "url": "https://openreview.net/forum?id=abcDEF123",
    "extra": {"note": "kept"},
}


def test_this_projects_own() -> None:
    record = only(json_lines, json.dumps(OWN) + "\n")
    assert (record.own_id, record.title, record.abstract) == ("lab:1", "Nets That Sort", "They sort.")
    assert (record.authors, record.venue, record.year) == (("Jane Roe", "John Doe"), "ICLR", 2024)
    assert (record.url, record.openreview_id) == (OWN["url"], "abcDEF123")
    assert record.extra == {"note": "kept"}


def test_own_ids_that_are_identifiers_count_as_such() -> None:
    first, second = records(
        json_lines, '{"id": "arXiv:2401.00001", "title": "A"}\n{"id": "pmid:123", "abstract": "B"}\n'
    )
    assert (first.own_id, first.arxiv_id) == ("arXiv:2401.00001", "2401.00001")
    assert (second.own_id, second.pmid) == ("pmid:123", "123")


def test_arxiv_snapshot() -> None:
    entry = {
        "id": "0704.0001",
        "submitter": "Jane Roe",
        "authors": "J. R\\'oe",
        "title": "A Long\n  Title",
        "journal-ref": "J.Sort.7:1,2008",
        "doi": "10.1000/J.7",
        "categories": "cs.DS",
        "abstract": "  We sort\nlists.\n",
        "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}],
        "update_date": "2009-11-26",
        "authors_parsed": [["Róe", "J.", ""], ["Doe", "John", "Jr"]],
    }
    record = only(json_lines, json.dumps(entry))
    assert (record.arxiv_id, record.own_id, record.doi, record.year) == ("0704.0001", None, "10.1000/j.7", 2007)
    assert (record.title, record.abstract, record.authors) == (
        "A Long Title",
        "We sort lists.",
        ("J. Róe", "John Doe Jr"),
    )
    assert record.url == "https://arxiv.org/abs/0704.0001"
    assert record.extra["categories"] == "cs.DS"


def test_arxiv_names_taken_apart_come_without_their_affiliations() -> None:
    row = {
        "id": "0704.9999",
        "title": "Tides",
        "authors": "J.-P. Roe (1 and 2), A. Mora ((1) Institute of Tides, Port, (2) Sea College)",
        "abstract": "They come and go.",
        "authors_parsed": [["Roe", "J. -P.", "", "1 and 2"], ["Mora", "A.", "Jr.", "Institute of Tides, Port"]],
    }
    assert only(json_lines, json.dumps(row) + "\n").authors == ("J.-P. Roe", "A. Mora Jr.")


def test_daily_arxiv() -> None:
    entry = {
        "id": "2503.00001",
        "pdf": "https://arxiv.org/pdf/2503.00001",
        "abs": "https://arxiv.org/abs/2503.00001",
        "authors": ["Jane Roe"],
        "title": "T",
        "categories": ["cs.CV"],
        "comment": None,
        "summary": "We see.",
    }
    record = only(json_lines, json.dumps(entry))
    assert (record.arxiv_id, record.year, record.abstract) == ("2503.00001", 2025, "We see.")
    assert record.url == "https://arxiv.org/abs/2503.00001"


def test_semantic_scholar() -> None:
    paper = {
        "paperId": "f00",
        "externalIds": {"DOI": "10.1000/X", "ArXiv": "2401.00001", "PubMed": "123", "CorpusId": 9},
        "title": "T",
        "abstract": None,
        "venue": "ACL",
        "year": 2024,
        "authors": [{"authorId": "1", "name": "Jane Roe"}],
        "fieldsOfStudy": ["Computer Science"],
    }
    record = only(json_whole, json.dumps({"total": 1, "offset": 0, "data": [paper]}))
    assert (record.doi, record.arxiv_id, record.pmid) == ("10.1000/x", "2401.00001", "123")
    assert (record.abstract, record.authors, record.own_id) == ("", ("Jane Roe",), None)
    assert record.keywords == ("Computer Science",)
    assert records(json_whole, json.dumps({"data": [{"citingPaper": paper}]}))[0].title == "T"


def test_openreview_notes_of_both_interfaces() -> None:
    new = {
        "id": "abcDEF1",
        "forum": "abcDEF1",
        "invitations": ["x"],
        "cdate": 1700000000000,
        "content": {
            "title": {"value": "T"},
            "abstract": {"value": "We do."},
            "authors": {"value": ["Jane Roe"]},
            "venue": {"value": "ICLR 2024 oral"},
            "pdf": {"value": "/pdf/x.pdf"},
        },
    }
    old = {
        "id": "ghiJKL2",
        "forum": "ghiJKL2",
        "invitation": "x",
        "content": {"title": "U", "abstract": "We did.", "pdf": "/pdf/y.pdf"},
    }
    first, second = records(json_whole, json.dumps({"notes": [new, old], "count": 2}))
    assert (first.title, first.abstract, first.authors, first.year) == ("T", "We do.", ("Jane Roe",), 2024)
    assert (first.openreview_id, first.url) == ("abcDEF1", "https://openreview.net/forum?id=abcDEF1")
    assert (second.title, second.openreview_id, second.own_id) == ("U", "ghiJKL2", None)


def test_openalex_and_csl() -> None:
    openalex = {
        "id": "https://openalex.org/W1",
        "display_name": "T",
        "publication_year": 2020,
        "doi": "https://doi.org/10.1/A",
        "abstract_inverted_index": {"We": [0], "sort": [1, 3], "and": [2]},
        "authorships": [{"author": {"display_name": "Jane Roe"}}],
    }
    csl = {
        "id": "roe",
        "type": "article",
        "title": "U",
        "author": [{"family": "Roe", "given": "Jane"}],
        "issued": {"date-parts": [[2019, 5]]},
        "container-title": "J. Sort.",
        "DOI": "10.1000/u",
    }
    first, second = records(json_whole, json.dumps([openalex, csl]))
    assert (first.title, first.abstract, first.year, first.authors) == ("T", "We sort and sort", 2020, ("Jane Roe",))
    assert (second.authors, second.year, second.venue, second.doi) == (("Jane Roe",), 2019, "J. Sort.", "10.1000/u")


def test_papers_under_ids_and_alone() -> None:
    nested = {"2310.1": [{"title": "A", "abstract": "a"}], "2310.2": [{"title": "B"}, {"title": "C"}]}
    assert [record.title for record in records(json_whole, json.dumps(nested))] == ["A", "B", "C"]
    assert only(json_whole, '{"title": "Alone", "references": [{"title": "Other"}]}').title == "Alone"


def test_a_bad_line_is_rejected_and_the_rest_read() -> None:
    good = json.dumps(OWN)
    found = items(json_lines, f'{good}\n{{"title": "x"\n\n[1]\n{{"title": NaN, "abstract": "kept"}}\n{good}\n')
    assert [type(item) for item in found] == [Record, Rejected, Rejected, Record, Record]
    assert [item.line for item in found if isinstance(item, Rejected)] == [2, 4]
    assert [item.source.position for item in found if isinstance(item, Record)] == [1, 4, 5]


def test_nulls_and_broken_entries_of_an_array_are_rejected_and_the_rest_read() -> None:
    text = '[\n{"title": "A", "year": NaN},\nnull,\n{"title": "B" "year": 3},\n{"title": "C"}\n]'
    found = items(json_whole, text)
    assert [item.title if isinstance(item, Record) else item.line for item in found] == ["A", 3, 4, "C"]


def test_a_cut_off_array_gives_what_is_whole() -> None:
    found = items(json_whole, '[{"title": "A"}, {"title": "B"}, {"title": "C", "abstract": "cut o')
    assert [type(item) for item in found] == [Record, Record, Rejected]


def test_a_large_array_is_read_in_pieces() -> None:
    entry = {"title": "T", "abstract": "word " * 2000}
    text = json.dumps({"count": 400, "notes": [dict(entry, title=f"T{n}") for n in range(400)]})
    assert len(text) > 3 * (1 << 20)
    assert [record.title for record in records(json_whole, text)] == [f"T{n}" for n in range(400)]


def test_json_without_papers_is_said_to_be_none() -> None:
    [rejected, _] = list(read_opened(opened('{"name": "pkg", "version": "1"}', "package.json"), ReadOptions()))
    assert isinstance(rejected, Rejected)
    assert "no entry" in rejected.reason
    found = items(json_lines, '{"other": 1}\n{"title": "T"}\n')
    assert [type(item) for item in found] == [Rejected, Record]
    [passed] = list(read_opened(opened('{"name": "pkg"}', "package.json"), ReadOptions(), listed=True))
    assert passed.format is None  # type: ignore[union-attr]


def test_lines_are_told_from_whole_json() -> None:
    one = json.dumps(OWN)
    pretty = json.dumps([OWN], indent=1)
    assert json_lines.sniff(f"{one}\n{one}\n", "") > json_whole.sniff(f"{one}\n{one}\n", "")
    assert json_whole.sniff(pretty, "") > json_lines.sniff(pretty, "") == 0


def test_any_encoding() -> None:
    data = json.dumps({"title": "标题", "abstract": "本文研究排序，并给出结果。"}, ensure_ascii=False)
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "gb18030"):
        raw = data.encode(encoding)
        [record, _] = list(read_opened(Opened("a.jsonl", lambda raw=raw: io.BytesIO(raw)), ReadOptions()))  # type: ignore[misc]
        assert isinstance(record, Record)
        assert record.title == "标题", encoding
