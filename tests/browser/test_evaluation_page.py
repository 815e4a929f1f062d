"""Evaluation in a real browser: a small set run without a model, its report, and feedback as a set."""

import json
import threading

import pytest

from rag.answering.pipeline import Answerer
from tests.browser.steps import ask, tab
from tests.library import entry, write_jsonl

pytestmark = pytest.mark.browser


@pytest.fixture
def server(over, tmp_path):
    server = over(tmp_path / "home")
    server.library.ingest([write_jsonl(tmp_path / "papers.jsonl", [entry(number) for number in range(1, 13)])])
    return server


def run_set(page, folder, name, numbers, retrieval_only=True):
    """Give a set of questions about the papers of these numbers, and start it."""
    questions = [
        {"id": f"q{number}", "question": f"What does Method{number} reach?", "relevant": [f"p{number}"]}
        for number in numbers
    ]
    write_jsonl(folder / f"{name}.jsonl", questions)
    tab(page, 2)
    page.locator("#aqa-own-set input[type=file]").set_input_files(folder / f"{name}.jsonl")
    page.locator("#aqa-own-set", has_text=name).wait_for()
    page.get_by_label("Retrieval only").set_checked(retrieval_only)
    page.locator("#aqa-run").click()


def test_a_set_is_run_and_its_report_read(opened, server, tmp_path):
    page = opened(server=server)
    run_set(page, tmp_path, "mine", (1, 2, 3))
    page.locator("#aqa-evaluation-said", has_text="Done; the report is below").wait_for()
    report = page.frame_locator(".aqa-report")
    report.get_by_text("3 questions, retrieval only").first.wait_for()
    report.get_by_text("recall@5").first.wait_for()
    page.locator("#aqa-run").wait_for()


def test_a_run_can_be_stopped_and_gone_on_with(opened, server, tmp_path, monkeypatch):
    release, waiting, asked = threading.Event(), threading.Event(), []
    usual = Answerer.ask

    def slow(self, question, *arguments):
        asked.append(question)
        if "Method3" in question:
            waiting.set()
            release.wait(60)
        return usual(self, question, *arguments)

    monkeypatch.setattr(Answerer, "ask", slow)
    page = opened(server=server)
    run_set(page, tmp_path, "mine", range(1, 9), retrieval_only=False)
    waiting.wait(60)
    page.locator("#aqa-evaluation-said progress[value='0.250']").wait_for()
    page.locator("#aqa-run-stop").click()
    page.wait_for_timeout(500)
    release.set()
    page.locator("#aqa-evaluation-said", has_text="Stopped").wait_for()
    page.locator("#aqa-evaluation-report", has_text="No run yet").wait_for()
    page.locator("#aqa-run").click()
    page.locator("#aqa-evaluation-said", has_text="Done; the report is below").wait_for()
    page.frame_locator(".aqa-report").get_by_text("8 questions").first.wait_for()
    assert sorted(asked) == [f"What does Method{number} reach?" for number in range(1, 9)]
    assert len(list((tmp_path / "home" / "runs").iterdir())) == 1


def test_two_runs_are_compared(opened, server, tmp_path):
    page = opened(server=server)
    run_set(page, tmp_path, "first", range(1, 4))
    page.locator("#aqa-evaluation-said", has_text="first").wait_for()
    page.frame_locator(".aqa-report").get_by_text("3 questions, retrieval only").first.wait_for()
    assert page.frame_locator(".aqa-report").get_by_text("Against").count() == 0
    older = page.locator("#aqa-runs input").input_value()
    page.locator("#aqa-run").click()
    page.wait_for_function("older => document.querySelector('#aqa-runs input').value !== older", arg=older)
    page.locator("#aqa-against input").click()
    page.get_by_role("option", name=older).click()
    page.frame_locator(".aqa-report").get_by_text("Against").first.wait_for()


def test_what_is_no_set_is_said(opened, server, tmp_path):
    (tmp_path / "wrong.jsonl").write_text("{torn\n")
    page = opened(server=server)
    tab(page, 2)
    page.locator("#aqa-own-set input[type=file]").set_input_files(tmp_path / "wrong.jsonl")
    page.locator("#aqa-own-set", has_text="wrong").wait_for()
    page.locator("#aqa-run").click()
    page.locator("#aqa-evaluation-said [role=alert]", has_text="line 1").wait_for()
    page.locator("#aqa-run").wait_for()


def test_feedback_is_saved_as_a_set(opened, server):
    page = opened(server=server)
    tab(page, 2)
    page.locator("#aqa-feedback-set").click()
    page.get_by_text("No answer was rated yet").wait_for()
    tab(page, 0)
    ask(page, "What does Method3 reach on its bench?")
    page.locator("#aqa-live [data-act=up]").click()
    page.locator("#aqa-live .aqa-reason button").click()
    page.locator(".aqa-said", has_text="Noted").wait_for()
    tab(page, 2)
    with page.expect_download() as download:
        page.locator("#aqa-feedback-set").click()
    (line,) = download.value.path().read_text().splitlines()
    assert json.loads(line)["question"] == "What does Method3 reach on its bench?"
