"""Runs: what they write, that a kill loses nothing, what can be taken up, and the shape that is printed."""

from __future__ import annotations

import json
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval import run as run_module
from eval.folder import RunFolder
from eval.result import RunResult, load_run, to_contract_json
from eval.run import EvalLibrary, RunOptions, RunProgress, run_eval, unfinished
from eval.sets import Item
from rag.errors import InputError
from rag.types import Question
from tests.fakes_eval import FakeLibrary, question_rows, write_rows

NAMES = {
    "recall@1", "recall@5", "recall@20", "mrr", "ndcg@10", "fact_recall", "citation_precision", "citation_recall",
    "unsupported_sentences", "fabricated_citations", "abstain_precision", "abstain_recall", "forbidden_hits",
    "latency_first_source_ms", "latency_first_token_ms", "latency_total_ms",
}  # fmt: skip


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLibrary:
    def understand(item: Item, library: EvalLibrary) -> Question:
        return Question(item.question, item.question, item.question, filters=item.filters)

    monkeypatch.setattr(run_module, "_understand", understand)
    return FakeLibrary(tmp_path / "home")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = question_rows(8, 2)
    rows.insert(3, {"id": "boom", "kind": "fact", "question": "explode", "relevant": ["p1"], "facts": [["x"]]})
    return write_rows(tmp_path / "set.jsonl", rows)


def run(questions: Path, library: FakeLibrary, options: RunOptions, **more: Any) -> RunResult:
    result = run_eval(questions, library, options, **more)
    assert result is not None
    return result


def figures(result: RunResult) -> Any:
    return to_contract_json(result)["metrics"], to_contract_json(result)["by_kind"]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_shape_that_is_printed(questions: Path, library: FakeLibrary, tmp_path: Path) -> None:
    data = to_contract_json(run(questions, library, RunOptions(out=tmp_path / "out")))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert set(data) == {"set", "n", "metrics", "by_kind", "run"}
    assert data["n"] == 11
    assert set(data["metrics"]) >= NAMES
    for name, metric in data["metrics"].items():
        assert set(metric) == {"value", "low", "high", "n"} | ({"p95"} if name.endswith("_ms") else set())
    assert data["by_kind"]["off"]["n"] == 2
    assert data["run"]["failed"] == 1
    assert data["run"]["folder"] == str(tmp_path / "out")


