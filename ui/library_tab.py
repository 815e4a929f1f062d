"""The library: reading files into it, finding, exporting and removing papers, and its plots."""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import gradio as gr

from rag.errors import AbstractQAError
from rag.export import Format, export
from rag.types import Filters, Paper
from ui.desk import Desk
from ui.overview import overview
from ui.prose import escape
from ui.text import Words
from ui.years import year

PAGE = 50
REJECTED_SHOWN = 50
HIDDEN: dict[str, Any] = {"api_visibility": "private"}


def library_tab(desk: Desk, words: Words) -> None:
    """The tab's content; call inside `gr.Tab`."""
    with gr.Column(elem_classes="aqa-page"):
        gr.HTML(f"<h2>{escape(words('add_papers'))}</h2>")
        with gr.Row(equal_height=False):
            files = gr.File(label=words("upload"), file_count="multiple", height=110, scale=3, elem_id="aqa-upload")
            with gr.Column(scale=2, min_width=240):
                path = gr.Textbox(label=words("path"), placeholder=words("path_hint"), max_lines=1)
                read = gr.Button(words("read"), variant="primary")
        report = gr.HTML(elem_id="aqa-report")
        gr.HTML(f"<h2>{escape(words('papers'))}</h2>")
        with gr.Row():
            text = gr.Textbox(
                label=words("search_library"), max_lines=1, scale=3, min_width=180, elem_id="aqa-search-library"
            )
            venue = gr.Textbox(label=words("venue"), max_lines=1, scale=2, min_width=120)
            first = gr.Textbox(label=words("year_from"), max_lines=1, scale=1, min_width=90)
            last = gr.Textbox(label=words("year_to"), max_lines=1, scale=1, min_width=90)
        shown = gr.HTML(elem_id="aqa-shown")
        table = gr.Dataframe(
            headers=["", "ID", words("title"), words("authors"), words("venue"), words("year"), words("source_file")],
            datatype=["bool", "str", "str", "str", "str", "number", "str"],
            column_count=7,
            interactive=True,
            static_columns=[1, 2, 3, 4, 5, 6],
            wrap=True,
            max_height=520,
            type="array",
            show_label=False,
            column_widths=["44px", "140px", "306px", "200px", "130px", "72px", "140px"],
            elem_id="aqa-papers",
        )
        with gr.Row(equal_height=True):
            page = gr.Number(1, label=words("page"), precision=0, minimum=1, min_width=80, scale=1)
            kind = gr.Dropdown(list(get_args(Format)), value="bibtex", label=words("format"), min_width=120, scale=1)
            save = gr.DownloadButton(words("export_papers"), min_width=140, scale=1)
            sure = gr.Checkbox(label=words("remove_sure"), min_width=200, scale=2)
            remove = gr.Button(words("remove"), variant="stop", min_width=120, scale=1)
        with gr.Accordion(words("overview"), open=False):
            draw = gr.Button(words("draw"), size="sm")
            with gr.Row():
                years, venues = gr.Plot(show_label=False), gr.Plot(show_label=False)
            gr.HTML(f'<p class="aqa-note">{escape(words("map_hint"))}</p>')
            chart = gr.Plot(show_label=False)

    chosen = [text, venue, first, last, page]

    def listed(text_: str, venue_: str, first_: str | None, last_: str | None, page_: float) -> tuple[str, Any]:
        filters = _filters(venue_, first_, last_)
        total = desk.library.count(filters, text_ or None)
        offset = PAGE * (max(1, int(page_ or 1)) - 1)
        found = desk.library.papers(filters, text_ or None, offset=offset, limit=PAGE)
        line = words("shown", shown=f"{offset + 1 if found else 0}–{offset + len(found)}", n=f"{total:,}")
        return f'<p class="aqa-note">{escape(line)}</p>', [row(paper) for paper in found]

    def reading(files_: Sequence[str] | None, path_: str) -> Iterator[str]:
        paths = [Path(name) for name in files_ or ()] + ([Path(path_.strip()).expanduser()] if path_.strip() else [])
        if not paths:
            yield f'<p class="aqa-error" role="alert">{escape(words("ingest_none"))}</p>'
            return
        yield from ingested(desk, paths, words)

    def removed(rows: list[list[Any]], sure_: bool) -> str:
        ids = [str(line[1]) for line in rows if line[0] in (True, "true", "True")]
        if not ids or not sure_:
            gr.Warning(words("remove_none") if not ids else words("remove_sure"))
            return ""
        try:
            count = desk.library.remove(ids)
        except AbstractQAError as error:
            return f'<p class="aqa-error" role="alert">{escape(str(error))}</p>'
        return f'<p class="aqa-note">{escape(words("remove_done", n=count))}</p>'

    def saved(text_: str, venue_: str, first_: str | None, last_: str | None, kind_: Format) -> str:
        from ui.api import SUFFIXES

        folder = Path(tempfile.mkdtemp(prefix="abstract-qa-"))
        target = folder / f"papers.{SUFFIXES[kind_][0]}"
        papers = desk.library.papers(_filters(venue_, first_, last_), text_ or None)
        with target.open("w", encoding="utf-8") as file:
            file.writelines(export(papers, kind_))
        return str(target)

    def plotted() -> tuple[Any, Any, Any]:
        from ui.plots import library_map, per_venue, per_year

        held = overview(desk.library)
        return per_year(held, words), per_venue(held, words), library_map(desk.library, words)

    show: dict[str, Any] = {
        "fn": listed,
        "inputs": chosen,
        "outputs": [shown, table],
        "show_progress": "hidden",
        **HIDDEN,
    }
    done = read.click(reading, [files, path], report, show_progress="hidden", **HIDDEN)
    done.then(**show)
    remove.click(removed, [table, sure], report, **HIDDEN).then(lambda: False, None, sure, **HIDDEN).then(**show)
    save.click(saved, [text, venue, first, last, kind], save, **HIDDEN)
    draw.click(plotted, None, [years, venues, chart], **HIDDEN)
    # Without triggers: when the page is opened and whenever one of the inputs changes.
    gr.on(None, trigger_mode="always_last", **show)


