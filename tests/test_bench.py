"""The measurements' arithmetic, clocks, texts and libraries; nothing here is timed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.bench import baseline, server
from eval.bench.clocked import EMBEDDING, SECOND, Clock, Clocked, exact, shares
from eval.bench.figures import Spread, agreements, exponent, line, middle, p95, ratios, recall, spread
from eval.bench.libraries import Libraries
from eval.bench.machine import memory_of
from eval.bench.texts import Text, made, questions_about, write_papers
from rag.errors import InputError
from rag.types import Paper
from tests.fakes import FakeEncoder


def test_spread_is_median_least_and_greatest():
    assert spread([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
    with pytest.raises(ValueError, match="no repetition"):
        spread([])


def test_ratios_are_taken_repetition_by_repetition():
    # The second repetition was twice as slow for both; the ratio does not see it.
    assert ratios([10.0, 20.0, 12.0], [5.0, 10.0, 4.0]) == Spread(2.0, 2.0, 3.0, 3)
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [1.0, 2.0])


def test_medians_of_rounds_and_the_tail_over_all():
    rounds = [[1.0, 2.0, 3.0], [4.0, 5.0, 60.0]]
    assert middle(rounds) == Spread(3.5, 2.0, 5.0, 2)
    assert p95([[float(n) for n in range(1, 102)]]) == 96.0


@given(st.floats(0.1, 3.0), st.floats(0.5, 100.0))
def test_exponent_finds_the_power_of_growth(power: float, factor: float):
    sizes = [10.0, 100.0, 1000.0]
    assert exponent(sizes, [factor * size**power for size in sizes]) == pytest.approx(power)


def test_line_gives_constant_and_slope():
    constant, slope = line([0, 10, 20], [5, 25, 45])
    assert (constant, slope) == pytest.approx((5, 2))


def test_recall_is_the_share_found():
    assert recall([1, 2, 9], [1, 2, 3, 4]) == 0.5
    assert recall([], []) == 1.0


def test_ratios_of_two_runs_agree_within_fifteen_per_cent():
    found = agreements({"a": 2.0, "b": 1.0, "gone": 1.0}, {"a": 2.2, "b": 0.8, "new": 3.0})
    assert [(one.name, round(one.difference, 3), one.agrees) for one in found] == [
        ("a", 0.1, True),
        ("b", -0.2, False),
    ]


def test_overlapping_stages_count_once_against_the_total():
    intervals = [("dense", 0.0, 4.0), ("lexical", 2.0, 5.0), ("dense", 7.0, 8.0)]
    assert shares(intervals, 10.0) == {"dense": 5.0, "lexical": 3.0, SECOND: 4.0}


class ComparingIndex:
    """Three rows with known cosines."""

    encoder = FakeEncoder()
    name = "three"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def scan(self, vector: Any, *filters: Any) -> tuple[Any, Any]:
        self.asked.append("scan")
        return np.array([5, 6, 7]), np.array([0.1, 0.9, 0.5], np.float32)

    def dense(self, vector: Any, n: int) -> list[tuple[int, float]]:
        self.asked.append("dense")
        return [(5, 1.0)]

    def unheard_of(self) -> str:
        return "done"


def test_exact_gives_the_nearest_rows_in_order():
    found = exact(ComparingIndex(), None, 2)
    assert [row for row, _ in found] == [6, 7]
    assert [row for row, _ in exact(ComparingIndex(), None, 9)] == [6, 7, 5]


def test_clocked_notes_each_call_under_its_stage_and_passes_the_rest():
    index, clock = ComparingIndex(), Clock()
    clocked = Clocked(index, clock)
    assert clocked.dense(None, 3) == [(5, 1.0)]
    assert clocked.unheard_of() == "done"
    assert clocked.name == "three"
    clocked.encoder.encode(["a text"])
    assert [stage for stage, _, _ in clock.taken()] == ["dense", "unheard_of", EMBEDDING]
    assert clock.taken() == []


def test_clocked_compares_all_vectors_when_told_to():
    index, clock = ComparingIndex(), Clock()
    assert [row for row, _ in Clocked(index, clock, exact=True).dense(None, 1)] == [6]
    assert index.asked == ["scan"]
    assert [stage for stage, _, _ in clock.taken()] == ["dense"]


def test_memory_is_that_of_a_process_and_its_children(tmp_path: Path):
    for number, children, resident in ((10, "11 ", 100), (11, "", 50)):
        folder = tmp_path / str(number)
        (folder / "task" / str(number)).mkdir(parents=True)
        (folder / "task" / str(number) / "children").write_text(children)
        (folder / "status").write_text(f"Name:\tx\nVmHWM:\t{resident * 2} kB\nVmRSS:\t{resident} kB\n")
        (folder / "smaps_rollup").write_text(f"Pss:\t{resident // 2} kB\n")
    found = memory_of(10, tmp_path)
    assert (found.resident, found.proportional, found.peak) == (150 * 1024, 75 * 1024, 300 * 1024)
    assert memory_of(12, tmp_path).resident is None


def test_made_papers_are_the_same_every_time_and_differ_from_one_another():
    first, again = made(5), made(5)
    assert first == again
    assert made(2, skip=3) == first[3:]
    assert len({paper.title for paper in first}) == len({paper.abstract for paper in first}) == 5


def test_papers_are_written_as_the_program_reads_them(tmp_path: Path):
    path = write_papers(tmp_path / "papers.jsonl", [Text("p1", "A title", "An abstract.")])
    assert json.loads(path.read_text()) == {"id": "p1", "title": "A title", "abstract": "An abstract."}


def test_questions_are_spread_over_the_papers():
    papers = [Paper(str(n), f"Title {n}", "Text.") for n in range(6)]
    assert questions_about(papers, 2) == ["What does “Title 0” propose?", "What does “Title 3” propose?"]


def test_the_tutorial_splits_at_a_thousand_characters_with_the_title_in_front():
    long = " ".join(f"word{number:04}" for number in range(150))
    pieces = baseline.split([Text("p1", "A title", long), Text("p2", "", "Short.")])
    assert [piece.metadata["source"] for piece in pieces] == ["p1", "p1", "p2"]
    assert pieces[0].page_content.startswith("A title. word0000")
    assert all(len(piece.page_content) <= baseline.CHUNK for piece in pieces)
    shared = pieces[1].page_content.split()[0]
    assert shared in pieces[0].page_content
    assert pieces[2].page_content == "Short."


def test_server_events_carry_their_names():
    lines = iter(
        ["event: sources", 'data: {"papers": []}', "", ": a comment", "event: answer", 'data: {"answer": "x"}']
    )
    assert list(server.events(lines)) == [("sources", {"papers": []}), ("answer", {"answer": "x"})]


def test_a_part_of_a_library_holds_its_first_papers_with_their_vectors(tmp_path: Path):
    from rag.library import Library

    source = write_papers(tmp_path / "papers.jsonl", made(7))
    encoder = FakeEncoder()
    with Library.open(tmp_path / "whole", encoder=encoder) as library:
        library.ingest([source])
        wanted = [paper.title for paper in library.papers(limit=4)]
    libraries = Libraries(tmp_path / "work", {7: tmp_path / "whole"}, None, encoder)
    found = libraries._of(4)
    assert found is not None
    with Library.open(found.home, encoder=encoder) as part:
        assert [paper.title for paper in part.papers()] == wanted
        assert part.index.rows() == sorted(part.index.vectors(part.index.rows()))
        hits = part.search(wanted[2], k=1)
        assert hits[0].paper.title == wanted[2]
    # Asked again, it is there already.
    assert libraries._of(4) == found
    assert libraries._of(9) is None


def test_a_library_smaller_than_said_is_refused(tmp_path: Path):
    from rag.library import Library

    with Library.open(tmp_path / "home", encoder=FakeEncoder()) as library:
        library.ingest([write_papers(tmp_path / "papers.jsonl", made(3))])
    libraries = Libraries(tmp_path / "work", {40: tmp_path / "home", 50: tmp_path / "none"}, None, FakeEncoder())
    with pytest.raises(InputError, match="holds 3 papers; expected about 40"):
        libraries._of(40)
    with pytest.raises(InputError, match="no library is there"):
        libraries._of(50)
