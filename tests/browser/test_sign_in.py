"""Signing in, seeing who one is, and out again, in a real Chromium."""

import pytest

from tests.browser.conftest import GONE
from tests.fakes_ui import FakeLibrary
from tests.served import PASSWORD, serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(FakeLibrary(tmp_path_factory.mktemp("home")), ("*anna", "bert")) as running:
        yield running


@pytest.fixture
def page(browser, server):
    """A page that led to signing in; at the end nothing was wrong on its console but what was refused or broken off."""
    wrong = []
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(server.address)
    yield opened
    context.close()
    left = ("401 (Unauthorized)", "AbortError", "errored out", *GONE)
    # Gradio's client throws the answer itself where its own route says 401; its whole text is then "Response".
    assert [text for text in wrong if text != "Response" and not any(known in text for known in left)] == []


def sign_in(page, name, password=PASSWORD):
    page.fill("[name=name]", name)
    page.fill("[name=password]", password)
    page.locator("form button").click()


def test_in_and_out(page):
    sign_in(page, "anna", "not this one")
    assert page.locator("[role=alert]").inner_text() == "The name or the password is not right."
    assert page.evaluate("document.activeElement.name") == "password"
    sign_in(page, "anna")
    page.locator(".aqa-account").wait_for()
    assert page.locator(".aqa-who").inner_text() == "anna"
    page.locator("#aqa-box textarea").fill("How does KiteNet steer?")
    page.keyboard.press("Enter")
    page.locator(".aqa-exchange[data-state=done], .aqa-exchange:has(.aqa-cite)").first.wait_for()
    page.locator(".aqa-account button").click()
    page.locator("[name=password]").wait_for()
    sign_in(page, "bert")
    page.locator(".aqa-account").wait_for()
    assert "KiteNet steer?" not in page.locator("#aqa-list").inner_text()


def test_a_reader_is_not_shown_what_only_admins_may(page):
    sign_in(page, "bert")
    page.locator(".aqa-account").wait_for()
    page.locator("#aqa-views [role=tab]").nth(1).click()
    page.locator("#aqa-papers").wait_for()
    assert not page.locator("#aqa-upload").is_visible()


def test_a_session_that_has_ended_leads_to_signing_in(page, server):
    page.goto(f"{server.address}/sign-in?language=zh")
    assert page.locator("h1").inner_text() == "登录"
    sign_in(page, "bert")
    page.locator(".aqa-account").wait_for()
    # Set going before the session ends: after that the page may leave at any moment, whatever it asks for next.
    page.evaluate("void setInterval(() => fetch('/api/conversations').catch(() => {}), 200)")
    page.context.clear_cookies()
    page.locator("[name=password]").wait_for()
