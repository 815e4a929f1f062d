"""The chat in a real browser."""

import json
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.browser


def ask(page, question, wait=True):
    box = page.locator("#aqa-box textarea")
    box.fill(question)
    box.press("Enter")
    if wait:
        page.locator("#aqa-live [data-state=done]", has_text=question).wait_for()


def test_an_answer_with_its_sources(opened):
    page = opened()
    ask(page, "How does KiteNet steer?")
    assert page.locator("#aqa-live .aqa-s").count() == 3
    assert page.locator("#aqa-live .aqa-answer .aqa-cite").all_inner_texts()
    assert page.locator(".aqa-sources .aqa-card.aqa-cited").count() == 3


def test_a_citation_opens_its_card_with_the_sentence_lit(opened):
    page = opened()
    ask(page, "How does KiteNet steer?")
    chip = page.locator("#aqa-live .aqa-answer .aqa-cite").nth(1)
    chip.hover()
    page.locator("#aqa-tip", has_text="LoomQA").wait_for()
    chip.click()
    card = page.locator(".aqa-sources .aqa-card.aqa-lit")
    assert card.locator(".aqa-title").inner_text().startswith("LoomQA")
    assert card.locator("mark.aqa-lit").inner_text() == "LoomQA answers questions over woven tables."
    assert card.locator(".aqa-full").is_visible()


def test_keyboard_alone_reaches_a_citation(opened):
    page = opened()
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live .aqa-answer .aqa-cite").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.paper") == "p1"


def test_stop_stops_the_writing(opened, served):
    page = opened()
    served.library.cancelled.clear()
    ask(page, "Be slow please", wait=False)
    page.locator("#aqa-live .aqa-draft").wait_for()
    page.locator("#aqa-box .stop-button").click()
    page.locator("#aqa-live [data-state=stopped]").wait_for()
    assert served.library.cancelled.wait(5)
    ask(page, "How does KiteNet steer?")


def test_a_closed_tab_stops_the_writing(opened, served):
    page = opened()
    served.library.cancelled.clear()
    ask(page, "Be slow please", wait=False)
    page.locator("#aqa-live .aqa-draft").wait_for()
    page.close()
    assert served.library.cancelled.wait(90)


def test_a_follow_up_is_asked_with_what_was_said(opened, served):
    page = opened()
    ask(page, "How does KiteNet steer?")
    ask(page, "And how long?")
    _, history, _ = served.library.asked[-1]
    assert history[0].content == "How does KiteNet steer?"
    page.locator("#aqa-live [data-act=alone]").click()
    page.locator("#aqa-live [data-state=done]").wait_for()
    page.wait_for_function("!document.querySelector('#aqa-live [data-act=alone]')")
    assert served.library.asked[-1][1] == ()


def test_a_conversation_is_there_after_reload_and_restart(opened, served):
    page = opened()
    ask(page, "How does KiteNet steer on reload?")
    before = page.locator("#aqa-live .aqa-answer").inner_text()
    page.reload()
    page.locator("#aqa-live .aqa-s").first.wait_for()
    assert page.locator("#aqa-live .aqa-answer").inner_text() == before
    address = page.url
    page.goto("about:blank")
    served.stop()
    served.start()
    page.goto(address)
    page.locator("#aqa-live .aqa-s").first.wait_for()
    assert page.locator("#aqa-live .aqa-answer").inner_text() == before


def test_conversations_are_renamed_found_and_deleted(opened):
    page = opened()
    ask(page, "How does KiteNet steer by name?")
    item = page.locator("#aqa-list li[data-current]")
    item.hover()
    item.locator("[data-act=rename]").click()
    page.locator("#aqa-list input").fill("Kites over Delft")
    page.keyboard.press("Enter")
    page.locator("#aqa-list", has_text="Kites over Delft").wait_for()
    page.locator("#aqa-find textarea, #aqa-find input").fill("delft")
    page.wait_for_function("document.querySelectorAll('#aqa-list li').length === 1")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#aqa-list li").hover()
    page.locator("#aqa-list [data-act=delete]").click()
    page.locator(".aqa-welcome").wait_for()


def test_a_rating_is_kept_with_the_answer(opened, served):
    page = opened()
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live [data-act=up]").click()
    page.locator("#aqa-live .aqa-reason input").fill("It is right.")
    with page.expect_response(re.compile("feedback")):
        page.keyboard.press("Enter")
    line = json.loads((served.library.settings.home / "feedback.jsonl").read_text().splitlines()[-1])
    assert (line["rating"], line["reason"], line["answer"]["status"]) == ("up", "It is right.", "answered")


def test_sources_and_conversation_are_exported(opened):
    page = opened()
    ask(page, "How does KiteNet steer?")
    for format_, start in (("bibtex", "@"), ("ris", "TY  - "), ("conversation", "# How does KiteNet")):
        page.locator(".aqa-export summary").click()
        with page.expect_download() as download:
            page.locator(f".aqa-export [data-format={format_}]").click()
        assert download.value.path().read_text().startswith(start)


def test_filters_reach_the_library(opened, served):
    page = opened()
    page.locator("#aqa-filters > .label-wrap, #aqa-filters > button").click()
    page.get_by_label("From year").first.fill("2024")
    page.get_by_label("From year").first.press("Tab")
    ask(page, "What about 2024?")
    assert served.library.asked[-1][2].year_from == 2024
    assert page.locator("#aqa-live [data-act=drop-years]").count() == 1


def test_a_defect_is_one_sentence(opened):
    page = opened()
    ask(page, "Please fail", wait=False)
    page.locator("#aqa-live .aqa-error", has_text="Something went wrong inside").wait_for()
    ask(page, "How does KiteNet steer?")


def test_hostile_abstract_does_nothing(opened):
    page = opened()
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live .aqa-answer .aqa-cite").nth(2).click()
    page.locator(".aqa-sources .aqa-abstract", has_text="<script>window.broken=1</script>").first.wait_for()
    assert page.evaluate("window.broken") is None


def test_phone(opened):
    page = opened(width=390, height=844, has_touch=True)
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live .aqa-answer .aqa-cite").first.click()
    page.locator("#aqa-live .aqa-inline-sources .aqa-card.aqa-lit").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_dark_and_chinese(opened):
    page = opened("/zh/", color_scheme="dark")
    assert page.locator("#aqa-views [role=tab]").all_inner_texts() == ["提问", "文献库", "评测", "设置"]
    assert page.evaluate("document.body.classList.contains('dark')")
    ask(page, "LoomQA 怎么样？")
    assert "以中文提问" in page.locator("#aqa-live .aqa-notes").inner_text()


def test_library_is_searched(opened):
    page = opened()
    page.locator("#aqa-views [role=tab]", has_text="Library").click()
    page.locator("#aqa-search-library input, #aqa-search-library textarea").fill("salt")
    page.keyboard.press("Enter")
    page.locator("#aqa-papers", has_text="1–1 of 1").wait_for()
    page.locator("#aqa-papers", has_text="SaltBench").wait_for()


@pytest.mark.parametrize("path", ["/", "/zh/"])
def test_axe_finds_nothing_serious(opened, tmp_path_factory, path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.getbasetemp() / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        folder.mkdir(exist_ok=True)
        done = subprocess.run([npm, "install", "--prefix", str(folder), "axe-core@4"], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("axe-core cannot be had from npm")
    page = opened(path)
    ask(page, "How does KiteNet steer?")
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run(document).then((r) => r.violations.filter((v) => ['serious','critical'].includes(v.impact))"
        ".map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).join(' | ')))"
    )
    assert found == []
