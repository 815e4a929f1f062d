"""What the measurements say of raw figures, and what is kept of them between runs; nothing here is timed."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eval.bench import __main__ as program
from eval.bench import answer, growth, ingest, memory, search, sizing, startup, users
from eval.bench.clocked import EMBEDDING, SECOND
from eval.bench.figures import agreements
from eval.bench.libraries import Sized
from eval.bench.page import Measured, page
from eval.bench.plot import growth_plot
from eval.bench.setting import Bench, Section, Table, gigabytes, ms

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
    assert "not quiet" not in text


def test_the_page_says_when_the_machine_was_busy():
    busy = Measured("one", "command", MACHINE, "2025-01-01 10:00", 12.3, ([4.0], [5.0]), {})
    assert "kept the load at 4.0 or more" in page([(busy, Section("A title", ()))], [], ())


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
    bench = Bench(tmp_path, tmp_path, False, 3, "auto", tmp_path / "x", {40_000: tmp_path / "home"}, print)
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
