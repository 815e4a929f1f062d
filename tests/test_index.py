"""The library on disk: what is stored is found, replaced, removed; damage is found and mended."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag.errors import EmbedderMismatch, LibraryBusy, LibraryDamaged, StorageError
from rag.ingest.prepare import prepare
from rag.store.index import Index, PreparedPaper
from rag.store.locks import Lock
from rag.store.records import FloatArray, Order
from rag.types import Filters
from tests.fakes import FakeEncoder
from tests.library import fill, in_step, opened, paper, word

COUNT = 24


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with opened(tmp_path / "home") as index:
        fill(index, [paper(number) for number in range(COUNT)])
        yield index


def asked(index: Index, text: str) -> FloatArray:
    vectors = index.encoder.encode([text])
    return vectors.reshape(-1)


def test_a_paper_is_found_by_meaning_and_by_words(index: Index) -> None:
    wanted = paper(7)
    (row,) = [row for row, one in index.papers(index.rows()).items() if one.paper_id == "p7"]
    ((nearest, cosine), *_) = index.dense(asked(index, f"{wanted.title}. {wanted.abstract}"), 3)
    assert nearest == row
    assert cosine == pytest.approx(1, abs=1e-3)
    assert index.lexical("What does devicek do?", 3)[0][0] == row
    assert index.papers([row])[row] == wanted
    in_step(index)


def test_dense_gives_each_paper_once_and_as_many_as_asked(tmp_path: Path) -> None:
    # A limit of 24 tokens cuts these abstracts into several chunks each.
    with opened(tmp_path, encoder=FakeEncoder(64, 24)) as index:
        fill(index, [paper(number) for number in range(12)])
        assert index.verify().chunks > 12
        found = [row for row, _ in index.dense(asked(index, "We study graph pooling"), 10)]
        assert len(found) == len(set(found)) == 10
        assert len(index.dense(asked(index, "We study graph pooling"), 50)) == 12


def test_filters_hold_in_both_indexes(index: Index) -> None:
    asked_for = (Filters("neur"), Filters(year_from=2022), Filters(year_from=2021, year_to=2022), Filters("acl", 2023))
    for filters in asked_for:
        papers = index.papers(index.rows()).items()
        wanted = {
            row
            for row, one in papers
            if (filters.venue or "").casefold() in (one.venue or "").casefold()
            and (filters.year_from or 0) <= (one.year or 0) <= (filters.year_to or 9999)
        }
        assert 0 < len(wanted) < COUNT
        assert set(index.rows(filters)) == wanted
        assert {row for row, _ in index.dense(asked(index, "study"), COUNT, filters)} == wanted
        assert {row for row, _ in index.lexical("study points", COUNT, filters)} == wanted
    assert index.lexical("study", 5, Filters(venue="nowhere")) == []
    assert index.dense(asked(index, "study"), 5, Filters(venue="nowhere")) == []


def test_filters_change_no_score(index: Index) -> None:
    all_of_them = dict(index.lexical("study of graph pooling", COUNT))
    some = dict(index.lexical("study of graph pooling", COUNT, Filters(venue="ICLR", year_from=2000)))
    assert some == pytest.approx({row: all_of_them[row] for row in some})


def test_vectors_come_back_as_they_were_put(index: Index) -> None:
    one = paper(3)
    (made,) = prepare([one], index.encoder)
    (row,) = index.records.rows_of_ids(["p3"])
    held = index.vectors([row])[row]
    assert held.spans == made.spans
    assert held.chunk_spans == ((0, len(one.abstract)),)
    for name in ("title", "chunks", "sentences"):
        assert getattr(held, name) == pytest.approx(getattr(made, name), abs=1e-3)
        assert getattr(held, name).dtype == np.float32


def test_a_replaced_paper_leaves_nothing_of_its_old_text(tmp_path: Path) -> None:
    with opened(tmp_path, encoder=FakeEncoder(64, 24)) as index:
        rows = fill(index, [paper(1), paper(2)])
        assert index.verify().chunks > 2
        changed = paper(1, title="Zebra stripes", abstract="Zebras are striped.")
        assert fill(index, [changed]) == [rows[0]]
        assert index.papers(rows)[rows[0]] == changed
        assert index.lexical("devicec", 5) == []
        assert index.lexical("zebra", 5)[0][0] == rows[0]
        assert index.dense(asked(index, "Zebra stripes. Zebras are striped."), 1)[0][0] == rows[0]
        in_step(index)


def test_removed_papers_are_gone_and_their_rows_never_used_again(index: Index) -> None:
    (row,) = index.records.rows_of_ids(["p5"])
    assert index.remove(["p5", "not there"]) == 1
    assert index.find("p5") is None
    assert index.lexical("deviceh", 5) == []
    assert row not in [found for found, _ in index.dense(asked(index, paper(5).abstract), COUNT)]
    in_step(index)
    assert fill(index, [paper(5)])[0] > row
    in_step(index)


def test_a_paper_is_found_by_every_reference(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        ids = {"doi": "10.1234/ab.5", "arxiv_id": "2401.00001", "pmid": "123456", "openreview_id": "aBcDeF12"}
        known = paper(1, aliases=("old-1",), **ids)
        untitled = paper(2, title="Something about grasping", titled=False)
        fill(index, [known, untitled])
        for reference in (
            "p1",
            "old-1",
            "10.1234/AB.5",
            "https://doi.org/10.1234/ab.5",
            "2401.00001v3",
            "arXiv:2401.00001",
            "https://openreview.net/forum?id=aBcDeF12",
            "method1 for PROTEIN folding",
        ):
            assert index.find(reference) == known, reference
        assert index.find("Something about grasping") == untitled
        for reference in ("", "p", "10.1234/ab.6", "Method1", "papers.bib#1"):
            assert index.find(reference) is None, reference


def test_a_title_of_two_papers_names_neither(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        fill(index, [paper(1, title="Editorial"), paper(2, title="Editorial")])
        assert index.find("Editorial") is None


def test_rows_by_text_and_source(index: Index) -> None:
    (row,) = index.records.rows_of_ids(["p9"])
    assert index.rows(text="DEVICEM") == [row]
    assert index.rows(text='say "no"') == []
    assert index.rows(source="papers.bib") == []


def test_papers_in_another_order_and_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        fill(
            index,
            [
                paper(1, title="Beta", venue="ACL", year=2021, authors=("Zoe Writer",)),
                paper(2, title="alpha", venue=None, year=None, authors=()),
                paper(3, title="Gamma", venue="acl b", year=2020, authors=("ann Writer",)),
                paper(4, title="Delta", venue="ACL", year=2020, authors=("Bob Writer",)),
            ],
        )

        def ordered(order: Order, descending: bool = False) -> list[str]:
            rows = index.rows(order=order, descending=descending)
            held = index.papers(rows)
            return [held[row].title for row in rows]

        assert ordered("added") == ["Beta", "alpha", "Gamma", "Delta"]
        assert ordered("added", True) == ["Delta", "Gamma", "alpha", "Beta"]
        assert ordered("title") == ["alpha", "Beta", "Delta", "Gamma"]
        assert ordered("authors") == ["Gamma", "Delta", "Beta", "alpha"]
        assert ordered("venue", True) == ["Gamma", "Delta", "Beta", "alpha"]
        assert ordered("year") == ["Gamma", "Delta", "Beta", "alpha"]
        assert index.records.venue_counts() == [("ACL", 2), ("acl b", 1)]
        assert index.records.year_counts() == [(2020, 2), (2021, 1)]


def test_a_paper_without_abstract_is_found_by_its_title(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        (row,) = fill(index, [paper(1, title="Zebra stripes", abstract="")])
        assert index.lexical("zebra", 1)[0][0] == row
        assert index.dense(asked(index, "zebra stripes"), 1)[0][0] == row
        assert index.vectors([row])[row].sentences.shape == (0, 64)


def test_scan_is_exact(index: Index) -> None:
    question = asked(index, "We study speech codecs")
    rows, cosines = index.scan(question)
    vectors = index.vectors(index.rows())
    assert rows.tolist() == sorted(vectors)
    assert cosines == pytest.approx([max(vectors[row].chunks @ question) for row in rows.tolist()], abs=1e-3)


@pytest.mark.parametrize("few", [1, 10**6])
def test_scan_with_filters_is_exact_whether_few_or_many_match(
    index: Index, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.store.index.FEW", few)
    question = asked(index, "We study speech codecs")
    everything = dict(zip(*(part.tolist() for part in index.scan(question)), strict=True))
    filters = Filters(venue="ICLR")
    rows, cosines = index.scan(question, filters)
    assert rows.tolist() == index.rows(filters)
    assert cosines == pytest.approx([everything[row] for row in rows.tolist()], abs=1e-6)


def test_the_vector_store_is_langchains(index: Index) -> None:
    (document,) = index.vector_store().similarity_search(paper(4).abstract, k=1)
    assert document.metadata["paper_id"] == "p4"
    assert document.page_content == f"{paper(4).title}. {paper(4).abstract}"


def test_documents_say_no_more_than_the_paper_does(index: Index) -> None:
    fill(index, [paper(4, venue=None, year=1999)])
    (document,) = index.vector_store().similarity_search(paper(4).abstract, k=1)
    assert (document.metadata["paper_id"], document.metadata["year"]) == ("p4", 1999)
    assert document.metadata.get("venue") is None


def test_an_empty_library_answers_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        assert index.dense(asked(index, "zebra"), 5) == []
        assert index.lexical("zebra", 5) == []
        assert index.rows() == []
        in_step(index)


# Another embedder


def test_another_embedder_is_refused_with_the_command_that_mends_it(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        fill(index, [paper(1), paper(2)])
    other = FakeEncoder(dimension=32, name="other")
    with pytest.raises(EmbedderMismatch, match=r"fake-encoder .*other.*abstract-qa reindex"):
        opened(tmp_path, encoder=other)
    changed = FakeEncoder(dimension=64, max_tokens=30)
    changed.fingerprint = FakeEncoder(dimension=64).fingerprint
    with pytest.raises(EmbedderMismatch, match="chunks"):
        opened(tmp_path, encoder=changed)
    with opened(tmp_path, encoder=other, rebuild=True) as index:
        assert index.manifest.embedder == "other"
        assert index.dense(asked(index, paper(2).abstract), 1)[0][0] == index.records.rows_of_ids(["p2"])[0]
        in_step(index)
    opened(tmp_path, encoder=other).close()


def test_an_interrupted_rebuild_serves_the_old_vectors_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.store.reindex.PORTION", 4)
    with opened(tmp_path) as index:
        fill(index, [paper(number) for number in range(10)])

    class Failing(FakeEncoder):
        def encode_with_spans(self, texts, spans):  # type: ignore[no-untyped-def]
            if self.calls:
                raise RuntimeError("killed")
            return super().encode_with_spans(texts, spans)

    with pytest.raises(RuntimeError, match="killed"):
        opened(tmp_path, encoder=Failing(32, name="other"), rebuild=True)
    with opened(tmp_path) as index:
        assert index.notes == ()
        in_step(index)
    other = FakeEncoder(32, name="other")
    with opened(tmp_path, encoder=other, rebuild=True) as index:
        in_step(index)
    titles = [text for text in other.texts if text.startswith("Method") and "." not in text]
    assert len(titles) == 6


def test_an_empty_library_takes_any_embedder(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        fill(index, [paper(1)])
        index.remove(["p1"])
    with opened(tmp_path, encoder=FakeEncoder(dimension=32, name="other")) as index:
        fill(index, [paper(2)])
        in_step(index)


# Several at once


def test_a_second_writer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.store.index.WRITE_WAIT_S", 0.1)
    with opened(tmp_path, write=True) as first, opened(tmp_path) as second:
        fill(first, [paper(1)])
        with pytest.raises(LibraryBusy, match="Another process is writing"):
            fill(second, [paper(2)])
        with pytest.raises(LibraryBusy):
            opened(tmp_path, write=True)
    with opened(tmp_path, write=True) as index:
        fill(index, [paper(2)])
        in_step(index)


def test_a_reader_sees_what_another_process_stored(tmp_path: Path) -> None:
    with opened(tmp_path) as reader:
        fill(reader, [paper(number) for number in range(3)])
        reader.dense(asked(reader, "zebra"), 1)
        writer = (
            "import sys; from pathlib import Path; from tests.library import *\n"
            "with opened(Path(sys.argv[1])) as index:\n"
            "    fill(index, [paper(50, title='Zebra', abstract='Zebras zigzag.')])"
        )
        subprocess.run([sys.executable, "-c", writer, str(tmp_path)], check=True, timeout=120)
        (row,) = reader.records.rows_of_ids(["p50"])
        assert reader.lexical("zigzag", 1)[0][0] == row
        assert reader.dense(asked(reader, "Zebra. Zebras zigzag."), 1)[0][0] == row
        in_step(reader)


def test_many_threads_read_while_one_writes(index: Index) -> None:
    errors: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        try:
            while not stop.is_set():
                assert index.dense(asked(index, "We study graph pooling"), 5)
                assert index.lexical("graph pooling", 5)
                assert index.dense(asked(index, "graph"), 5, Filters(venue="ICLR"))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test tells it
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(COUNT, COUNT + 6):
            fill(index, [paper(number)])
        index.remove(["p0", "p1"])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []
    in_step(index)


def test_the_index_is_answered_exactly_while_it_is_written(index: Index) -> None:
    question = asked(index, "We study graph pooling")
    exact = sorted(zip(*index.scan(question), strict=True), key=lambda found: -found[1])
    with index._derived._lock.exclusive():
        found = index.dense(question, 5)
    assert [score for _, score in found] == pytest.approx([score for _, score in exact[:5]])


def test_a_lock_is_free_again_after_use(tmp_path: Path) -> None:
    lock, other = Lock(tmp_path / "x.lock"), Lock(tmp_path / "x.lock")
    with lock.held(0), lock.held(0), pytest.raises(LibraryBusy), other.held(0.05):
        pass
    with other.held(0):
        pass


# Damage


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "garbage": bytes(reversed(data)), "empty": b""}[how])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of more papers than Chroma holds back before it writes its vector files."""
    home = tmp_path_factory.mktemp("large")
    with opened(home) as index:
        fill(index, [paper(number) for number in range(1100)])
    return home


