"""Settings: the answering model, fetching models, what new questions begin with, appearance and language."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import gradio as gr

from rag.errors import AbstractQAError
from rag.models import known as models
from ui.composer import Composer, field_values, notice, other_fields, unlocked, venue_field
from ui.desk import Desk
from ui.ingesting import problem, progress
from ui.models_table import models_table
from ui.preferences import Preferred, keep_model
from ui.prose import escape
from ui.text import Words
from ui.users import user_of
from ui.years import year

HIDDEN: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
_BIND = "window.aqa.bind(element, {act: (data) => trigger('act', data)})"


def settings_tab(desk: Desk, preferred: Preferred, composer: Composer, words: Words, blocks: gr.Blocks) -> None:
    """The tab's content; call inside `gr.Tab`."""
    with gr.Column(elem_classes="aqa-page"):
        gr.HTML(f"<h2>{escape(words('model'))}</h2>")
        listed = gr.HTML(models_table(desk, words), elem_id="aqa-models", js_on_load=_BIND, apply_default_css=False)
        with gr.Row(elem_classes="aqa-admin"):
            other = gr.Textbox(
                label=words("model_other"),
                placeholder=words("model_other_hint"),
                max_lines=1,
                scale=3,
                elem_id="aqa-other-model",
            )
            use = gr.Button(words("use"), scale=1, min_width=110)
        said = gr.HTML(elem_id="aqa-settings-said")
        gr.HTML(f'<h2>{escape(words("defaults"))}</h2><p class="aqa-note">{escape(words("defaults_hint"))}</p>')
        with gr.Row(elem_id="aqa-defaults"):
            venue = venue_field(desk, words, scale=2)
            first, last, k = other_fields(desk, words)
        with gr.Row(elem_classes="aqa-left"):
            save = gr.Button(words("save_defaults"), variant="primary", scale=0, min_width=110, elem_id="aqa-save")
            clear = gr.Button(words("clear_defaults"), scale=0, min_width=110)
        kept_said = gr.HTML(elem_id="aqa-defaults-said")
        gr.HTML(f"<h2>{escape(words('appearance'))}</h2>")
        with gr.Row():
            theme = gr.Radio(
                [(words("theme_auto"), "auto"), (words("theme_light"), "light"), (words("theme_dark"), "dark")],
                value="auto",
                label=words("theme"),
                elem_id="aqa-theme",
            )
            language = gr.Radio(
                [("English", "en"), ("中文", "zh")],
                value=words.language,
                label=words("interface_language"),
                elem_id="aqa-language",
            )
        gr.HTML(f'<p class="aqa-note">{escape(words("about"))}</p>')

    fields = [venue, first, last, k]

    def pressed(event: gr.EventData) -> Iterator[tuple[Any, Any, Any]]:
        data: dict[str, Any] = event._data or {}
        name = str(data.get("name", ""))
        steps = {"use": used, "pull": pulled}.get(str(data.get("act")))
        if steps is not None and name:
            yield from drawn(steps(name))

    def named(reference: str) -> Iterator[tuple[Any, Any, Any]]:
        if reference.strip():
            yield from drawn(used(reference.strip()))

    def drawn(steps: Iterator[str]) -> Iterator[tuple[Any, Any, Any]]:
        for html in steps:
            yield html, gr.skip(), gr.skip()
        yield gr.skip(), models_table(desk, words), notice(desk, words)

    def used(name: str) -> Iterator[str]:
        yield progress(f"{words('stage_loading')}: {name}", None)
        before = desk.llm
        desk.use(name)
        desk.warmed.wait()
        if failed := desk.problem:
            if name != before:
                desk.use(before)
            yield problem(failed)
            return
        try:
            keep_model(desk.library.settings.home, name)
        except AbstractQAError as error:
            yield problem(str(error))
            return
        yield f'<p class="aqa-done" role="status">{escape(words("model_loaded", name=name))}</p>'

    def pulled(name: str) -> Iterator[str]:
        yield progress(name, None)
        told: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=_pull, args=(name, desk, told), daemon=True).start()
        while isinstance(item := told.get(), models.PullProgress):
            share = min(1.0, item.done / item.total) if item.total else None
            size = f" — {item.done / 1e6:,.0f} / {item.total / 1e6:,.0f} MB" if item.total else ""
            yield progress(f"{item.name}: {words('pull_' + item.step)}{size}", share)
        if isinstance(item, AbstractQAError):
            yield problem(str(item))
            return
        if desk.problem:
            desk.use(desk.llm)  # it may have been this one that was missing
        yield f'<p class="aqa-done" role="status">{escape(words("pulled", name=name))}</p>'

    def kept(venue_: str, first_: str, last_: str, k_: float, request: gr.Request) -> tuple[Any, ...]:
        years = year(first_), year(last_)
        wrong = [text for text, read in zip((first_, last_), years, strict=True) if (text or "").strip() and not read]
        if wrong or (years[0] and years[1] and years[0] > years[1]):
            return (problem(words("year_wrong")), *(gr.skip(),) * 8)
        changes = {"venue": (venue_ or "").strip() or None, "year_from": years[0], "year_to": years[1], "k": int(k_)}
        return stored(changes, request)

    def cleared(request: gr.Request) -> tuple[Any, ...]:
        return stored({"venue": None, "year_from": None, "year_to": None, "k": None}, request)

    def stored(changes: dict[str, Any], request: gr.Request) -> tuple[Any, ...]:
        try:
            values = field_values(preferred.keep(user_of(request), **changes), desk.k)
        except AbstractQAError as error:
            return (problem(str(error)), *(gr.skip(),) * 8)
        return (f'<p class="aqa-done" role="status">{escape(words("saved"))}</p>', *values, *values)

    def shown(request: gr.Request) -> tuple[Any, ...]:
        chosen = preferred.of(user_of(request))
        return (*unlocked(field_values(chosen, desk.k)), chosen.theme or "auto", models_table(desk, words))

    def themed(name: str, request: gr.Request) -> None:
        preferred.keep(user_of(request), theme=name)

    def spoken(name: str, request: gr.Request) -> None:
        preferred.keep(user_of(request), language=name)

    models_out = [said, listed, composer.notice]
    listed.act(pressed, None, models_out, **HIDDEN)
    gr.on([use.click, other.submit], named, other, models_out, **HIDDEN)
    every = [kept_said, *fields, *composer.chosen]
    save.click(kept, fields, every, **HIDDEN)
    clear.click(cleared, None, every, **HIDDEN)
    theme.input(themed, theme, None, js="(theme) => { window.aqa.setTheme(theme); return [theme]; }", **HIDDEN)
    language.input(spoken, language, None, **HIDDEN).then(
        None, language, None, js="(language) => { window.aqa.setLanguage(language); return []; }", **HIDDEN
    )
    blocks.load(shown, None, [*fields, theme, listed], **HIDDEN)


def _pull(name: str, desk: Desk, told: queue.Queue[Any]) -> None:
    try:
        told.put(models.pull(name, desk.library.settings.home, told.put))
    except AbstractQAError as error:
        told.put(error)