def row(paper: Paper) -> list[Any]:
    """A line of the table, the first column for ticking."""
    authors = ", ".join(paper.authors[:3]) + (" et al." if len(paper.authors) > 3 else "")
    return [False, paper.paper_id, paper.title, authors, paper.venue or "", paper.year, paper.locator or ""]


def ingested(desk: Desk, paths: Sequence[Path], words: Words) -> Iterator[str]:
    """Read files, saying how it goes; the last piece is the report."""
    told: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        try:
            told.put(desk.library.ingest(paths, progress=told.put))
        except AbstractQAError as error:
            told.put(error)
        except Exception as error:  # noqa: BLE001 - logged by the thread that shows it; the page must not wait for ever
            told.put(error)

    threading.Thread(target=work, daemon=True).start()
    yield _progress(words("reading"), None)
    while True:
        item = told.get()
        while not told.empty() and not _is_last(item):
            item = told.get()
        if isinstance(item, AbstractQAError):
            yield f'<p class="aqa-error" role="alert">{escape(str(item))}</p>'
            return
        if isinstance(item, Exception):
            yield f'<p class="aqa-error" role="alert">{escape(words("failed"))}</p>'
            raise item
        if hasattr(item, "files"):
            yield report_html(item, words)
            return
        total = f" / {item.total:,}" if item.total else ""
        share = item.done / item.total if item.total else None
        yield _progress(f"{words('reading')}: {Path(item.file).name} — {item.done:,}{total}", share)


def _is_last(item: Any) -> bool:
    return isinstance(item, Exception) or hasattr(item, "files")


def _progress(text: str, share: float | None) -> str:
    bar = f'<progress max="1" value="{share:.3f}"></progress>' if share is not None else "<progress></progress>"
    return f'<div class="aqa-progress" role="status"><p class="aqa-note">{escape(text)}</p>{bar}</div>'


def report_html(report: Any, words: Words) -> str:
    """What became of the files: the counts, and every entry that was not read with its reason."""
    line = words(
        "ingest_done",
        added=report.added,
        unchanged=report.unchanged,
        replaced=report.replaced,
        merged=report.merged,
        rejected=len(report.rejected),
        seconds=f"{report.seconds:.1f}",
    )
    rows = "".join(
        f"<tr><td>{escape(Path(item.file).name)}</td><td>{escape(item.line or '')}</td>"
        f"<td>{escape(item.reason)}</td></tr>"
        for item in report.rejected[:REJECTED_SHOWN]
    )
    table = (
        f"<details open><summary>{escape(words('rejected'))}</summary>"
        f"<table><thead><tr><th>{escape(words('file'))}</th>"
        f"<th>{escape(words('line'))}</th><th>{escape(words('reason'))}</th></tr></thead><tbody>{rows}</tbody></table>"
        "</details>"
        if rows
        else ""
    )
    return f'<div role="status"><p class="aqa-done">{escape(line)}</p>{table}</div>'


def _filters(venue: str, first: str | None, last: str | None) -> Filters:
    return Filters(venue.strip() or None if venue else None, year(first), year(last))
