"""Reading files into the library: what is new, known, edited, merged, gone; nothing lost on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag.errors import InputError, LibraryBusy, StorageError
from rag.ingest.run import IngestOptions, IngestProgress, IngestReport, ingest
from rag.models.embeddings import DeferredEncoder, Encoder, FloatArray
from rag.readers import ReadOptions
from rag.settings import Settings
from rag.store.index import Index
from tests.fakes import FakeEncoder
from tests.library import entry, in_step, opened, paper, word, write_jsonl

ZEBRAS = (
    "Zebras zigzag across the open plain in search of water and of shade each day. Their stripes confuse the flies "
    "that follow them, and the herd keeps together at night. We watch them for a year and count how often they turn."
)


KETTLES = (
    "On a ship in a storm everything slides that is not tied down. This report tells how cooks fasten pots by magnets, "
    "what boils over, and which recipes still succeed when waves are higher than the funnel."
)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with opened(tmp_path / "home") as index:
        yield index


def counts(report: IngestReport) -> tuple[int, int, int, int, int]:
    """Added, unchanged, replaced, merged, rejected."""
    return report.added, report.unchanged, report.replaced, report.merged, len(report.rejected)


def texts(index: Index) -> list[str]:
    """What the encoder was given since this was last asked, titles left out."""
    encoder = index.encoder
    assert isinstance(encoder, FakeEncoder)
    found = [text for text in encoder.texts if "." in text]
    encoder.calls.clear()
    return found


def read(index: Index, *paths: Path | str, **options: object) -> IngestReport:
    return ingest(paths, index, IngestOptions(**options))  # type: ignore[arg-type]


def test_reading_twice_changes_nothing(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(number) for number in range(7)])
    assert counts(read(index, file)) == (7, 0, 0, 0, 0)
    generation = index.manifest.generation
    texts(index)
    assert counts(read(index, file)) == (0, 7, 0, 0, 0)
    assert index.manifest.generation == generation
    # Even when the file has to be read again.
    file.write_text(file.read_text() + "\n")
    assert counts(read(index, file)) == (0, 7, 0, 0, 0)
    assert texts(index) == []
    in_step(index)


def test_an_edited_entry_takes_the_place_of_what_it_was(index: Index, tmp_path: Path) -> None:
    entries = [entry(number) for number in range(5)]
    file = write_jsonl(tmp_path / "a.jsonl", entries)
    read(index, file)
    texts(index)
    entries[2]["abstract"] = "Zebras zigzag."
    write_jsonl(file, entries)
    assert counts(read(index, file)) == (0, 4, 1, 0, 0)
    assert texts(index) == [f"{paper(2).title}. Zebras zigzag."]
    assert index.lexical("zigzag", 1)
    assert index.lexical(word("device", 2), 1) == []
    assert len(index) == 5
    in_step(index)


def test_other_fields_change_without_embedding(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1)])
    read(index, file)
    texts(index)
    write_jsonl(file, [entry(1, year=1999)])
    assert counts(read(index, file)) == (0, 0, 1, 0, 0)
    assert texts(index) == []
    found = index.find("p1")
    assert found is not None
    assert found.year == 1999
    in_step(index)


def test_an_entry_rewritten_under_its_doi_is_replaced(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "one.bib"
    file.write_text(
        "@article{a, title={Kettles at sea}, doi={10.5555/k.1}, year={2020}, abstract={Kettles slide about.}}"
    )
    assert counts(read(index, file)) == (1, 0, 0, 0, 0)
    new = f"@article{{a, title={{How zebras turn}}, doi={{10.5555/k.1}}, year={{2020}}, abstract={{{ZEBRAS}}}}}"
    file.write_text(new)
    assert counts(read(index, file)) == (0, 0, 1, 0, 0)
    assert index.records.count() == 1


def test_an_edited_abstract_of_a_plain_list_is_replaced_and_an_inserted_one_added(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    abstracts = [
        f"{paper(number).abstract} We discuss what {word('this', number)} means for practice." for number in range(5)
    ]
    file.write_text("ICLR 2024 Papers\n\n" + "\n\n".join(abstracts) + "\n")
    assert counts(read(index, file)) == (5, 0, 0, 0, 0)
    abstracts[3] = abstracts[3].replace("It reaches", "It now reaches and surpasses")
    file.write_text("ICLR 2024 Papers\n\n" + "\n\n".join(abstracts) + "\n")
    assert counts(read(index, file)) == (0, 4, 1, 0, 0)
    abstracts.insert(0, ZEBRAS)
    file.write_text("ICLR 2024 Papers\n\n" + "\n\n".join(abstracts) + "\n")
    assert counts(read(index, file)) == (1, 5, 0, 0, 0)
    for position, abstract in enumerate(abstracts, start=1):
        found = index.find(f"list.txt#{position}")
        assert found is not None
        assert found.abstract == abstract
        assert found.locator == f"list.txt#{position}"
    in_step(index)


def test_a_list_of_other_papers_under_the_same_name_replaces_none(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "week.jsonl", [entry(number) for number in range(3)])
    read(index, file)
    write_jsonl(file, [entry(number) for number in range(30, 33)])
    assert counts(read(index, file)) == (3, 0, 0, 0, 0)
    assert len(index) == 6


def test_what_a_file_no_longer_has_stays_unless_pruned(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(number) for number in range(4)])
    read(index, file)
    write_jsonl(file, [entry(number) for number in (0, 1, 3)])
    assert counts(read(index, file)) == (0, 3, 0, 0, 0)
    assert len(index) == 4
    assert index.find("a.jsonl#3") == index.find("p3")
    file.write_text(file.read_text() + "\n")
    report = read(index, file, prune=True)
    assert (report.removed, report.files[0].pruned, len(index)) == (1, 1, 3)
    assert index.find("p2") is None
    in_step(index)


def test_pruning_needs_no_change_of_the_file(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(number) for number in range(4)])
    read(index, file)
    write_jsonl(file, [entry(0)])
    read(index, file)
    assert read(index, file, prune=True).removed == 3
    assert len(index) == 1


def test_a_paper_of_two_sources_stays_while_one_has_it(index: Index, tmp_path: Path) -> None:
    first = write_jsonl(tmp_path / "a.jsonl", [entry(1, venue=None), entry(2)])
    second = write_jsonl(tmp_path / "b.jsonl", [entry(1, url="https://example.org/1")])
    read(index, first)
    assert counts(read(index, second)) == (0, 0, 0, 1, 0)
    both = index.find("p1")
    assert both is not None
    assert (both.venue, both.url) == (paper(1).venue, "https://example.org/1")
    assert [source.locator for source in both.sources] == ["a.jsonl#1", "b.jsonl#1"]
    write_jsonl(first, [entry(2)])
    assert read(index, first, prune=True).removed == 0
    left = index.find("p1")
    assert left is not None
    assert [source.locator for source in left.sources] == ["b.jsonl#1"]
    write_jsonl(second, [entry(3)])
    assert read(index, second, prune=True).removed == 1
    assert index.find("p1") is None
    in_step(index)


def test_a_file_that_left_its_folder_is_pruned(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    write_jsonl(folder / "a.jsonl", [entry(1)])
    gone = write_jsonl(folder / "b.jsonl", [entry(2)])
    assert counts(read(index, folder)) == (2, 0, 0, 0, 0)
    assert counts(read(index, folder)) == (0, 2, 0, 0, 0)
    gone.unlink()
    assert read(index, folder, prune=True).removed == 1
    assert index.find("p2") is None


def test_one_entry_twice_in_a_file_is_one_paper(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1), entry(2), entry(1)])
    assert counts(read(index, file)) == (2, 0, 0, 1, 0)
    file.write_text(file.read_text() + "\n")
    assert counts(read(index, file)) == (0, 3, 0, 0, 0)
    in_step(index)


def test_a_conflict_is_reported_and_no_field_lost(index: Index, tmp_path: Path) -> None:
    read(index, write_jsonl(tmp_path / "a.jsonl", [entry(1, note="from a")]))
    report = read(index, write_jsonl(tmp_path / "b.jsonl", [entry(1, year=2023, note="from a")]))
    ((paper_id, conflict),) = report.files[0].conflicts
    assert (paper_id, conflict.field, conflict.other) == ("p1", "year", "2023")
    assert report.to_json()["files"][0]["conflicts"] == [
        {"paper_id": "p1", "field": "year", "kept": str(paper(1).year), "other": "2023"}
    ]


def test_an_untitled_abstract_joins_its_titled_twin_whichever_came_first(tmp_path: Path) -> None:
    abstract = " ".join(
        f"We describe {word('step', number)} of the {word('way', number)} taken." for number in range(12)
    )
    twin = abstract.replace("taken", "chosen", 1)
    plain = tmp_path / "list.txt"
    plain.write_text(f"ICLR 2024 Papers\n\n{twin}\n\n{ZEBRAS}\n")
    titled = write_jsonl(tmp_path / "a.jsonl", [entry(1, abstract=abstract)])
    for order in ((plain, titled), (titled, plain)):
        with opened(tmp_path / order[0].stem) as index:
            report = read(index, *order)
            assert (report.added, report.merged, len(index)) == (2, 1, 2)
            found = index.find("list.txt#1")
            assert found is not None
            assert (found.title, found.titled) == (paper(1).title, True)
            in_step(index)


def test_different_papers_with_one_title_stay_two(index: Index, tmp_path: Path) -> None:
    entries = [{"title": "Editorial", "abstract": one} for one in ("Zebras zigzag.", "Coral reefs glow.")]
    assert counts(read(index, write_jsonl(tmp_path / "a.jsonl", entries))) == (2, 0, 0, 0, 0)
    assert len(index) == 2
    in_step(index)


def test_two_papers_that_a_third_entry_joins_become_one(index: Index, tmp_path: Path) -> None:
    title = paper(1).title
    by_doi: dict[str, Any] = {"title": "", "abstract": paper(1).abstract + " " + paper(7).abstract, "doi": "10.1234/x"}
    by_title: dict[str, Any] = {
        "title": title,
        "abstract": "",
        "authors": list(paper(1).authors),
        "year": paper(1).year,
    }
    joined = by_title | {"doi": "10.1234/x"}
    for number, one in enumerate((by_doi, by_title)):
        read(index, write_jsonl(tmp_path / f"{number}.jsonl", [one]))
    assert len(index) == 2
    read(index, write_jsonl(tmp_path / "joined.jsonl", [joined]))
    assert len(index) == 1
    found = index.find("10.1234/x")
    assert found is not None
    assert (found.title, bool(found.abstract), len(found.sources)) == (title, True, 3)
    in_step(index)


def test_a_rejected_entry_is_named_and_the_rest_comes_in(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join([json.dumps(entry(1)), '{"title": "broken', json.dumps(entry(2))]) + "\n")
    report = read(index, file)
    assert counts(report) == (2, 0, 0, 0, 1)
    assert (report.rejected[0].file, report.rejected[0].line) == (str(file), 2)
    assert report.to_json()["rejected"][0]["line"] == 2
    # It is named again while it is there.
    assert counts(read(index, file)) == (0, 2, 0, 0, 1)


def test_a_title_alone_is_a_paper_and_counted_apart(index: Index, tmp_path: Path) -> None:
    report = read(index, write_jsonl(tmp_path / "a.jsonl", [entry(1, abstract=""), entry(2)]))
    assert (report.added, report.without_abstract) == (2, 1)
    assert index.lexical(paper(1).title, 1)
    in_step(index)


class Picky(FakeEncoder):
    """Cannot take texts that speak of zebras."""

    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        if any("zebra" in text.lower() for text in texts):
            raise ValueError("no zebras")
        return super().encode_with_spans(texts, spans)


def test_an_entry_that_cannot_be_embedded_costs_no_other(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1), entry(2, abstract="Zebras zigzag."), entry(3)])
    with opened(tmp_path / "home", encoder=Picky(64)) as index:
        report = read(index, file)
        assert counts(report) == (2, 0, 0, 0, 1)
        assert "entry 2 could not be embedded (no zebras)" in report.rejected[0].reason
        in_step(index)
    with opened(tmp_path / "home") as index:
        file.write_text(file.read_text() + "\n")
        assert counts(read(index, file)) == (1, 2, 0, 0, 0)


def test_many_batches_and_their_order(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.ingest.storing.BATCH", 4)
    # Every third entry is one that came before: in the same batch, in the one being stored, or long ago.
    numbers = [number if number % 3 else number // 2 for number in range(40)]
    file = write_jsonl(tmp_path / "a.jsonl", [entry(number, note=str(place)) for place, number in enumerate(numbers)])
    told: list[IngestProgress] = []
    report = ingest([file], index, IngestOptions(), told.append)
    distinct = len(set(numbers))
    assert counts(report) == (distinct, 0, 0, 40 - distinct, 0)
    assert len(index) == distinct
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    assert (told[-1].done, told[-1].total, told[-1].stage) == (40, 40, "done")
    in_step(index)


def test_reading_what_is_known_loads_no_encoder(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1), entry(2)])
    loads: list[Encoder] = []

    def load() -> Encoder:
        loads.append(FakeEncoder(dimension=64))
        return loads[-1]

    def read_with_deferred() -> IngestReport:
        deferred = DeferredEncoder("fake-encoder", FakeEncoder(dimension=64).fingerprint, load)
        with Index.open(Settings(home=tmp_path / "home"), deferred, write=True) as index:
            return read(index, file)

    assert counts(read_with_deferred()) == (2, 0, 0, 0, 0)
    assert len(loads) == 1
    assert counts(read_with_deferred()) == (0, 2, 0, 0, 0)
    write_jsonl(file, [entry(1), entry(2, authors=["Ada Changed"])])
    assert counts(read_with_deferred()) == (0, 1, 1, 0, 0)
    assert len(loads) == 1


def test_options_reach_the_readers_and_count_as_a_change(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1, venue=None)])
    read(index, file)
    report = ingest([file], index, IngestOptions(ReadOptions(venue="Zoology")))
    assert counts(report) == (0, 0, 1, 0, 0)
    assert index.rows(text="zoology")


def test_a_removed_paper_comes_back_when_its_file_is_read_again(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1), entry(2)])
    read(index, file)
    index.remove(["p1"])
    assert counts(read(index, file)) == (1, 1, 0, 0, 0)


def test_a_missing_path_is_refused_before_anything_is_read(index: Index, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1)])
    with pytest.raises(InputError, match="does not exist"):
        read(index, file, tmp_path / "missing.bib")
    assert len(index) == 0


def test_a_second_ingest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.store.index.WRITE_WAIT_S", 0.1)
    file = write_jsonl(tmp_path / "a.jsonl", [entry(1)])
    with opened(tmp_path / "home", write=True), opened(tmp_path / "home") as second, pytest.raises(LibraryBusy):
        read(second, file)


def test_an_error_of_the_disk_is_passed_on_and_the_next_run_finishes(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("The disk is full.")

    file = write_jsonl(tmp_path / "a.jsonl", [entry(number) for number in range(5)])
    with monkeypatch.context() as patch:
        patch.setattr("rag.store.dense.Dense.upsert", full)
        with pytest.raises(StorageError):
            read(index, file)
    report = read(index, file)
    assert report.added + report.unchanged == 5
    assert len(index) == 5
    in_step(index)


@pytest.mark.data
def test_the_seed_lists_come_in_whole(index: Index, data: Path) -> None:
    report = read(index, data / "seeds")
    assert (report.added, len(report.rejected)) == (57, 0)
    assert counts(read(index, data / "seeds")) == (0, 57, 0, 0, 0)
    in_step(index)
