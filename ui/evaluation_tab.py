"""Evaluation: run a question set, watch it, read its report, compare it with another run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gradio as gr

from rag.errors import AbstractQAError
from ui.desk import Desk
from ui.prose import escape
from ui.text import Words

HIDDEN: dict[str, Any] = {"api_visibility": "private"}


def evaluation_tab(desk: Desk, words: Words) -> None:
    """The tab's content; call inside `gr.Tab`."""
    runs = desk.library.settings.home / "runs"
    sets = Path(__file__).parent.parent / "eval" / "sets"
    known = sorted(sets.glob("*.jsonl"))
    with gr.Column(elem_classes="aqa-page"):
        with gr.Row(equal_height=True):
            chosen = gr.Dropdown([(path.stem, str(path)) for path in known], label=words("question_set"), value=None)
            limit = gr.Number(0, label=words("limit"), precision=0, minimum=0, min_width=120)
        with gr.Row(equal_height=True):
            uploaded = gr.File(label=words("upload_set"), file_types=[".jsonl"], height=110, scale=2)
            with gr.Column(scale=1, min_width=200):
                retrieval = gr.Checkbox(label=words("retrieval_only"))
                run = gr.Button(words("run"), variant="primary")
        said = gr.HTML(elem_id="aqa-evaluation-said")
        with gr.Row(equal_height=True):
            first = gr.Dropdown(_runs(runs), label=words("runs"), value=None, scale=2)
            second = gr.Dropdown(["", *_runs(runs)], label=words("compare_with"), value="", scale=2)
            show = gr.Button(words("show_report"), scale=1, min_width=130)
        report = gr.HTML(elem_id="aqa-evaluation-report")

    def running(name: str | None, file: str | None, limit_: float, retrieval_: bool) -> Iterator[str]:
        if not (name or file):
            yield f'<p class="aqa-error" role="alert">{escape(words("run_none"))}</p>'
            return
        yield from evaluated(desk, Path(file or str(name)), runs, int(limit_ or 0), retrieval_)

    def refreshed() -> tuple[Any, Any]:
        names = _runs(runs)
        return gr.Dropdown(names, value=names[0] if names else None), gr.Dropdown(["", *names])

    def reported(name: str | None, against: str | None) -> str:
        if not name:
            return f'<p class="aqa-note">{escape(words("no_runs"))}</p>'
        try:
            return frame(report_of(runs, name, against or None))
        except AbstractQAError as error:
            return f'<p class="aqa-error" role="alert">{escape(str(error))}</p>'

    done = run.click(running, [chosen, uploaded, limit, retrieval], said, show_progress="hidden", **HIDDEN)
    done.then(refreshed, None, [first, second], **HIDDEN).then(reported, [first, second], report, **HIDDEN)
    show.click(reported, [first, second], report, **HIDDEN)


def _runs(folder: Path) -> list[str]:
    """Names of finished runs, newest first."""
    return sorted((path.parent.name for path in folder.glob("*/answers.jsonl")), reverse=True)


def report_of(runs: Path, name: str, against: str | None) -> str:
    """The self-contained HTML of a run, with the comparison where another is named."""
    from eval.compare import compare
    from eval.report import html
    from eval.result import load_run

    result = load_run(runs / Path(name).name)
    comparison = compare(result, load_run(runs / Path(against).name)) if against else None
    return html(result, comparison)


def frame(document: str) -> str:
    """A report in a frame that can do nothing to the page around it."""
    return f'<iframe class="aqa-frame" sandbox="allow-scripts" srcdoc="{escape(document)}" title="report"></iframe>'


def evaluated(desk: Desk, path: Path, runs: Path, limit: int, retrieval_only: bool) -> Iterator[str]:
    """Run a set, saying how it goes."""
    from eval.run import RunOptions, RunProgress, run_eval

    told: queue.Queue[Any] = queue.Queue()
    cancel = threading.Event()
    out = runs / f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{path.stem[:40]}"
    options = RunOptions(retrieval_only=retrieval_only, llm=desk.llm, limit=limit or None, out=out)

    def work() -> None:
        try:
            told.put(run_eval(path, desk.library, options, told.put, cancel))
        except Exception as error:  # noqa: BLE001 - shown, or raised again, by the one who waits
            told.put(error)

    runs.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            item = told.get()
            if isinstance(item, RunProgress):
                text = f"{item.done:,} / {item.total:,}"
                bar = f'<progress value="{item.done}" max="{item.total}"></progress>'
                yield f'<p class="aqa-note" role="status">{text}</p>{bar}'
            elif isinstance(item, AbstractQAError):
                yield f'<p class="aqa-error" role="alert">{escape(str(item))}</p>'
                return
            elif isinstance(item, Exception):
                raise item
            else:
                yield f'<p class="aqa-note" role="status">{escape(out.name)}</p>'
                return
    finally:
        cancel.set()
