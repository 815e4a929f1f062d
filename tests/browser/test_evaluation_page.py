"""Evaluation in a real browser: a small set run without a model, its report, and feedback as a set."""

import json

import pytest

from tests.browser.steps import ask, tab
from tests.library import entry, write_jsonl

pytestmark = pytest.mark.browser


@pytest.fixture
def server(over, tmp_path):
    server = over(tmp_path / "home")
    server.library.ingest([write_jsonl(tmp_path / "papers.jsonl", [entry(number) for number in range(1, 13)])])
    return server


def test_a_set_is_run_and_its_report_read(opened, server, tmp_path):
    questions = [
        {"id": f"q{number}", "question": f"What does Method{number} reach?", "relevant": [f"p{number}"]}
        for number in (1, 2, 3)
    ]
    write_jsonl(tmp_path / "mine.jsonl", questions)
    page = opened(server=server)
    tab(page, 2)
    page.locator("#aqa-own-set input[type=file]").set_input_files(tmp_path / "mine.jsonl")
    page.locator("#aqa-own-set", has_text="mine").wait_for()
    page.get_by_label("Retrieval only").check()
    page.locator("#aqa-run").click()
    page.locator("#aqa-evaluation-said", has_text="Done; the report is below").wait_for()
    report = page.frame_locator(".aqa-report")
    report.get_by_text("3 questions, retrieval only").first.wait_for()
    report.get_by_text("recall@5").first.wait_for()
    page.locator("#aqa-run").wait_for()


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
