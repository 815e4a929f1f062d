"""Settings: the answering model, fetching models, appearance."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import gradio as gr

from rag import models
from rag.errors import AbstractQAError
from ui.desk import Desk
from ui.prose import escape
from ui.text import Words

HIDDEN: dict[str, Any] = {"api_visibility": "private"}


def settings_tab(desk: Desk, words: Words) -> None:
    """The tab's content; call inside `gr.Tab`."""
    home = desk.library.settings.home
    names = [status.model.name for status in models.statuses(home) if status.model.role == "llm"]
    with gr.Column(elem_classes="aqa-page"):
        gr.HTML(f"<h2>{escape(words('model'))}</h2>")
        with gr.Row(equal_height=True):
            use = gr.Dropdown(
                [(words("model_auto"), "auto"), (words("model_none"), "none"), *((name, name) for name in names)],
                value=desk.llm,
                label=words("model_use"),
                allow_custom_value=True,
                scale=3,
            )
            apply = gr.Button(words("apply"), variant="primary", scale=1, min_width=110)
        with gr.Row(equal_height=True):
            fetch = gr.Dropdown(
                [status.model.name for status in models.statuses(home)], label=words("pull_model"), value=None, scale=3
            )
            pull = gr.Button(words("pull"), scale=1, min_width=110)
        said = gr.HTML(elem_id="aqa-settings-said")
        listed = gr.HTML(table(desk, words), elem_id="aqa-models")
        gr.HTML(f"<h2>{escape(words('appearance'))}</h2>")
        theme = gr.Radio(
            [(words("theme_auto"), "auto"), (words("theme_light"), "light"), (words("theme_dark"), "dark")],
            value="auto",
            label=words("theme"),
        )
        gr.HTML(f'<p class="aqa-note">{escape(words("about"))}</p>')

    def applied(name: str) -> Iterator[str]:
        desk.use(name or "auto")
        yield f'<p class="aqa-note" role="status">{escape(words("stage_loading"))}…</p>'
        desk.warmed.wait()
        if desk.problem:
            yield f'<p class="aqa-error" role="alert">{escape(desk.problem)}</p>'
        else:
            yield f'<p class="aqa-note" role="status">{escape(words("applied"))}</p>'

    def fetched(name: str | None) -> Iterator[str]:
        if not name:
            return
        told: queue.Queue[Any] = queue.Queue()

        def work() -> None:
            try:
                told.put(models.pull(name, home, told.put))
            except AbstractQAError as error:
                told.put(error)

        threading.Thread(target=work, daemon=True).start()
        while True:
            item = told.get()
            if isinstance(item, AbstractQAError):
                yield f'<p class="aqa-error" role="alert">{escape(str(item))}</p>'
                return
            if not isinstance(item, models.PullProgress):
                yield f'<p class="aqa-note" role="status">{escape(words("applied"))}</p>'
                return
            value = f' value="{item.done / item.total:.3f}" max="1"' if item.total else ""
            yield f'<p class="aqa-note">{escape(item.name)}: {escape(item.step)}</p><progress{value}></progress>'

    apply.click(applied, use, said, show_progress="hidden", **HIDDEN)
    pull.click(fetched, fetch, said, show_progress="hidden", **HIDDEN).then(
        lambda: table(desk, words), None, listed, show_progress="hidden", **HIDDEN
    )
    theme.input(None, theme, None, js="(theme) => { window.aqa.setTheme(theme); return []; }", **HIDDEN)


def table(desk: Desk, words: Words) -> str:
    """The known models with their size and whether they are here."""
    rows = "".join(
        f"<tr><td>{escape(status.model.name)}</td><td>{escape(words(f'role_{status.model.role}'))}</td>"
        f"<td>{status.model.size / 1e6:,.0f} MB</td>"
        f"<td>{escape(words('yes' if status.path else 'no'))}</td></tr>"
        for status in models.statuses(desk.library.settings.home)
    )
    heads = "".join(
        f"<th>{escape(words(key))}</th>" for key in ("model_name", "model_role", "model_size", "model_there")
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