CHROMA_FILES = ["chroma.sqlite3", "data_level0.bin", "header.bin", "length.bin", "index_metadata.pickle"]


@pytest.mark.parametrize("how", ["cut", "garbage", "empty"])
@pytest.mark.parametrize("name", [*CHROMA_FILES, "meta.json", "*.store", "*.term"])
def test_a_damaged_index_is_made_anew_without_embedding(large: Path, tmp_path: Path, name: str, how: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(large, home)
    path = max(home.rglob(name), key=lambda found: found.stat().st_size)
    damage(path, how)
    encoder = FakeEncoder(dimension=64)
    with opened(home, encoder=encoder) as index:
        (row,) = index.records.rows_of_ids(["p1099"])
        assert index.dense(index.vectors([row])[row].chunks[0], 1)[0][0] == row
        assert index.lexical(word("device", 1099), 1)[0][0] == row
        assert encoder.calls == []
        if how == "cut":
            in_step(index)


def test_a_missing_index_is_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        fill(index, [paper(number) for number in range(5)])
    for part in ("chroma", "lexical"):
        shutil.rmtree(tmp_path / part)
    with opened(tmp_path) as index:
        assert len(index.notes) == 2
        in_step(index)


@pytest.mark.parametrize("how", ["cut", "garbage", "text"])
def test_a_damaged_database_is_refused_with_what_to_do(tmp_path: Path, how: str) -> None:
    with opened(tmp_path) as index:
        fill(index, [paper(number) for number in range(50)])
    path = tmp_path / "library.sqlite"
    if how == "text":
        path.write_text("This is no database, but a letter.\n" * 100)
    else:
        damage(path, how)
    with pytest.raises(LibraryDamaged, match="abstract-qa restore"), opened(tmp_path) as index:
        index.repair()


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "library.sqlite") as other:
        other.execute("CREATE TABLE notes (text TEXT)")
    other.close()
    with pytest.raises(LibraryDamaged, match="another program"):
        opened(tmp_path)


