"""Settings in a real browser: kept over a restart, applied to new questions; a model that is missing."""

import threading
import time
import tomllib

import pytest

from rag.errors import ModelUnreachable
from rag.models import known as models
from rag.models.known import PullProgress
from tests.browser.steps import ask, tab
from tests.library import entry, write_jsonl
from ui import settings_tab

pytestmark = pytest.mark.browser


def filled(over, home, tmp_path, **settings):
    server = over(home, **settings)
    server.library.ingest([write_jsonl(tmp_path / "papers.jsonl", [entry(number) for number in range(1, 9)])])
    return server


def test_defaults_are_kept_shown_and_taken_back(opened, over, tmp_path):
    server = filled(over, tmp_path / "home", tmp_path)
    page = opened(server=server)
    tab(page, 3)
    fields = page.locator("#aqa-defaults")
    fields.get_by_label("From year").fill("2024")
    fields.get_by_label("To year").fill("2020")
    page.locator("#aqa-save").click()
    page.locator("#aqa-defaults-said [role=alert]", has_text="the first not after the last").wait_for()
    fields.get_by_label("To year").fill("")
    page.locator("#aqa-save").click()
    page.locator("#aqa-defaults-said", has_text="Saved").wait_for()
    page.locator("#aqa-theme").get_by_label("Dark").check()
    page.wait_for_function("document.body.classList.contains('dark')")
    page.goto("about:blank")
    server.stop()
    server.start()
    page = opened(server=server)  # another browser: nothing is remembered there
    page.wait_for_function("document.body.classList.contains('dark')")
    page.locator("#aqa-active .aqa-chip", has_text="from 2024").wait_for()
    ask(page, "Which papers are about grasping?")
    assert page.locator("#aqa-live [data-act=drop-years]").count() == 1
    page.locator("#aqa-active [data-act=clear]").click()
    page.locator("#aqa-active .aqa-chip").wait_for(state="detached")
    page.locator("#aqa-new").click()
    page.locator("#aqa-active .aqa-chip", has_text="from 2024").wait_for()


def test_fields_are_locked_until_they_have_their_values(opened, over, tmp_path, monkeypatch):
    server = filled(over, tmp_path / "home", tmp_path)
    usual = settings_tab.models_table

    given = threading.Event()

    def slow(*arguments):
        time.sleep(3)
        given.set()
        return usual(*arguments)

    monkeypatch.setattr(settings_tab, "models_table", slow)
    page = opened(server=server)
    tab(page, 3)
    page.locator("#aqa-defaults").get_by_label("From year").fill("2021")  # waits until it may be typed into
    given.wait(30)
    page.wait_for_timeout(1000)
    assert page.locator("#aqa-defaults").get_by_label("From year").input_value() == "2021"


def test_language_is_kept(opened, over, tmp_path):
    server = over(tmp_path / "home")
    page = opened(server=server)
    page.locator(".aqa-bar [data-act=language]").click()
    page.locator(".aqa-welcome", has_text="文献库是空的").wait_for()
    again = opened(server=server)
    again.locator(".aqa-welcome", has_text="文献库是空的").wait_for()
    tab(again, 3)
    again.locator("#aqa-language").get_by_label("English").check()
    again.locator(".aqa-welcome", has_text="The library is empty").wait_for()


def test_a_missing_model_is_said_and_another_can_be_chosen(opened, over, tmp_path):
    server = filled(over, tmp_path / "home", tmp_path, llm="qwen2.5-coder-0.5b")
    server.stop()
    server.warm = True
    server.start()
    page = opened(server=server)
    page.locator("#aqa-notice", has_text="qwen2.5-coder-0.5b is not on this machine").wait_for()
    ask(page, "Which method reaches 3 points?")
    assert page.locator("#aqa-live .aqa-s").count() >= 1
    page.locator("#aqa-notice [data-act=settings]").click()
    row = page.locator("#aqa-models tr", has_text="491 MB").last
    assert row.locator("td").nth(2).inner_text() == "no"
    assert row.get_by_role("button", name="Fetch").count() == 1
    page.locator("#aqa-models [data-act=use][data-name=none]").click()
    page.locator("#aqa-settings-said", has_text="none answers from now on").wait_for()
    page.locator("#aqa-notice .aqa-notice").wait_for(state="detached")
    assert tomllib.loads((tmp_path / "home" / "settings.toml").read_text()) == {"llm": "none"}


def test_a_model_that_is_none_changes_nothing(opened, over, tmp_path):
    server = over(tmp_path / "home")
    page = opened(server=server)
    tab(page, 3)
    page.locator("#aqa-other-model input, #aqa-other-model textarea").fill("/no/such/model")
    page.keyboard.press("Enter")
    page.locator("#aqa-settings-said [role=alert]", has_text="/no/such/model").wait_for()
    page.locator("#aqa-models tr.aqa-current", has_text="none:").wait_for()
    assert not (tmp_path / "home" / "settings.toml").exists()


def test_fetching_says_how_far_it_is_and_why_it_failed(opened, over, tmp_path, monkeypatch):
    release = threading.Event()

    def pull(name, home, progress):
        progress(PullProgress(name, "downloading", 49_000_000, 98_000_000))
        release.wait(30)
        raise ModelUnreachable(f"{name} could not be fetched; check the network.")

    monkeypatch.setattr(models, "pull", pull)
    server = over(tmp_path / "home")
    page = opened(server=server)
    tab(page, 3)
    page.locator("#aqa-models [data-act=pull][data-name='smollm2-135m']").click()
    page.locator("#aqa-settings-said", has_text="smollm2-135m: fetching — 49 / 98 MB").wait_for()
    assert page.locator("#aqa-settings-said progress").get_attribute("value") == "0.500"
    release.set()
    page.locator("#aqa-settings-said [role=alert]", has_text="check the network").wait_for()
