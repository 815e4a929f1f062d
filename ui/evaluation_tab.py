"""Evaluation: run a question set, watch it, read its report, compare it with another run; feedback as a set."""

from __future__ import annotations

import logging
import queue
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

import gradio as gr

from rag.errors import AbstractQAError
from ui.desk import Desk
from ui.feedback import rated
from ui.ingesting import problem, progress
from ui.prose import escape
from ui.text import Words
from ui.users import user_of

LOG = logging.getLogger("abstract_qa.ui")
HIDDEN: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def evaluation_tab(desk: Desk, words: Words, tab: gr.Tab) -> None:
    """The content of `tab`; call inside it."""
    runs = desk.library.settings.home / "runs"
    sets = Path(__file__).parent.parent / "eval" / "sets"
    known = sorted(sets.glob("*.jsonl"))
    stops: dict[str, threading.Event] = {}
    with gr.Column(elem_classes="aqa-page"):
        gr.HTML(
            f'<h2>{escape(words("run_heading"))}</h2><p class="aqa-note">{escape(words("run_hint"))}</p>',
            elem_classes="aqa-admin",
        )
        with gr.Row(elem_classes="aqa-admin"):
            chosen = gr.Dropdown(
                [(path.stem, str(path)) for path in known],
                label=words("question_set"),
                value=str(sets / "sample.jsonl") if sets / "sample.jsonl" in known else None,
                scale=3,
                elem_id="aqa-set",
            )
            limit = gr.Number(0, label=words("limit"), precision=0, minimum=0, min_width=130, scale=1)
        with gr.Row(equal_height=False, elem_classes="aqa-admin"):
            uploaded = gr.File(
                label=words("upload_set"),
                file_types=[".jsonl"],
                height=116,
                scale=3,
                min_width=260,
                elem_id="aqa-own-set",
            )
            with gr.Column(scale=1, min_width=220):
                retrieval = gr.Checkbox(label=words("retrieval_only"), elem_id="aqa-retrieval-only")
                run = gr.Button(words("run"), variant="primary", elem_id="aqa-run")
                stop = gr.Button(words("stop"), visible=False, elem_id="aqa-run-stop")
        said = gr.HTML(elem_id="aqa-evaluation-said")
        gr.HTML(f"<h2>{escape(words('reports'))}</h2>")
        with gr.Row():
            first = gr.Dropdown([], label=words("runs"), value=None, scale=2, elem_id="aqa-runs")
            second = gr.Dropdown(
                [(words("compare_none"), "")], label=words("compare_with"), value="", scale=2, elem_id="aqa-against"
            )
        report = gr.HTML(elem_id="aqa-evaluation-report")
        gr.HTML(f'<h2>{escape(words("feedback_heading"))}</h2><p class="aqa-note">{escape(words("feedback_hint"))}</p>')
        with gr.Row():
            save = gr.Button(words("feedback_set"), scale=0, min_width=240, elem_id="aqa-feedback-set")
            ready = gr.DownloadButton(visible="hidden", elem_id="aqa-feedback-file")
        feedback_said = gr.HTML()

    def running(
        name: str | None, file: str | None, limit_: float, retrieval_: bool, request: gr.Request
    ) -> Iterator[tuple[Any, Any, Any]]:
        if not (name or file):
            yield problem(words("run_none")), gr.skip(), gr.skip()
            return
        owner = request.session_hash or ""
        cancel = stops[owner] = threading.Event()
        path = Path(file or str(name))
        yield progress(words("stage_loading"), None), gr.Button(visible=False), gr.Button(visible=True)
        try:
            for step in evaluated(desk, path, runs, int(limit_ or 0), retrieval_, words, cancel):
                yield step, gr.skip(), gr.skip()
        finally:
            stops.pop(owner, None)
        yield gr.skip(), gr.Button(visible=True), gr.Button(visible=False)

    def stopped(request: gr.Request) -> None:
        if cancel := stops.get(request.session_hash or ""):
            cancel.set()

    def refreshed(one: str | None, other: str | None) -> tuple[Any, Any]:
        names = run_names(runs)
        against = [(words("compare_none"), ""), *((name, name) for name in names)]
        return (
            gr.Dropdown(names, value=one if one in names else names[0] if names else None),
            gr.Dropdown(against, value=other if other in names else ""),
        )

    def newest() -> tuple[Any, Any]:
        return refreshed(None, None)

    def reported(name: str | None, against: str | None) -> str:
        if not name:
            return f'<p class="aqa-note">{escape(words("no_runs"))}</p>'
        try:
            return frame(report_of(runs, name, against or None), words)
        except AbstractQAError as error:
            return problem(str(error))

    def saved(request: gr.Request) -> tuple[Any, str]:
        from eval.make import from_feedback
        from eval.sets import write_set

        target = Path(tempfile.mkdtemp(prefix="abstract-qa-")) / "feedback.jsonl"
        unread: list[int] = []
        try:
            write_set(target, from_feedback(rated(desk.library.settings.home, user_of(request), unread)))
        except AbstractQAError as error:
            return None, problem(str(error))
        lines = ", ".join(map(str, unread))
        return str(target), problem(words("feedback_unread", lines=lines)) if unread else ""

    both: dict[str, Any] = {"inputs": [first, second], "outputs": report, **HIDDEN}
    done = run.click(running, [chosen, uploaded, limit, retrieval], [said, run, stop], **HIDDEN)
    stop.click(stopped, None, None, queue=False, **HIDDEN)
    done.then(newest, None, [first, second], **HIDDEN).then(reported, **both)
    gr.on([first.input, second.input], reported, **both)
    tab.select(refreshed, [first, second], [first, second], **HIDDEN).then(reported, **both)
    written = save.click(saved, None, [ready, feedback_said], **HIDDEN)
    written.then(None, None, None, js="() => { window.aqa.download('aqa-feedback-file'); return []; }", **HIDDEN)