def test_a_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with sqlite3.connect(tmp_path / "library.sqlite") as database:
        database.execute("UPDATE manifest SET value = '99' WHERE key = 'schema'")
    database.close()
    with pytest.raises(LibraryDamaged, match="layout 99"):
        opened(tmp_path)


def test_verify_names_what_is_out_of_step_and_repair_mends_it(index: Index) -> None:
    dense, lexical = index._derived.dense(), index._derived.lexical()
    dense.delete(["3:0"])
    lexical.update({}, [4])
    problems = index.verify().problems
    assert len(problems) == 2
    assert any("Vector" in problem for problem in problems)
    done = index.repair().done
    assert len(done) == 2
    in_step(index)
    assert index.repair().done == ()


# What was begun is finished


@pytest.mark.parametrize("where", ["dense.Dense.upsert", "lexical.Lexical.update", "derived.Derived._settle"])
def test_what_a_kill_left_undone_is_finished_at_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with opened(tmp_path) as index:
        fill(index, [paper(1), paper(2)])
        with monkeypatch.context() as patch:
            patch.setattr(f"rag.store.{where}", killed)
            with pytest.raises(KeyboardInterrupt):
                fill(index, [paper(2, abstract="Zebras zigzag."), paper(3)])
    encoder = FakeEncoder(dimension=64)
    with opened(tmp_path, encoder=encoder) as index:
        assert any("2 papers" in note for note in index.notes)
        assert len(index) == 3
        assert index.lexical("zigzag", 1)
        assert encoder.calls == []
        in_step(index)
    with opened(tmp_path) as index:
        assert index.notes == ()


