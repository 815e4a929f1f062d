"""The library: reading files into it, finding, sorting, exporting and removing papers, and its plots."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import gradio as gr

from rag.errors import AbstractQAError
from rag.papers.export import Format, export
from ui.composer import typed_filters
from ui.desk import Desk
from ui.ingesting import ingested, problem
from ui.overview import overview
from ui.papers_table import PAGE, View, papers_table
from ui.prose import escape
from ui.text import Words

HIDDEN: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
_BIND = "window.aqa.table(element, {act: (data) => trigger('act', data), remove: (data) => trigger('remove', data)})"


def library_tab(desk: Desk, words: Words, blocks: gr.Blocks) -> tuple[Any, ...]:
    """The tab's content; call inside `gr.Tab`. Returns the events after which the library may hold other papers."""
    with gr.Column(elem_classes="aqa-page"):
        gr.HTML(f"<h2>{escape(words('add_papers'))}</h2>", elem_classes="aqa-admin")
        with gr.Row(equal_height=False, elem_classes="aqa-admin"):
            files = gr.File(
                label=words("upload"), file_count="multiple", height=116, scale=3, min_width=260, elem_id="aqa-upload"
            )
            with gr.Column(scale=2, min_width=240):
                path = gr.Textbox(label=words("path"), placeholder=words("path_hint"), max_lines=1, elem_id="aqa-path")
                read = gr.Button(words("read"))
        report = gr.HTML(elem_id="aqa-report")
        gr.HTML(f"<h2>{escape(words('papers'))}</h2>")
        with gr.Row():
            text = gr.Textbox(
                label=words("search_library"), max_lines=1, scale=3, min_width=180, elem_id="aqa-search-library"
            )
            venue = gr.Textbox(label=words("venue"), max_lines=1, scale=2, min_width=120)
            first = gr.Textbox(label=words("year_from"), max_lines=1, scale=1, min_width=90)
            last = gr.Textbox(label=words("year_to"), max_lines=1, scale=1, min_width=90)
        view = gr.State(View())
        listed = gr.HTML(elem_id="aqa-papers", js_on_load=_BIND, apply_default_css=False)
        with gr.Row(elem_id="aqa-save-papers"):
            kind = gr.Dropdown(list(get_args(Format)), value="bibtex", label=words("format"), min_width=140, scale=0)
            save = gr.Button(words("export_papers"), min_width=180, scale=0)
            ready = gr.DownloadButton(visible="hidden", elem_id="aqa-papers-file")
        with gr.Accordion(words("overview"), open=False, elem_id="aqa-overview") as plots:
            with gr.Row():
                years, venues = gr.Plot(show_label=False, min_width=280), gr.Plot(show_label=False, min_width=280)
            said = gr.HTML(elem_id="aqa-map-said")
            chart = gr.Plot(show_label=False, elem_id="aqa-map")

    filters = [text, venue, first, last]

    def page_of(view_: View, text_: str, venue_: str, first_: str, last_: str) -> tuple[View, str]:
        chosen = typed_filters(venue_, first_, last_)
        total = desk.library.count(chosen, text_ or None)
        here = view_.at(view_.page, total)
        papers = desk.library.papers(
            chosen,
            text_ or None,
            offset=PAGE * here.page,
            limit=PAGE,
            order=here.order,
            descending=here.descending,
        )
        return here, papers_table(papers, total, here, words)

    def found(view_: View, text_: str, venue_: str, first_: str, last_: str) -> tuple[View, str]:
        return page_of(View(view_.order, view_.descending), text_, venue_, first_, last_)

    def pressed(view_: View, text_: str, venue_: str, first_: str, last_: str, event: gr.EventData) -> tuple[View, str]:
        data: dict[str, Any] = event._data or {}
        if data.get("act") == "sort":
            view_ = view_.sorted_by(str(data.get("order")))
        elif data.get("act") == "page":
            view_ = View(view_.order, view_.descending, int(data.get("page", 0)))
        return page_of(view_, text_, venue_, first_, last_)

    def removed(event: gr.EventData) -> str:
        try:
            count = desk.library.remove([str(one) for one in (event._data or {}).get("ids", ())])
        except AbstractQAError as error:
            return problem(str(error))
        return f'<p class="aqa-done" role="status">{escape(words("remove_done", n=count))}</p>'

    def uploaded(names: Sequence[str] | None) -> Iterator[str]:
        if names:
            yield from ingested(desk, [Path(name) for name in names], words)

    def emptied() -> None:
        """The field for files, ready for the next ones."""

    def named(path_: str) -> Iterator[str]:
        if not path_.strip():
            yield problem(words("ingest_none"))
            return
        yield from ingested(desk, [Path(path_.strip()).expanduser()], words)

    def saved(text_: str, venue_: str, first_: str, last_: str, kind_: Format) -> str:
        from ui.api import SUFFIXES

        folder = Path(tempfile.mkdtemp(prefix="abstract-qa-"))
        target = folder / f"papers.{SUFFIXES[kind_][0]}"
        papers = desk.library.papers(typed_filters(venue_, first_, last_), text_ or None)
        with target.open("w", encoding="utf-8") as file:
            file.writelines(export(papers, kind_))
        return str(target)

    def plotted() -> tuple[Any, ...]:
        from ui.plots import library_map, per_venue, per_year

        held = overview(desk.library)
        drawn, figure = library_map(desk.library, words)
        hint = words("map_hint") + (
            " " + words("mapped", n=f"{drawn:,}", total=f"{held.papers:,}") if drawn < held.papers else ""
        )
        return per_year(held, words), per_venue(held, words), f'<p class="aqa-note">{escape(hint)}</p>', figure

    show: dict[str, Any] = {"inputs": [view, *filters], "outputs": [view, listed], **HIDDEN}
    by_file = files.upload(uploaded, files, report, **HIDDEN).then(emptied, None, files, **HIDDEN)
    by_path = gr.on([read.click, path.submit], named, path, report, **HIDDEN)
    taken_out = listed.remove(removed, None, report, **HIDDEN)
    for change in (by_file, by_path, taken_out):
        change.then(page_of, **show)
    listed.act(pressed, **show)
    done = save.click(saved, [*filters, kind], ready, **HIDDEN)
    done.then(None, None, None, js="() => { window.aqa.download('aqa-papers-file'); return []; }", **HIDDEN)
    plots.expand(plotted, None, [years, venues, said, chart], **HIDDEN)
    gr.on([field.change for field in filters], found, trigger_mode="always_last", **show)
    blocks.load(found, **show)
    return by_file, by_path, taken_out
