"""The library in a real browser: a real library on disk, read, sorted, opened, exported, drawn and emptied."""

import json

import pytest

from tests.browser.steps import ask, listed_titles, tab
from tests.library import entry, write_jsonl

pytestmark = pytest.mark.browser
MANY = 60


@pytest.fixture
def server(over, tmp_path):
    return over(tmp_path / "home")


@pytest.fixture
def filled(over, tmp_path):
    server = over(tmp_path / "home")
    server.library.ingest([write_jsonl(tmp_path / "papers.jsonl", [entry(number) for number in range(1, MANY + 1)])])
    return server


def test_an_upload_into_an_empty_library(opened, server, tmp_path):
    page = opened(server=server)
    page.locator(".aqa-welcome", has_text="The library is empty").wait_for()
    page.locator(".aqa-welcome [data-act=library]").click()
    lines = [json.dumps(entry(number)) for number in (1, 2, 3)] + ["{torn"]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    page.locator("#aqa-upload input[type=file]").set_input_files(tmp_path / "mine.jsonl")
    page.locator("#aqa-report", has_text="3 added, 0 unchanged").wait_for()
    assert page.locator("#aqa-report tbody tr").all_inner_texts()[0].startswith("mine.jsonl\t4\t")
    page.locator("#aqa-papers", has_text="1–3 of 3").wait_for()
    page.locator(".aqa-held", has_text="3 papers").wait_for()
    tab(page, 0)
    page.locator(".aqa-welcome", has_text="3 papers from 3 venues").wait_for()


def test_a_path_is_read_with_live_progress(opened, server, tmp_path):
    write_jsonl(tmp_path / "many.jsonl", [entry(number) for number in range(1, 400)])
    page = opened(server=server)
    tab(page, 1)
    page.locator("#aqa-path input, #aqa-path textarea").fill(str(tmp_path / "many.jsonl"))
    page.evaluate(
        "window.seen = []; new MutationObserver(() => { const p = document.querySelector('#aqa-report progress');"
        " if (p) window.seen.push(p.getAttribute('aria-label')); })"
        ".observe(document.querySelector('#aqa-report'), {childList: true, subtree: true, attributes: true})"
    )
    page.get_by_role("button", name="Read", exact=True).click()
    page.locator("#aqa-report", has_text="399 added").wait_for()
    assert any("many.jsonl" in text for text in page.evaluate("window.seen"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "1 rejected"), ("nothing.bib", b"", "rejected")],
)
def test_a_wrong_file_is_said(opened, server, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    page = opened(server=server)
    tab(page, 1)
    page.locator("#aqa-upload input[type=file]").set_input_files(tmp_path / name)
    page.locator("#aqa-report [role=status] .aqa-done, #aqa-report [role=alert]").wait_for()
    assert said in page.locator("#aqa-report").inner_text()
    assert page.locator("#aqa-papers", has_text="No paper matches").count() == 1


def test_a_file_that_is_too_large_is_said(opened, over, tmp_path, monkeypatch):
    monkeypatch.setattr("ui.app.LARGEST_UPLOAD", "4kb")
    server = over(tmp_path / "home")
    (tmp_path / "huge.txt").write_text("An abstract. " * 2000)
    page = opened(server=server)
    page.expected += ["413", "maximum allowed size"]
    tab(page, 1)
    page.locator("#aqa-upload input[type=file]").set_input_files(tmp_path / "huge.txt")
    page.get_by_text("maximum allowed size").first.wait_for()
    write_jsonl(tmp_path / "small.jsonl", [entry(1)])
    page.locator("#aqa-upload input[type=file]").set_input_files(tmp_path / "small.jsonl")
    page.locator("#aqa-report", has_text="1 added").wait_for()


def test_sorting_regards_all_pages(opened, filled):
    page = opened(server=filled)
    tab(page, 1)
    page.locator("#aqa-papers", has_text=f"1–50 of {MANY}").wait_for()
    titles = [f"Method{number} for " for number in range(1, MANY + 1)]
    page.locator("#aqa-papers [data-order=title]").click()
    page.locator("#aqa-papers th[aria-sort=ascending]", has_text="Title").wait_for()
    first = sorted(titles)
    assert [title.split("for ")[0] + "for " for title in listed_titles(page)] == first[:50]
    page.locator("#aqa-papers [data-act=page]").last.click()
    page.locator("#aqa-papers", has_text=f"51–{MANY} of {MANY}").wait_for()
    assert [title.split("for ")[0] + "for " for title in listed_titles(page)] == first[50:]
    page.locator("#aqa-papers [data-order=title]").click()
    page.locator("#aqa-papers th[aria-sort=descending]", has_text="Title").wait_for()
    assert listed_titles(page)[0].startswith(first[-1])


def test_papers_are_found_opened_removed_and_exported(opened, filled):
    page = opened(server=filled)
    tab(page, 1)
    search = page.locator("#aqa-search-library input, #aqa-search-library textarea")
    search.fill("Method17 ")
    page.locator("#aqa-papers", has_text="1–1 of 1").wait_for()
    page.locator("#aqa-papers .aqa-open-paper").click()
    page.locator("dialog[open] .aqa-abstract", has_text="reaches 17 points").wait_for()
    page.locator("dialog[open] [data-act=close]").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export all that match").click()
    assert download.value.path().read_text().count("@") == 1
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#aqa-papers [data-act=tick]").check()
    page.locator("#aqa-papers [data-act=remove]").click()
    page.locator("#aqa-report", has_text="1 removed").wait_for()
    page.locator("#aqa-papers", has_text="No paper matches").wait_for()
    page.locator(".aqa-held", has_text=f"{MANY - 1} papers").wait_for()
    search.fill("")
    page.locator("#aqa-papers", has_text=f"1–50 of {MANY - 1}").wait_for()
    assert page.locator("#aqa-papers [data-act=tick]:checked").count() == 0


def test_the_map_opens_a_paper(opened, filled):
    page = opened(server=filled)
    tab(page, 1)
    page.locator("#aqa-overview > button").click()
    page.locator("#aqa-map .js-plotly-plot[data-bound]").wait_for()
    assert page.locator("#aqa-overview .js-plotly-plot").count() == 3
    # Chromium draws the points; the one clicked is chosen by what plotly tells of it.
    page.evaluate(
        "(() => { const plot = document.querySelector('#aqa-map .js-plotly-plot');"
        " plot.emit('plotly_click', {points: [{customdata: plot.data[0].customdata[3]}]}); })()"
    )
    page.locator("dialog[open] h2", has_text="Method").wait_for()


def test_a_restart_keeps_library_and_conversation(opened, filled):
    page = opened(server=filled)
    ask(page, "How many papers are from ACL?")
    before = page.locator("#aqa-live .aqa-answer").inner_text()
    address = page.url.removeprefix(filled.address)
    page.goto("about:blank")
    filled.stop()
    filled.start()
    page = opened(address, server=filled)
    page.locator("#aqa-live [data-state=done]").wait_for()
    assert page.locator("#aqa-live .aqa-answer").inner_text() == before
    page.locator(".aqa-held", has_text=f"{MANY} papers").wait_for()