def test_a_removal_that_was_cut_short_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with opened(tmp_path) as index:
        fill(index, [paper(1), paper(2)])
        with monkeypatch.context() as patch:
            patch.setattr("rag.store.lexical.Lexical.update", killed)
            with pytest.raises(KeyboardInterrupt):
                index.remove(["p1"])
    with opened(tmp_path) as index:
        assert len(index) == 1
        in_step(index)


# The disk


def test_a_full_disk_leaves_the_library_as_it_was(index: Index) -> None:
    database = index.records.database
    pages = database._writer.execute("PRAGMA page_count").fetchone()[0]
    database._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="full"):
        fill(index, [paper(number) for number in range(100, 400)])
    assert len(index) == COUNT
    in_step(index)
    database._writer.execute("PRAGMA max_page_count = 1000000")
    fill(index, [paper(number) for number in range(100, 110)])
    in_step(index)


def test_a_home_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="--home"):
        opened(tmp_path / "file" / "home")


def test_papers_that_turn_out_to_be_one_become_one(index: Index) -> None:
    first, second = index.records.rows_of_ids(["p1"])[0], index.records.rows_of_ids(["p2"])[0]
    merged = paper(1, aliases=("p2",))
    index.put([PreparedPaper(merged, None, first, absorbs=(second,))])
    assert index.find("p2") == index.find("p1") == merged
    assert len(index) == COUNT - 1
    in_step(index)