def test_answers_stand_in_the_order_of_the_set_and_a_failure_says_why(
    questions: Path, library: FakeLibrary, tmp_path: Path
) -> None:
    result = run(questions, library, RunOptions(out=tmp_path / "out"))
    rows = lines(tmp_path / "out" / "answers.jsonl")
    assert [row["id"] for row in rows] == [item.id for item in result.questions.items]
    assert rows[3] == {"id": "boom", "error": "RuntimeError: the model exploded"}
    assert all(set(row) == {"id", "answer"} for row in rows if row["id"] != "boom")
    assert result.summary["fact_recall"].n == 9  # the failed one is in the mean
    assert result.failed == 1


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_run_taken_up_gives_the_same_figures(
    questions: Path, library: FakeLibrary, tmp_path: Path, seed: int
) -> None:
    whole = run(questions, library, RunOptions(out=tmp_path / "whole"))
    at = random.Random(seed).randrange(1, 11)
    left = at

    def kill(_: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    library.pipeline.before = kill
    with pytest.raises(Killed):
        run_eval(questions, library, RunOptions(out=tmp_path / "out"))
    answers = tmp_path / "out" / "answers.jsonl"
    if seed % 2:  # the kill may also tear the line that was being written
        with answers.open("a", encoding="utf-8") as file:
            file.write('{"id": "q9", "answ')
    library.pipeline.before = None
    library.pipeline.asked.clear()
    again = run(questions, library, RunOptions(out=tmp_path / "out"))
    assert len(library.pipeline.asked) == 11 - at
    assert figures(again) == figures(whole)
    assert answers.read_bytes() == (tmp_path / "whole" / "answers.jsonl").read_bytes()


def test_a_finished_run_is_not_asked_again_and_can_be_read_without_the_library(
    questions: Path, library: FakeLibrary, tmp_path: Path
) -> None:
    first = run(questions, library, RunOptions(out=tmp_path / "out"))
    library.pipeline.asked.clear()
    second = run(questions, library, RunOptions(out=tmp_path / "out"))
    assert library.pipeline.asked == []
    read = load_run(tmp_path / "out")
    assert figures(first) == figures(second) == figures(read)
    assert read.papers == first.papers
    assert [row.verdict for row in read.rows] == [row.verdict for row in first.rows]


def test_failed_questions_are_asked_again_when_told_to(questions: Path, library: FakeLibrary, tmp_path: Path) -> None:
    run(questions, library, RunOptions(out=tmp_path / "out"))
    library.pipeline.asked.clear()
    result = run(questions, library, RunOptions(out=tmp_path / "out", retry_failed=True))
    assert library.pipeline.asked == ["explode"]
    assert [row["id"] for row in lines(tmp_path / "out" / "answers.jsonl")][3] == "boom"
    assert result.failed == 1


def test_a_folder_of_another_run_is_refused_and_says_what_differs(
    questions: Path, library: FakeLibrary, tmp_path: Path
) -> None:
    out = RunOptions(out=tmp_path / "out")
    run(questions, library, out)
    with pytest.raises(InputError, match=r"holds another run \(k was 5, is 8; settings was"):
        run_eval(questions, library.with_settings(k=8), out)
    with pytest.raises(InputError, match="retrieval_only was False, is True"):
        run_eval(questions, library, RunOptions(out=tmp_path / "out", retrieval_only=True))
    library.index.manifest = {"papers": "31"}
    with pytest.raises(InputError, match="library was"):
        run_eval(questions, library, out)


def test_a_folder_with_other_things_in_it_is_refused(questions: Path, library: FakeLibrary, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds no run"):
        run_eval(questions, library, RunOptions(out=tmp_path))


def test_two_runs_cannot_write_one_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {}, {}), pytest.raises(InputError, match="another process"):
        RunFolder(tmp_path / "out", {}, {})


def test_a_run_that_is_not_finished_cannot_be_read(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {}, {}), pytest.raises(InputError, match="is not finished"):
        load_run(tmp_path / "out")
    with pytest.raises(InputError, match="not a run folder"):
        load_run(tmp_path)


def test_cancel_ends_after_the_question_in_hand_and_the_run_can_be_taken_up(
    questions: Path, library: FakeLibrary, tmp_path: Path
) -> None:
    cancel = threading.Event()
    seen: list[RunProgress] = []

    def progress(now: RunProgress) -> None:
        seen.append(now)
        if now.done == 4:
            cancel.set()

    assert run_eval(questions, library, RunOptions(out=tmp_path / "out"), progress, cancel) is None
    assert [now.done for now in seen] == [1, 2, 3, 4]
    assert seen[-1].failed == 1
    assert seen[-1].total == 11
    assert seen[-1].remaining is not None
    assert len(run(questions, library, RunOptions(out=tmp_path / "out")).rows) == 11


def test_the_newest_unfinished_run_of_the_same_kind_is_found(
    questions: Path, library: FakeLibrary, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    options = RunOptions()
    assert unfinished(runs, questions, library, options) is None
    cancel = threading.Event()
    cancel.set()  # ends after the first question
    for name in ("1-older", "2-newer"):
        assert run_eval(questions, library, replace(options, out=runs / name), cancel=cancel) is None
    (runs / "3-damaged").mkdir()
    (runs / "3-damaged" / "run.json").write_text("{torn")
    assert unfinished(runs, questions, library, options) == runs / "2-newer"
    assert unfinished(runs, questions, library, replace(options, limit=3)) is None
    assert unfinished(runs, questions, library, replace(options, retrieval_only=True)) is None
    run(questions, library, replace(options, out=runs / "2-newer"))
    assert unfinished(runs, questions, library, options) == runs / "1-older"


def test_the_model_named_is_the_one_used(questions: Path, library: FakeLibrary) -> None:
    run(questions, library, RunOptions(llm="none", limit=1))
    assert library.models == ["none"]


def test_retrieval_only_asks_in_batches_and_uses_no_model(
    tmp_path: Path, library: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 4)
    path = write_rows(tmp_path / "s.jsonl", question_rows(10, 0))
    result = run(path, library, RunOptions(retrieval_only=True, out=tmp_path / "out"))
    assert [len(call) for call in library.searcher.calls] == [4, 4, 2]
    assert library.models == []
    assert result.summary["recall@20"].value == 1.0
    assert result.summary["fact_recall"].n == 0
    assert result.summary["latency_total_ms"].n == 10
    answer = lines(tmp_path / "out" / "answers.jsonl")[0]["answer"]
    assert answer["passages"][0]["paper_id"] == "p0"
    assert "status" not in answer


def test_one_bad_question_does_not_fail_its_batch(questions: Path, library: FakeLibrary) -> None:
    result = run(questions, library, RunOptions(retrieval_only=True))
    assert [row.item.id for row in result.rows if row.outcome.error] == ["boom"]
    assert result.summary["recall@1"].n == 9


def test_relevant_papers_that_are_missing_are_named_and_count_as_misses(tmp_path: Path, library: FakeLibrary) -> None:
    rows = [{**question_rows()[0], "relevant": ["10.1/0", "arXiv:0000.00000"]}]
    result = run(write_rows(tmp_path / "s.jsonl", rows), library, RunOptions())
    assert to_contract_json(result)["run"]["missing_relevant"] == [
        {"id": "q0", "line": 1, "reference": "arXiv:0000.00000"}
    ]
    assert result.summary["recall@20"].value == 0.5


def test_a_judge_s_verdicts_are_counted_also_when_they_cannot_be_read(questions: Path, library: FakeLibrary) -> None:
    said = iter(["correct", "unparsable", "incorrect", "partial", None, *["correct"] * 5])
    result = run(questions, library, RunOptions(judge=lambda item, answer: next(said)))
    assert result.summary["judge_correct"].n == 9
    assert result.summary["judge_correct"].value == pytest.approx(6 / 9)
    assert result.summary["judge_unparsable"].value == pytest.approx(1 / 9)
