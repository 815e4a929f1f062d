"""The measurements' arithmetic, their pages and what is kept of them; nothing here is timed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from eval.bench import __main__ as program
from eval.bench import answer, baseline, growth, ingest, memory, search, server, sizing, startup, users
from eval.bench.clocked import EMBEDDING, SECOND, Clock, Clocked, exact, shares
from eval.bench.figures import Spread, agreements, exponent, line, middle, p95, ratios, recall, spread
from eval.bench.libraries import Libraries, Sized
from eval.bench.machine import memory_of
from eval.bench.page import Measured, page
from eval.bench.plot import growth_plot
from eval.bench.setting import Bench, Section, Table, gigabytes, ms
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


# What the parts say of raw figures

INGEST = {
    "papers": 10,
    "made": True,
    "texts": 25,
    "batch": 32,
    "dtype": {"bare": "torch.bfloat16", "tutorial": "torch.float32"},
    "rates": {
        ingest.OURS: [60.0, 30.0, 62.0],
        ingest.BASELINE: [20.0, 10.0, 20.0],
        ingest.SAME_TEXTS: [60.0, 40.0, 62.0],
        ingest.ONE_TEXT: [80.0, 40.0, 80.0],
    },
}


def searched(papers: int, dense: float) -> dict[str, Any]:
    stages = {EMBEDDING: [5.0, 5.0], "dense": [dense, dense], "lexical": [1.0, 1.0], SECOND: [4.0, 4.0]}
    total = [10.0 + dense, 10.0 + dense]
    return {
        "size": papers,
        "papers": papers,
        "recall": {"10": 1.0, "200": 0.995},
        "total": {"HNSW": [total] * 3, "exact": [[value * 2 for value in total]] * 3},
        "stages": {"HNSW": [stages] * 3, "exact": [stages] * 3},
    }


SEARCH = {"questions": 2, "libraries": [searched(57, 1.0), searched(1_000, 2.0), searched(100_000, 20.0)]}


def grown(papers: int) -> dict[str, Any]:
    return {
        "size": papers,
        "papers": papers,
        "disk": 1_000_000 + 20_000 * papers,
        "starts": [{"answer": 5_000.0 + papers / 100}] * 3,
        "answers": [[{"first_source": None, "total": 40.0, "first_token": None}]] * 3,
        "memory": [{"resident": 600_000_000 + 5_000 * papers}] * 3,
        "written": [{"total": 2_500.0}],
        "added": [],
    }


GROWTH = {"model": "a-model", "libraries": [grown(57), grown(1_000), grown(100_000)]}


def test_ingest_is_told_as_a_multiple_of_each_other_pipeline():
    found = ingest.report(INGEST)
    assert found.ratios[f"ingest: {ingest.OURS} / {ingest.BASELINE}"] == 3.0
    assert found.ratios[f"ingest: {ingest.OURS} / {ingest.SAME_TEXTS}"] == 1.0
    assert found.tables[0].rows[0] == (ingest.OURS, "60.0 (30.0 – 62.0)", "")
    assert "10 made papers" in found.notes[0]


def test_search_is_told_by_size_mode_and_stage():
    found = search.report(SEARCH)
    totals, stages = found.tables
    assert totals.rows[0][:3] == ("57", "HNSW", "**11.0 ms**")
    assert totals.rows[-1][:3] == ("100,000", "exact", "**60.0 ms**")
    assert totals.rows[0][-2:] == ("1.000", "0.995")
    assert stages.header == ("papers", "dense", EMBEDDING, "dense", "lexical", SECOND)
    assert stages.rows[4] == ("100,000", "HNSW", "5.0 ms", "20.0 ms", "1.0 ms", "4.0 ms")
    assert found.ratios["search: 100,000 papers / 57, HNSW"] == pytest.approx(30 / 11)
    assert found.ratios["search: exact / HNSW, 57 papers"] == 2.0


def answered(total: float, first_token: float | None, tokens: int, facts: float = 1.0) -> dict[str, Any]:
    return {
        "first_source": 10.0,
        "first_token": first_token,
        "total": total,
        "tokens": tokens,
        "facts": facts,
        "prompt_tokens": 700,
    }


ANSWER = {
    "papers": 57,
    "model": "a-model",
    "about": {answer.OURS: {}, answer.BASELINE: {"dtype": "torch.bfloat16"}},
    "memory": {answer.OURS: {"peak": 2_000_000_000}, answer.BASELINE: {"peak": 3_000_000_000}},
    "rounds": [
        [
            {"id": "a", answer.OURS: answered(2_000, 1_000, 21), answer.BASELINE: answered(10_000, 4_000, 31, 0.5)},
            {"id": "b", answer.OURS: answered(50, None, 0), answer.BASELINE: answered(8_000, 4_000, 21, 0.0)},
        ],
        [{"id": "a", answer.OURS: answered(2_000, 1_000, 21), answer.BASELINE: answered(12_000, 4_000, 31)}],
    ],
}


def test_answers_are_compared_question_by_question_where_both_have_the_figure():
    found = answer.report(ANSWER)
    # Totals 5, 160 and 6 times ours; first tokens only for question a.
    assert found.ratios["answer: tutorial / abstract-qa, total"] == 6.0
    assert found.ratios["answer: tutorial / abstract-qa, first token"] == 4.0
    assert found.ratios["answer: abstract-qa / tutorial, tokens a second"] == 20 / 5
    rows = {row[0]: row for row in found.tables[0].rows}
    # Facts count once a question, whatever was asked again.
    assert rows["fact recall"][1:3] == ("1.000", "0.250")
    assert rows["peak memory"][1:] == ("2.00 GB", "3.00 GB", "**1.50**")


def test_rate_counts_the_tokens_after_the_first():
    assert answer.rate(answered(3_000, 1_000, 21)) == 10.0
    assert answer.rate(answered(3_000, None, 0)) is None


def test_starts_are_compared_by_their_first_answer():
    steps = {"ready": 1_000.0, "first_source": 1_100.0, "answer": 2_000.0}
    raw = {
        "model": "a-model",
        "helps": {"abstract-qa --help": [300.0, 310.0, 320.0], "python -c pass": [30.0, 31.0, 32.0]},
        "starts": {
            answer.OURS: [{"steps": steps, "warm": 900.0}] * 3,
            answer.BASELINE: [{"steps": {**steps, "answer": 9_000.0}, "warm": None}] * 3,
        },
    }
    found = startup.report(raw)
    assert found.ratios["startup: tutorial / abstract-qa, first answer"] == 4.5
    assert found.ratios["startup: --help / bare Python"] == 10.0
    assert found.tables[0].rows[1][-1] == "–"


def test_users_are_told_by_their_number():
    one = {"seconds": 10.0, "answers": [{"first_source": 20.0, "first_token": 1_000.0, "total": 2_500.0}] * 4}
    two = {"seconds": 12.0, "answers": [{"first_source": 30.0, "first_token": 3_030.0, "total": 5_000.0}] * 4}
    raw = {
        "model": "a-model",
        "levels": {"1": [one] * 3, "2": [two] * 3},
        "idle": [[20.0, 20.0]] * 3,
        "busy": [[30.0]] * 3,
        "memory": {},
        "shown": 1_500.0,
        "ready": 6_000.0,
    }
    found = users.report(raw)
    assert [row[1] for row in found.tables[0].rows] == ["24.0 (24.0 – 24.0)", "20.0 (20.0 – 20.0)"]
    assert found.tables[0].rows[1][3].startswith("3.00 s")
    assert found.ratios["users: total, 2 / 1"] == 2.0
    assert found.ratios["users: search while 2 ask / while nobody asks"] == 1.5


def test_memory_limits_stand_where_the_library_has_their_size():
    held = {"resident": 1_200_000_000, "proportional": 1_100_000_000, "peak": 1_300_000_000}
    raw = {"model": "a-model", "servers": {"without a model": {"ready": held, "asked": held}}}
    assert memory.report(raw | {"papers": 39_507}).tables[0].rows[0][-1] == "1.50 GB"
    assert memory.report(raw | {"papers": 1_000}).tables[0].rows[0][-1] == "–"
    sized = [Sized(size, size, Path("home")) for size in (57, 10_000, 150_000)]
    assert memory.chosen(sized).size == 10_000


def test_growth_is_carried_on_to_larger_libraries():
    found = growth.report(GROWTH)
    assert any("5.0 MB for each 1,000 papers" in note for note in found.notes)
    assert any("Disk: 20 MB" in note for note in found.notes)
    carried = sizing.section({"ingest": INGEST, "search": SEARCH, "growth": GROWTH})
    assert carried is not None
    million = carried.tables[0].rows[0]
    # 1e6 papers at 60 a second, 20 kB of disk and 5 kB of memory each.
    assert million[:4] == ("1,000,000", "5 h", "20.00 GB", "5.60 GB")
    assert sizing.section({"ingest": INGEST}) is None
    # The dense stage grows tenfold from 1,000 to 100,000 papers: as the square root of their number.
    assert sizing.searching(SEARCH, 10_000_000, "HNSW") == pytest.approx(5 + 200 + 1 + 4)


def test_the_plot_shows_search_answers_and_space():
    drawn = growth_plot({"search": SEARCH, "growth": GROWTH})
    assert drawn is not None
    assert all(title in drawn for title in ("search, ms", "answering, ms", "space, GB"))
    assert growth_plot({"search": SEARCH}) is None


# The page and the program

MACHINE = {
    "processor": "A processor",
    "cores": 2,
    "flags": ["amx_bf16"],
    "memory": 25_000_000_000,
    "system": "Linux x86_64",
    "python": "3.11",
    "packages": {"torch": "2.13.0", "gone": None},
    "commit": "abc",
    "code": "123",
}


def test_the_page_states_machine_versions_commit_load_and_commands():
    measured = Measured("one", "python -m eval.bench --only one", MACHINE, "2025-01-01 10:00", 12.3, ([0.5], [1.5]), {})
    section = Section("A title", (Table(("figure",), (("1",),)),), {}, ("A note.",))
    text = page([(measured, section)], [], agreements({"a": 1.0}, {"a": 1.3}))
    for wanted in ("A processor (amx_bf16), 2 cores, 25.00 GB", "torch 2.13.0", "`abc`", "0.5 → 1.5", "A note."):
        assert wanted in text
    assert "    python -m eval.bench --only one" in text
    assert "0 of 1 ratios are within 15%" in text
    assert "gone" not in text


def test_what_is_kept_of_a_part_reads_back_the_same():
    measured = Measured("one", "command", MACHINE, "2025-01-01 10:00", 12.0, ([0.5], [1.5]), {"x": [1.0]})
    assert Measured.of(json.loads(json.dumps(measured.as_json()))) == measured


class FakePart:
    """A part that counts how often it is measured."""

    NAME = "fake"

    def __init__(self) -> None:
        self.measured = 0

    def measure(self, bench: Bench) -> dict[str, Any]:
        self.measured += 1
        return {"speed": self.measured}

    def report(self, raw: dict[str, Any]) -> Section:
        return Section("Fake", (Table(("speed",), ((str(raw["speed"]),),)),), {"fake: speed": float(raw["speed"])})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakePart:
    part = FakePart()
    monkeypatch.setattr(program, "PARTS", {"fake": part})
    return part


def run(tmp_path: Path, *options: str) -> Any:
    places = [
        "--work",
        str(tmp_path / "work"),
        "--out",
        str(tmp_path / "page.md"),
        "--plot",
        str(tmp_path / "plot.svg"),
    ]
    return CliRunner().invoke(program.main, [*places, *options], catch_exceptions=False)


def test_a_part_is_kept_and_resumed_until_the_command_changes(tmp_path: Path, fake: FakePart):
    assert run(tmp_path).exit_code == 0
    assert (tmp_path / "page.md").read_text().count("## Fake") == 1
    assert run(tmp_path, "--resume").exit_code == 0
    assert fake.measured == 1
    assert run(tmp_path, "--resume", "--rounds", "5").exit_code == 0
    assert fake.measured == 2
    kept = json.loads((tmp_path / "work" / "bench.json").read_bytes())
    assert kept["ratios"] == {"fake: speed": 2.0}
    assert kept["parts"][0]["command"] == "python -m eval.bench --rounds 5 --only fake"


def test_two_runs_are_compared(tmp_path: Path, fake: FakePart):
    run(tmp_path)
    (tmp_path / "work" / "bench.json").rename(tmp_path / "old.json")
    found = run(tmp_path, "--against", str(tmp_path / "old.json"))
    assert "+100% **differs**" in found.output
    assert "## Agreement of two runs" in (tmp_path / "page.md").read_text()


def test_a_quick_run_publishes_nothing(tmp_path: Path, fake: FakePart):
    found = CliRunner().invoke(program.main, ["--quick", "--work", str(tmp_path)], catch_exceptions=False)
    assert found.exit_code == 0
    assert (tmp_path / "quick" / "BENCH.md").is_file()


def test_places_on_this_machine_stay_out_of_the_command(tmp_path: Path):
    bench = Bench(tmp_path, False, 3, "auto", tmp_path / "x", {40_000: tmp_path / "home"}, print)
    assert program._command(bench, True) == "python -m eval.bench --papers FILE --library 40000=HOME"


def test_a_library_option_without_a_size_is_refused(tmp_path: Path, fake: FakePart):
    found = run(tmp_path, "--library", "home")
    assert found.exit_code == 2
    assert "is not like 40000=PATH" in found.output


def test_units_are_those_of_people():
    assert [ms(None), ms(12.34), ms(2_345.0), gigabytes(None), gigabytes(1.5e9)] == [
        "–",
        "12.3 ms",
        "2.35 s",
        "–",
        "1.50 GB",
    ]
