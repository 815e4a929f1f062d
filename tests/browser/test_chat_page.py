"""The chat in a real browser."""

import json
import re

import pytest

from tests.browser.conftest import GONE
from tests.browser.steps import ask

pytestmark = pytest.mark.browser


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
    page.locator("#aqa-box .submit-button").wait_for()  # until then Enter sends nothing
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
    page.locator("#aqa-active .aqa-chip", has_text="from 2024").wait_for()
    ask(page, "What about 2024?")
    assert served.library.asked[-1][2].year_from == 2024
    assert page.locator("#aqa-live [data-act=drop-years]").count() == 1
    page.locator("#aqa-active [data-act=clear]").click()
    page.locator("#aqa-active .aqa-chip").wait_for(state="detached")
    ask(page, "What about any year?")
    assert served.library.asked[-1][2].year_from is None


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
    assert page.locator("#aqa-live .aqa-notes").inner_text() == "以中文提问，用英文检索：what of it"
    assert page.evaluate("document.documentElement.lang") == "zh"


def test_edit_and_retry_replace_the_answer(opened, served):
    page = opened()
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live [data-act=edit]").click(force=True)
    page.locator(".aqa-edit textarea").fill("How does LoomQA weave?")
    page.keyboard.press("Enter")
    page.locator("#aqa-live [data-state=done]", has_text="How does LoomQA weave?").wait_for()
    assert page.locator(".aqa-exchange").count() == 1
    asked = len(served.library.asked)
    page.locator("#aqa-live [data-act=retry]").click()
    page.locator("#aqa-live [data-state=running]").wait_for()
    page.locator("#aqa-live [data-state=done]").wait_for()
    assert [question for question, _, _ in served.library.asked[asked:]] == ["How does LoomQA weave?"]
    assert page.locator(".aqa-exchange").count() == 1


def test_copying_an_answer_and_a_paper(opened, served):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live [data-act=copy]").click()
    page.locator(".aqa-said", has_text="Copied").wait_for()
    assert "KiteNet steers a small kite" in page.evaluate("navigator.clipboard.readText()")
    page.locator(".aqa-sources .aqa-card-head").first.click()
    page.locator(".aqa-sources [data-act=bibtex]").first.click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('@'))")
    page.locator(".aqa-sources [data-act=similar]").first.click()
    page.locator(".aqa-sources .aqa-similar .aqa-open-paper").first.click()
    page.locator("dialog[open] h2", has_text="LoomQA").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")


def test_follow_up_buttons_are_in_sight_and_ask(opened, served):
    page = opened(height=620)
    for number in range(3):
        ask(page, f"How does KiteNet steer {number}?")
    button = page.locator("#aqa-live .aqa-followups .aqa-ask").last
    button.wait_for()
    composer = page.locator("#aqa-composer").bounding_box()
    page.wait_for_function(
        "top => document.querySelector('#aqa-live .aqa-followups').getBoundingClientRect().bottom <= top",
        arg=composer["y"] + 1,
    )
    text = button.inner_text()
    button.click()
    page.locator("#aqa-live .aqa-question", has_text=text).wait_for()
    page.locator("#aqa-live [data-state=done]").wait_for()
    assert served.library.asked[-1][0] == text


def test_all_matches_of_a_list_open(opened):
    page = opened()
    ask(page, "list the papers")
    assert page.locator("#aqa-live .aqa-matches li").count() == 6
    page.locator("#aqa-live .aqa-matches .aqa-open-paper").nth(5).click()
    page.locator("dialog[open] h2", has_text="SaltBench").wait_for()
    assert page.locator("dialog[open] .aqa-abstract math").count() == 1


def test_two_tabs_of_one_user(opened, served):
    first = opened()
    ask(first, "Be slow in this tab", wait=False)
    first.locator("#aqa-live .aqa-draft").wait_for()
    second = opened(first.url.removeprefix(served.address))
    second.locator("#aqa-live", has_text="Being answered in another tab").wait_for()
    ask(second, "How does KiteNet steer meanwhile?")
    first.locator("#aqa-box .stop-button").click()
    first.locator("#aqa-live [data-state=stopped]").wait_for()
    second.reload()
    second.locator("#aqa-live [data-state=done]", has_text="meanwhile").wait_for()
    assert second.locator(".aqa-exchange").count() == 2


def test_a_server_that_stops_while_it_answers(opened, served):
    page = opened()
    page.expected += GONE
    ask(page, "Be slow until the server stops", wait=False)
    page.locator("#aqa-live .aqa-draft").wait_for()
    served.stop()
    page.locator("#aqa-gone", has_text="Start it again").wait_for()
    served.start()
    page.locator("#aqa-live [data-state=stopped]", has_text="ask again").wait_for()
    page.locator("#aqa-gone").wait_for(state="detached")
    ask(page, "How does KiteNet steer afterwards?")
