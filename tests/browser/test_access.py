"""For keyboard and screen reader: axe-core on every view in both themes, focus that is seen, calm motion, a phone."""

import shutil
import subprocess

import pytest

from tests.browser.steps import ask, tab

pytestmark = pytest.mark.browser
SERIOUS = (
    "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations"
    ".filter((one) => ['serious', 'critical'].includes(one.impact))"
    ".map((one) => one.id + ': ' + one.nodes.map((node) => node.target.join(' ')).join(' | ')))"
)


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core from npm, which only this test needs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "axe-core@4"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("axe-core cannot be had from npm")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("path", "scheme"), [("/", "light"), ("/", "dark"), ("/zh/", "light")])
def test_axe_finds_nothing_serious_in_any_view(opened, axe, path, scheme):
    page = opened(path, color_scheme=scheme)
    page.evaluate(axe)
    found = {"welcome": page.evaluate(SERIOUS)}
    ask(page, "How does KiteNet steer?")
    page.locator("#aqa-live .aqa-answer .aqa-cite").first.click()
    page.locator("#aqa-filters > button").click()
    found["chat"] = page.evaluate(SERIOUS)
    for place, name in ((1, "library"), (2, "evaluation"), (3, "settings")):
        tab(page, place)
        page.locator("#aqa-views > .tabitem:visible h2").first.wait_for()
        found[name] = page.evaluate(SERIOUS)
    tab(page, 1)
    page.locator("#aqa-papers .aqa-open-paper").first.click()
    page.locator("dialog[open]").wait_for()
    found["dialog"] = page.evaluate(SERIOUS)
    assert found == {view: [] for view in found}


def test_keyboard_order_and_visible_focus(opened):
    page = opened()
    ask(page, "How does KiteNet steer?")
    page.locator(".aqa-skip").focus()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        state = page.evaluate(
            "(() => { const at = document.activeElement, style = getComputedStyle(at), box = at.closest('#aqa-box');"
            " const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;"
            " const lit = ring || style.boxShadow !== 'none' || (box && getComputedStyle(box).boxShadow !== 'none');"
            " const part = ['aqa-header', 'aqa-side', 'aqa-scroll', 'aqa-composer', 'aqa-panel']"
            ".find((id) => at.closest('#' + id)) ?? (at.getAttribute('role') === 'tab' ? 'tabs' : at.tagName);"
            " return [part, Boolean(lit), at.outerHTML.slice(0, 90)]; })()"
        )
        if state[0] == "BODY":
            break
        seen.append(state)
    parts = list(dict.fromkeys(part for part, _, _ in seen))
    assert parts == ["aqa-header", "aqa-side", "tabs", "aqa-scroll", "aqa-composer", "aqa-panel"]
    assert [html for _, lit, html in seen if not lit] == []


def test_nothing_moves_for_who_wants_it_calm(opened):
    page = opened(reduced_motion="reduce")
    ask(page, "Be slow please", wait=False)
    page.locator("#aqa-live .aqa-pulse").wait_for()
    assert page.evaluate("getComputedStyle(document.querySelector('.aqa-pulse')).animationName") == "none"
    page.locator("#aqa-box .stop-button").click()
    page.locator("#aqa-live [data-state=stopped]").wait_for()


@pytest.mark.parametrize("path", ["/", "/zh/"])
def test_every_view_fits_a_phone(opened, path):
    page = opened(path, width=390, height=844, has_touch=True, color_scheme="dark")
    ask(page, "How does KiteNet steer?")
    for place in range(4):
        tab(page, place)
        page.wait_for_function("document.querySelectorAll('#aqa-views > .tabitem').length > 0")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        wide = page.evaluate(
            "[...document.querySelectorAll('#aqa-views > .tabitem *')].filter((one) => one.offsetParent !== null"
            " && !one.closest('.aqa-table, .aqa-compared, .aqa-sr, [hidden]')"
            " && one.getBoundingClientRect().right > 391).map((one) => one.outerHTML.slice(0, 120))"
        )
        assert wide == []
    page.locator(".aqa-menu").click()
    page.locator("#aqa-list li").first.wait_for()
