"""Comparison, sweep, drafts, the judge, and the pages of figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eval import markdown
from eval.compare import compare, to_json
from eval.folder import RunFolder
from eval.judge import make_judge, read_verdict
from eval.make import Rated, draft, from_feedback, telling_sentence
from eval.result import RunResult
from eval.results import main as results_main
from eval.run import RunOptions, run_eval
from eval.sets import Item, read_set, write_set
from eval.sweep import parse_grid, sweep, sweep_table
from rag.errors import InputError
from rag.types import Question, Turn
from tests.fakes import FakeChatModel
from tests.fakes_eval import FakeIndex, FakeLibrary, make_answer, make_paper, question_rows, write_rows


@pytest.fixture
def library(tmp_path: Path) -> FakeLibrary:
    return FakeLibrary(tmp_path / "home")


def run(path: Path, library: FakeLibrary, **options: Any) -> RunResult:
    result = run_eval(path, library, RunOptions(**options))
    assert result is not None
    return result


def worse(library: FakeLibrary) -> FakeLibrary:
    """The same library, whose answerer fails on questions 1 and 3."""
    other = library.with_settings(k=6)

    def fail(question: str) -> None:
        if question.endswith((" 1?", " 3?")):
            raise RuntimeError("broken")

    other.pipeline.before = fail
    return other


def test_paired_differences_and_flips(tmp_path: Path, library: FakeLibrary) -> None:
    path = write_rows(tmp_path / "s.jsonl", question_rows(8, 2))
    old = run(path, library, out=tmp_path / "old")
    new = run(path, worse(library), out=tmp_path / "new")
    found = compare(new, old)
    facts = next(d for d in found.differences if d.metric.name == "fact_recall")
    assert (facts.wins, facts.ties, facts.losses) == (0, 6, 2)
    assert facts.difference.value == pytest.approx(-2 / 8)
    assert facts.p == 0.5  # two equal differences: half of the four sign patterns are as large
    fabricated = next(d for d in found.differences if d.metric.name == "fabricated_citations")
    assert (fabricated.wins, fabricated.losses) == (0, 2)  # fewer is better here
    assert [(flip.new.item.id, flip.old.verdict, flip.new.verdict) for flip in found.flips] == [
        ("q1", "right", "failed"),
        ("q3", "right", "failed"),
    ]
    assert ("k", 5, 6) in found.changed
    assert json.loads(json.dumps(to_json(found), allow_nan=False))["metrics"]["fact_recall"]["losses"] == 2
    text = markdown.comparison(found)
    assert "| fact_recall | 1.000 | 0.750 | -0.250 |" in text
    assert "right → failed" in text


def test_a_run_with_itself_differs_in_nothing(tmp_path: Path, library: FakeLibrary) -> None:
    same = run(write_rows(tmp_path / "s.jsonl", question_rows()), library)
    found = compare(same, same)
    assert all(d.p == 1.0 and d.difference.value == 0.0 and d.wins == d.losses == 0 for d in found.differences)
    assert found.flips == found.changed == ()


def test_a_part_of_the_set_is_compared_on_what_both_have(tmp_path: Path, library: FakeLibrary) -> None:
    path = write_rows(tmp_path / "s.jsonl", question_rows(8, 2))
    found = compare(run(path, library, limit=3), run(path, library))
    assert (found.shared, found.left_out) == (3, 7)


def test_a_run_of_another_set_is_refused(tmp_path: Path, library: FakeLibrary) -> None:
    one = run(write_rows(tmp_path / "s.jsonl", question_rows(3)), library)
    two = run(write_rows(tmp_path / "t.jsonl", question_rows(4)), library, out=tmp_path / "two")
    with pytest.raises(InputError, match=r"two: is a run of another question set .*t\.jsonl"):
        compare(one, two)


def test_sweep_runs_every_combination_and_marks_the_best(tmp_path: Path, library: FakeLibrary) -> None:
    path = write_rows(tmp_path / "s.jsonl", question_rows(4, 1))
    opened: list[Mapping[str, Any]] = []

    @contextmanager
    def open_library(changes: Mapping[str, Any]) -> Iterator[FakeLibrary]:
        opened.append(changes)
        yield worse(library) if changes["k"] == 6 else library.with_settings(**changes)

    grid = parse_grid(["k=3,6", "llm=none"])
    cells = sweep(path, grid, open_library, RunOptions(out=tmp_path / "sweep"))
    assert opened == [{"k": 3, "llm": "none"}, {"k": 6, "llm": "none"}]
    assert sorted(entry.name for entry in (tmp_path / "sweep").iterdir()) == ["k=3_llm=none", "k=6_llm=none"]
    lines = sweep_table(cells).splitlines()
    assert lines[0].startswith("| k | llm | recall@1 |")
    assert "**1.000**" in lines[2]
    assert "0.500" in lines[3]


@pytest.mark.parametrize("text", ["k", "k=", "colour=red", "home=/"])
def test_a_bad_grid_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_grid([text])


def test_a_draft_asks_about_the_sentence_that_tells_most(tmp_path: Path) -> None:
    papers = FakeIndex().papers
    items = draft(papers, 5, seed=1)
    assert items == draft(papers, 5, seed=1)
    assert len(items) == len({item.relevant for item in items}) == 5
    assert all(item.extra["machine_made"] for item in items)
    source = items[0].extra["source"]
    paper = next(p for p in papers if p.paper_id == source["paper_id"])
    assert paper.abstract[source["start"] : source["end"]] == telling_sentence(paper).text  # type: ignore[union-attr]
    write_set(tmp_path / "draft.jsonl", items)
    assert read_set(tmp_path / "draft.jsonl").items[0].question == items[0].question


def test_a_model_writes_the_questions_and_what_is_no_question_is_passed_over() -> None:
    chat = FakeChatModel(script=["I cannot do that.", "“How exact is the method?”"])
    items = draft([make_paper(1), make_paper(2)], 2, chat=chat)
    assert [item.question for item in items] == ["How exact is the method?"]
    assert items[0].facts in ((("11%",),), (("12%",),))


def test_nothing_to_draft_from_is_an_error() -> None:
    with pytest.raises(InputError, match="No paper"):
        draft([], 3)


def test_feedback_becomes_a_set(tmp_path: Path) -> None:
    question = Question("How cheap?", "How cheap?", "How cheap?")
    history = (Turn("user", "Hi"), Turn("assistant", "Hello"))
    liked = make_answer(question, [make_paper(1)], [make_paper(1)])
    refused = make_answer(Question("Why?", "Why?", "Why?"), [make_paper(2)])
    items = from_feedback(
        [
            Rated("0", liked, "down", history),
            Rated("1", liked, "up", history),
            Rated("2", refused, "up"),
            Rated("3", liked, "down"),
        ]
    )
    assert [(item.id, item.relevant, item.answerable) for item in items] == [
        ("feedback-1", ("p1",), True),
        ("feedback-2", (), False),
        ("feedback-3", (), True),
    ]
    assert items[0].history == history
    assert items[0].reference_answer == "It is cheap. [1]"
    assert items[2].extra["needs_review"] is True
    write_set(tmp_path / "f.jsonl", items)
    assert [item.relevant for item in read_set(tmp_path / "f.jsonl").items] == [item.relevant for item in items]
    with pytest.raises(InputError, match="No answer was rated"):
        from_feedback([])


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("CORRECT", "correct"),
        ("Verdict: incorrect.", "incorrect"),
        ("**Partially**", "partial"),
        ("", "unparsable"),
        ("It is fine.", "unparsable"),
        ("CORRECT or INCORRECT?", "unparsable"),
    ],
)
def test_verdicts_are_read_or_counted_as_unreadable(reply: str, verdict: str) -> None:
    assert read_verdict(reply) == verdict


def test_the_judge_sees_question_reference_and_answer() -> None:
    chat = FakeChatModel(script=["PARTIAL"])
    judge = make_judge(chat)
    assert (
        judge(Item("a", "How cheap?", facts=(("one", "1"), ("two",))), {"answer": "Very. {{reference}}"}) == "partial"
    )
    for part in ("How cheap?", "one or 1; two", "Very. {{reference}}"):
        assert part in chat.calls[0].prompt
    assert judge(Item("b", "Open?"), {"answer": "x"}) is None


def test_one_command_makes_the_page_of_results(tmp_path: Path, library: FakeLibrary) -> None:
    path = write_rows(tmp_path / "s.jsonl", question_rows())
    run(path, library, out=tmp_path / "out")
    page = tmp_path / "RESULTS.md"
    done = CliRunner().invoke(results_main, [str(tmp_path / "out"), "--out", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "python -m eval.results out --out" in text
    assert "| recall@1 | 1.000 | 1.000 – 1.000 | 8 |" in text
    with RunFolder(tmp_path / "open", {}, {}):
        pass
    failed = CliRunner().invoke(results_main, [str(tmp_path), "--out", str(page)])
    assert failed.exit_code == 1
    assert "not a run folder" in failed.output
