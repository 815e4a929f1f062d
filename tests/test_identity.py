"""Which entries are one paper, what merging keeps, and near-identical abstracts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.papers.identity import Conflict, is_sure, keys, merge, near_identical, near_keys, paper_from, paper_id_of, same
from rag.types import Record, Source

ABSTRACT = (
    "We weigh the stones of forty old walls and find that their weight falls with height. The fall is the same in "
    "all regions, which suggests that masons chose stones by hand. One parameter explains most of the spread."
)
OTHER = (
    "Doors of old barns turn on iron hinges whose wear tells their age. A survey of ninety doors gives a curve of wear "
    "against age, and the curve is used to date barns for which no record of building has come down to us."
)


def record(position: int = 1, file: str = "/a/one.bib", **fields: object) -> Record:
    values: dict[str, object] = {"title": None, "abstract": "", **fields}
    return Record(source=Source(file, position), **values)  # type: ignore[arg-type]


def test_keys_run_from_the_surest_to_the_least() -> None:
    entry = record(
        title="On Wálls: A Study",
        abstract=ABSTRACT,
        own_id="lab:1",
        doi="10.1000/X",
        arxiv_id="2401.00001",
        pmid="12",
        openreview_id="aBc",
    )
    found = keys(entry)
    assert found[:6] == (
        "id:lab:1",
        "doi:10.1000/x",
        "arxiv:2401.00001",
        "pmid:12",
        "openreview:aBc",
        "title:onwallsastudy",
    )
    assert found[6].startswith("abs:")
    assert [is_sure(key) for key in found] == [True] * 5 + [False] * 2


def test_an_arxiv_doi_is_the_arxiv_id() -> None:
    assert keys(record(doi="10.48550/arxiv.2401.00001", title="T"))[0] == "arxiv:2401.00001"


def test_paper_ids() -> None:
    assert paper_id_of(record(own_id="x", doi="10.1000/a", title="T")) == "x"
    assert paper_id_of(record(doi="10.1000/A", title="T")) == "doi:10.1000/a"
    assert paper_id_of(record(abstract=ABSTRACT)).startswith("abs:")
    one, two = (paper_id_of(record(title="T", authors=(name,), year=2020)) for name in ("Jane Roe", "Kim Doe"))
    assert one.startswith("title:")
    assert one != two


def test_a_paper_of_an_untitled_record_is_labelled() -> None:
    paper = paper_from(record(abstract="We present OX-Maps, a mapper of caves."))
    assert (paper.titled, paper.title) == (False, "OX-Maps: mapper of caves")
    assert paper.locator == "one.bib#1"


def test_one_paper_from_three_kinds_of_file() -> None:
    bibtex = record(
        title="On Walls: A Study of Stones",
        authors=("Jane Roe", "Kim Doe"),
        year=2020,
        doi="10.1000/w",
        venue="J. Walls",
    )
    table = record(
        3,
        "/a/two.csv",
        title="On walls – a study of stones",
        authors=("J. Roe",),
        year=2020,
        abstract=ABSTRACT,
        url="https://a.org",
    )
    plain = record(7, "/a/three.txt", abstract=ABSTRACT.replace("forty", "40"), venue="J. Walls")
    paper = paper_from(bibtex)
    assert same(table, paper)
    paper, conflicts = merge(paper, table)
    assert conflicts == ()
    assert same(plain, paper)
    paper, conflicts = merge(paper, plain)
    assert (paper.title, paper.abstract, paper.doi, paper.url) == (
        "On Walls: A Study of Stones",
        ABSTRACT,
        "10.1000/w",
        "https://a.org",
    )
    assert paper.authors == ("Jane Roe", "Kim Doe")
    assert [source.locator for source in paper.sources] == ["one.bib#1", "two.csv#3", "three.txt#7"]
    assert [conflict.field for conflict in conflicts] == ["abstract"]
    assert paper.extra["abstract (other)"] == plain.abstract


def test_an_untitled_paper_takes_the_title_of_its_twin() -> None:
    paper, _ = merge(paper_from(record(abstract=ABSTRACT)), record(title="On Walls", abstract=ABSTRACT))
    assert (paper.title, paper.titled) == ("On Walls", True)


def test_namesakes_stay_two() -> None:
    title = "A Study of Old Walls and Doors"
    paper = paper_from(record(title=title, authors=("Jane Roe",), year=2020, abstract=ABSTRACT))
    assert not same(record(title=title, authors=("Kim Doe",), year=2020, abstract=OTHER), paper)
    assert not same(record(title=title, authors=("Jane Roe",), year=2015), paper)
    assert not same(record(title=title, abstract=OTHER), paper)
    assert not same(
        record(title=title, authors=("Jane Roe",), year=2020, doi="10.1000/b"), replace(paper, doi="10.1000/a")
    )
    assert same(record(title=title, authors=("Roe, J.",), year=2021), paper)
    assert same(record(title=title), paper)


def test_papers_of_one_supplement_stay_apart_though_they_share_its_doi() -> None:
    identifiers: list[dict[str, Any]] = [
        {"doi": "10.1000/s1"},
        {"arxiv_id": "2401.00001"},
        {"openreview_id": "aBcDeF"},
        {"pmid": "12"},
    ]
    for identifier in identifiers:
        paper = paper_from(record(title="On Walls", abstract=ABSTRACT, **identifier))
        assert not same(record(title="Hinges of Barns", abstract=OTHER, **identifier), paper)
        # Of one paper are: another title, a subtitle, other typography, another abstract.
        assert same(record(title="Stones in Walls", abstract=ABSTRACT, **identifier), paper)
        assert same(record(title="On Walls: A Survey", abstract=OTHER, **identifier), paper)
        assert same(record(title="on  “walls”", abstract=OTHER, **identifier), paper)
        assert same(record(title="论墙", abstract=OTHER, **identifier), paper)
        assert same(record(title="Hinges of Barns", **identifier), paper)
    both: dict[str, Any] = {"doi": "10.1000/s1", "pmid": "12"}
    assert same(
        record(title="Hinges", abstract=OTHER, **both), paper_from(record(title="W", abstract=ABSTRACT, **both))
    )


def test_without_an_abstract_other_authors_tell_papers_of_one_doi_apart() -> None:
    paper = paper_from(record(title="On Walls", doi="10.1000/s1", authors=("Jane Roe", "Kim Doe")))
    assert not same(record(title="Hinges of Barns", doi="10.1000/s1", authors=("Ann Poe",)), paper)
    assert same(record(title="Hinges of Barns", doi="10.1000/s1", authors=("K. Doe",)), paper)
    assert same(record(title="Walls, on", doi="10.1000/s1", authors=("Ann Poe",)), paper)


def test_a_short_title_alone_says_nothing() -> None:
    assert not same(record(title="Introduction"), paper_from(record(title="Introduction", year=2020)))
    assert same(
        record(title="Walls", authors=("J. Roe",), year=2020),
        paper_from(record(title="Walls", authors=("Jane Roe",), year=2020)),
    )


def test_a_preprint_and_its_publication_are_one() -> None:
    paper = paper_from(
        record(
            title="On Walls: A Study of Stones", authors=("Jane Roe",), year=2019, doi="10.1101/2019.1", venue="bioRxiv"
        )
    )
    published = record(
        2, title="On Walls: A Study of Stones", authors=("Jane Roe",), year=2020, doi="10.1000/w", venue="J. Walls"
    )
    assert same(published, paper)
    merged, conflicts = merge(paper, published)
    assert (merged.doi, merged.venue, merged.year) == ("10.1000/w", "J. Walls", 2020)
    assert merged.extra["doi (other)"] == "10.1101/2019.1"
    assert Conflict("year", "2020", "2019") in conflicts


def test_different_stated_ids_are_told_apart_by_all_but_an_identifier() -> None:
    one = record(own_id="a", title="On Walls: A Study of Stones", abstract=ABSTRACT)
    two = record(own_id="b", title="On Walls: A Study of Stones", abstract=ABSTRACT)
    assert not same(two, paper_from(one))
    assert same(replace(two, doi="10.1000/w"), paper_from(replace(one, doi="10.1000/w")))
    merged, _ = merge(paper_from(one), two)
    assert merged.aliases == ("b",)
    assert "id:b" in keys(merged)


def test_the_same_abstract_under_another_title_is_the_same_unless_authors_differ() -> None:
    paper = paper_from(record(title="On Walls", abstract=ABSTRACT, authors=("Jane Roe",)))
    assert same(record(title="Stones in Walls", abstract=ABSTRACT), paper)
    assert not same(record(title="Stones in Walls", abstract=ABSTRACT, authors=("Kim Doe",)), paper)
    notice = "This paper has been withdrawn."
    assert not same(record(title="B", abstract=notice), paper_from(record(title="A", abstract=notice)))
    longer = f"{notice[:-1]} by the authors due to a crucial error in the proof of the main theorem, to be mended."
    assert not same(record(title="B", abstract=longer), paper_from(record(title="A", abstract=longer)))


def test_conflicts_keep_the_richer_value_and_put_the_other_aside() -> None:
    paper = paper_from(
        record(title="On Walls", venue="J. Walls", year=2020, authors=("Jane Roe", "Kim Doe"), keywords=("Stone",))
    )
    new = record(
        2,
        title="On Walls",
        venue="Proc. Doors",
        year=2021,
        authors=("Jim Poe",),
        keywords=("stone", "wall"),
        extra={"pages": "1"},
    )
    merged, conflicts = merge(paper, new)
    assert {conflict.field: (conflict.kept, conflict.other) for conflict in conflicts} == {
        "venue": ("J. Walls", "Proc. Doors"),
        "year": ("2020", "2021"),
        "authors": ("Jane Roe; Kim Doe", "Jim Poe"),
    }
    assert merged.keywords == ("Stone", "wall")
    assert merged.extra == {
        "pages": "1",
        "venue (other)": "Proc. Doors",
        "year (other)": "2021",
        "authors (other)": "Jim Poe",
    }


def test_near_identical_abstracts_share_a_key() -> None:
    edited = ABSTRACT.replace("most of the spread", "nearly all of it")
    assert set(near_keys(edited)) & set(near_keys(ABSTRACT))
    assert near_identical(edited, ABSTRACT)
    assert not near_identical(OTHER, ABSTRACT)
    assert not set(near_keys(OTHER)) & set(near_keys(ABSTRACT))
    assert not near_identical(ABSTRACT, f"{ABSTRACT} {OTHER} {OTHER} {ABSTRACT[::-1]}")
    assert near_keys("Too short.") == ()


WORDS = st.lists(
    st.sampled_from(["wall", "stone", "door", "hinge", "mason", "age", "curve", "barn"]),
    min_size=60,
    max_size=90,
)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.integers(0, 59))
def test_one_changed_word_leaves_a_shared_key(words: list[str], at: int) -> None:
    numbered = [f"{word}{number}" for number, word in enumerate(words)]
    changed = [*numbered[:at], "changed", *numbered[at + 1 :]]
    one, two = " ".join(numbered), " ".join(changed)
    assert near_identical(one, two)
    assert set(near_keys(one)) & set(near_keys(two))


TEXT = st.none() | st.sampled_from(["On Walls", "On walls", "Doors of Barns", "ICLR", "arXiv"])
RECORDS = st.builds(
    record,
    position=st.integers(1, 3),
    title=TEXT,
    abstract=st.sampled_from(["", ABSTRACT, OTHER, "Short."]),
    authors=st.sampled_from([(), ("Jane Roe",), ("J. Roe", "Kim Doe"), ("Jim Poe",)]),
    venue=TEXT,
    year=st.none() | st.sampled_from([2019, 2020]),
    url=st.none() | st.sampled_from(["https://a.org", "https://b.org"]),
    doi=st.none() | st.sampled_from(["10.1000/a", "10.1000/b", "10.1101/c"]),
    arxiv_id=st.none() | st.just("2401.00001"),
    keywords=st.sampled_from([(), ("a",), ("A", "b")]),
    own_id=st.none() | st.sampled_from(["x", "y"]),
    extra=st.sampled_from([{}, {"pages": "1"}, {"pages": "2"}]),
).filter(lambda entry: bool(entry.title or entry.abstract))


@settings(max_examples=300, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=4))
def test_merging_loses_no_value_and_is_stable(entries: list[Record]) -> None:
    paper = paper_from(entries[0])
    for entry in entries[1:]:
        paper, _ = merge(paper, entry)
    again = paper
    for entry in entries:
        again, conflicts = merge(again, entry)
        assert conflicts == ()
    assert again == paper
    said = " ".join(
        [paper.title, paper.abstract, *paper.authors, *paper.keywords, *paper.extra.values(), *paper.aliases]
    )
    said += " ".join(
        str(value) for value in (paper.paper_id, paper.venue, paper.year, paper.url, paper.doi, paper.arxiv_id)
    )
    for entry in entries:
        for value in (
            entry.title,
            entry.abstract,
            entry.venue,
            entry.url,
            entry.doi,
            entry.own_id,
            *entry.extra.values(),
        ):
            assert not value or value.casefold() in said.casefold()
        assert entry.year is None or str(entry.year) in said
        assert entry.source in paper.sources