def new_run(folder: Path, name: str) -> Path:
    """A place in `folder` for a run begun now; numbered where one of the same second is there."""
    begun = folder / f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{name[:40]}"
    numbered = (begun.with_name(f"{begun.name}-{number}") for number in count(2))
    return next(place for place in chain([begun], numbered) if not place.exists())


def run_names(folder: Path) -> list[str]:
    """Names of the finished runs, newest first."""
    from eval.folder import is_finished

    return sorted((path.name for path in folder.glob("*") if is_finished(path)), reverse=True)


def report_of(runs: Path, name: str, against: str | None) -> str:
    """The self-contained HTML of a run, with the comparison where another is named."""
    from eval.compare import compare
    from eval.report import html
    from eval.result import load_run

    result = load_run(runs / Path(name).name)
    comparison = compare(result, load_run(runs / Path(against).name)) if against else None
    return html(result, comparison)


def frame(document: str, words: Words) -> str:
    """A report in a frame that can do nothing to the page around it."""
    return (
        f'<iframe class="aqa-report" sandbox="allow-scripts" srcdoc="{escape(document)}" '
        f'title="{escape(words("report_title"))}"></iframe>'
    )


def evaluated(
    desk: Desk, path: Path, runs: Path, limit: int, retrieval_only: bool, words: Words, cancel: threading.Event
) -> Iterator[str]:
    """Run a set, saying how it goes, until it is done or `cancel` is set. A run that was stopped is taken up."""
    from eval.run import RunOptions, RunProgress, run_eval, unfinished

    told: queue.Queue[Any] = queue.Queue()
    options = RunOptions(retrieval_only=retrieval_only, llm=desk.llm, limit=limit or None)

    def work() -> None:
        try:
            out = unfinished(runs, path, desk.library, options) or new_run(runs, path.stem)
            told.put(run_eval(path, desk.library, replace(options, out=out), told.put, cancel))
        except Exception as error:  # noqa: BLE001 - told by the one who waits, who must not wait for ever
            told.put(error)

    runs.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=work, daemon=True).start()
    try:
        while isinstance(item := told.get(), RunProgress):
            left = f" · {words('remaining', s=f'{item.remaining:,.0f}')}" if item.remaining else ""
            yield progress(f"{item.done:,} / {item.total:,}{left}", item.done / max(1, item.total))
        if isinstance(item, AbstractQAError):
            yield problem(str(item))
        elif isinstance(item, Exception):
            LOG.error("the run failed", exc_info=item)
            yield problem(words("failed"))
        else:
            text = words("run_stopped") if item is None else words("run_done", name=item.folder.name)
            yield f'<p class="aqa-done" role="status">{escape(text)}</p>'
    finally:
        cancel.set()
