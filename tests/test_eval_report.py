"""The report: what is in it, that nothing in it can act, and how it does in a real browser."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eval import plots
from eval.compare import compare
from eval.report import html, write_reports
from eval.result import RunResult, load_run
from eval.run import RunOptions, run_eval
from tests.fakes_eval import FakeLibrary, question_rows, write_rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> $x$ 中文"


def make_run(folder: Path, count: int, unanswerable: int) -> RunResult:
    library = FakeLibrary(folder / "home")
    library.index.papers[0] = type(library.index.papers[0])(
        "p0", f"On glaciers 0 {EVIL}", f"{EVIL} is bad. 🧊🧊 Two ice cubes. It is cheap. The end.", doi="10.1/0"
    )
    rows = [
        {**row, "relevant": [f"10.1/{place % 30}"]} if "relevant" in row else row
        for place, row in enumerate(question_rows(count, unanswerable))
    ]
    rows += [
        {"id": "evil", "kind": f"odd {EVIL}", "question": f"explode {EVIL}", "relevant": [EVIL]},
        {"id": "ice", "kind": "fact", "question": f"On glaciers 0 {EVIL}", "relevant": ["p0"], "facts": [[EVIL]]},
    ]
    result = run_eval(write_rows(folder / "set.jsonl", rows), library, RunOptions(out=folder / "run"))
    assert result is not None
    return result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return make_run(tmp_path_factory.mktemp("report"), 200, 73)


@pytest.fixture(scope="module")
def page(result: RunResult) -> Path:
    assert result.folder is not None
    return write_reports(result, result.folder, compare(result, result))


def test_the_page_holds_every_question_and_stays_small(result: RunResult, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(result.rows) == 275
    assert text.count('<details class="question"') == 275
    assert page.stat().st_size < 5_000_000
    for title in plots.figures(result):
        assert f"<figcaption>{title.replace(chr(39), '&#39;')}</figcaption>" in text


class Tags(HTMLParser):
    """Every tag and every attribute of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs


def test_nothing_that_was_read_becomes_markup(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = Tags(text)
    assert found.tags["script"] == 2  # the papers as data, and the page's own
    assert found.tags.keys().isdisjoint({"img", "iframe", "object", "embed", "base", "form"})
    for name, value in found.attributes:
        assert not name.startswith("on")
        assert name != "src"
        if name in ("href", "xlink:href"):
            assert value is not None
            assert value.startswith(("#", "data:,"))
    papers = re.search(r'<script type="application/json" id="papers">(.*?)</script>', text, re.DOTALL)
    assert papers is not None
    assert any(EVIL[:9] in sentence for spans in json.loads(papers[1]).values() for _, sentence in spans)


def test_a_report_made_again_from_the_folder_is_the_same(result: RunResult) -> None:
    assert result.folder is not None
    assert html(load_run(result.folder)) == html(result)


def test_the_folder_holds_the_summary_and_the_figures(result: RunResult, page: Path) -> None:
    data = json.loads((page.parent / "result.json").read_text(encoding="utf-8"))
    assert data["n"] == 275
    assert json.loads((page.parent / "comparison.json").read_text(encoding="utf-8"))["shared"] == 275
    summary = (page.parent / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## set: 275 questions, model fake")
    assert "compared on 275 questions" in summary


def test_figures_follow_the_theme_and_hold_no_fixed_ink(result: RunResult) -> None:
    for svg in plots.figures(result).values():
        assert "var(--" in svg
        assert not re.search(r"#0[1-7]0[1-7]0[1-7]", svg)
        assert 'role="img"' in svg
        ids = set(re.findall(r'\bid="([^"]+)"', svg))
        assert set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", svg)) <= {(i, "") for i in ids} | {
            ("", i) for i in ids
        }


def test_the_verifier_s_verdicts_are_counted(result: RunResult) -> None:
    shares = plots.verdict_shares(result.rows)
    assert len(shares["supported"]) == 201
    assert shares["partial"] == shares["unsupported"] == []


def test_a_run_with_nothing_to_draw_still_gives_a_page(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "explode"}]
    empty = run_eval(write_rows(tmp_path / "s.jsonl", rows), FakeLibrary(tmp_path / "home"), RunOptions())
    assert empty is not None
    assert 'data-verdict="failed"' in html(empty)


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 380)])
def test_in_chromium(browser: Browser, page: Path, scheme: Any, width: int) -> None:
    tab = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    said: list[str] = []
    requests: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(page.as_uri())
    assert tab.title() == "set – evaluation"  # no text of a question or a paper ran
    assert tab.evaluate("document.documentElement.scrollWidth") <= width

    def background() -> str:
        return str(tab.evaluate("getComputedStyle(document.body).backgroundColor"))

    dark, light = "rgb(20, 24, 30)", "rgb(255, 255, 255)"
    assert background() == (dark if scheme == "dark" else light)
    tab.click("#theme")
    assert background() == (light if scheme == "dark" else dark)

    tab.fill("#text", "case u7?")
    assert tab.locator("#shown").text_content() == "1 of 275"
    tab.fill("#text", "")
    tab.select_option("#verdict", "failed")
    assert tab.locator("#shown").text_content() == "1 of 275"
    tab.select_option("#verdict", "")
    tab.select_option("#kind", "off")
    assert tab.locator("#shown").text_content() == "73 of 275"
    tab.select_option("#kind", "")

    # Evidence is lit at its sentence also behind signs that take two places in the browser's strings.
    ice = tab.locator("details.question", has_text="ice").last
    ice.locator("> summary").click()
    lit = ice.locator("details.paper mark")
    assert lit.all_text_contents() == ["It is cheap."]
    assert said == []
    assert requests == [page.as_uri()]
    tab.close()
