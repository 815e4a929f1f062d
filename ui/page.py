"""The page in one language: bar, conversations, and the tabs; how they hang together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from rag.types import Filters
from ui.chat import Asked, Chat
from ui.conversations import Conversations
from ui.desk import Desk
from ui.evaluation_tab import evaluation_tab
from ui.header import header, panel
from ui.library_tab import library_tab
from ui.mcp import offer
from ui.overview import overview
from ui.settings_tab import settings_tab
from ui.text import Language, Words
from ui.users import user_of
from ui.years import year

AT_ONCE = 16
_BIND = "window.aqa.bind(element, {act: (data) => trigger('act', data), ask: (data) => trigger('ask', data)})"


def page(desk: Desk, kept: Conversations, language: Language) -> gr.Blocks:
    """The whole page in one language."""
    words = Words(language)
    chat = Chat(desk, kept, words)
    blocks: gr.Blocks
    with gr.Blocks(title="abstract-qa", analytics_enabled=False, fill_width=True) as blocks:
        current = gr.State(None)
        head = gr.HTML(
            header(desk.library.count(), words),
            elem_id="aqa-header",
            js_on_load="window.aqa.header(element)",
            apply_default_css=False,
        )
        with gr.Row(elem_id="aqa-frame"):
            with gr.Column(elem_id="aqa-side", min_width=0):
                new = gr.Button(words("new"), elem_id="aqa-new", size="sm")
                find = gr.Textbox(
                    placeholder=words("find_conversation"),
                    label=words("find_conversation"),
                    show_label=False,
                    container=False,
                    elem_id="aqa-find",
                )
                listed = gr.HTML(elem_id="aqa-list", js_on_load=_BIND, apply_default_css=False)
            with gr.Tabs(elem_id="aqa-views"):
                with gr.Tab(words("tab_chat"), id="chat"), gr.Row(elem_id="aqa-chat"):
                    with gr.Column(elem_id="aqa-talk", min_width=0):
                        with gr.Column(elem_id="aqa-scroll", min_width=0):
                            earlier = gr.HTML(elem_id="aqa-earlier", js_on_load=_BIND, apply_default_css=False)
                            live = gr.HTML(elem_id="aqa-live", js_on_load=_BIND, apply_default_css=False)
                        with gr.Column(elem_id="aqa-composer", min_width=0):
                            box = gr.Textbox(
                                placeholder=words("placeholder"),
                                label=words("question_label"),
                                show_label=False,
                                lines=1,
                                max_lines=8,
                                submit_btn=words("send"),
                                stop_btn=False,
                                container=False,
                                elem_id="aqa-box",
                                autofocus=True,
                            )
                            with gr.Accordion(words("filters"), open=False, elem_id="aqa-filters"), gr.Row():
                                venue = gr.Dropdown(
                                    choices=[""],
                                    value="",
                                    label=words("venue"),
                                    allow_custom_value=True,
                                    min_width=140,
                                    scale=2,
                                )
                                first = gr.Textbox(label=words("year_from"), max_lines=1, min_width=90)
                                last = gr.Textbox(label=words("year_to"), max_lines=1, min_width=90)
                                k = gr.Slider(
                                    1, 20, value=desk.k, step=1, label=words("sources_number"), min_width=180, scale=2
                                )
                    gr.HTML(
                        panel(words),
                        elem_id="aqa-panel",
                        js_on_load="window.aqa.panel(element)",
                        apply_default_css=False,
                    )

                with gr.Tab(words("tab_library"), id="library"):
                    library_tab(desk, words)
                with gr.Tab(words("tab_evaluation"), id="evaluation"):
                    evaluation_tab(desk, words)
                with gr.Tab(words("tab_settings"), id="settings"):
                    settings_tab(desk, words)

        outputs = [current, earlier, live, listed, box]
        choices = [current, venue, first, last, k]

        def drawn(asked: Asked, chosen: tuple[Any, ...], request: gr.Request) -> Iterator[tuple[Any, ...]]:
            conversation, venue_, first_, last_, k_ = chosen
            filters = Filters(venue_ or None, year(first_), year(last_))
            begun = False
            steps = chat.ask(asked, conversation, filters, int(k_), request)
            for known, before, now, list_html in steps:
                field = gr.skip() if begun else gr.Textbox(value="", submit_btn=False, stop_btn=words("stop"))
                yield known, gr.skip() if begun else before, now, gr.skip() if list_html is None else list_html, field
                begun = True
            yield gr.skip(), gr.skip(), gr.skip(), gr.skip(), gr.Textbox(submit_btn=words("send"), stop_btn=False)

        def typed(
            text: str,
            conversation: str | None,
            venue_: str | None,
            first_: str | None,
            last_: str | None,
            k_: float,
            request: gr.Request,
        ) -> Iterator[tuple[Any, ...]]:
            chosen = (conversation, venue_, first_, last_, k_)
            if text.strip():
                yield from drawn(Asked(text), chosen, request)
            else:
                yield (gr.skip(),) * 5

        def pressed(
            conversation: str | None,
            venue_: str | None,
            first_: str | None,
            last_: str | None,
            k_: float,
            request: gr.Request,
            event: gr.EventData,
        ) -> Iterator[tuple[Any, ...]]:
            chosen = (conversation, venue_, first_, last_, k_)
            data: dict[str, Any] = event._data or {}
            text = str(data.get("question", ""))
            if text.strip():
                asked = Asked(text, data.get("replaces"), bool(data.get("alone")), data.get("drop"))
                yield from drawn(asked, chosen, request)

        def chosen_conversation(conversation: str | None, text: str, request: gr.Request, event: gr.EventData) -> Any:
            data: dict[str, Any] = event._data or {}
            user, asked_for = user_of(request), str(data.get("id", ""))
            match data.get("act"):
                case "open":
                    desk.stop(request.session_hash or "")
                    return chat.opened(user, asked_for)
                case "rename":
                    kept.rename(user, asked_for, str(data.get("title", "")))
                case "delete":
                    kept.delete(user, asked_for)
                    if asked_for == conversation:
                        return chat.opened(user, None)
            return gr.skip(), gr.skip(), gr.skip(), chat.listed(user, conversation, text)

        def load(address: str, request: gr.Request) -> Any:
            held = overview(desk.library)
            venues = gr.Dropdown(choices=["", *(name for name, _ in held.venues[:200])])
            return (*chat.opened(user_of(request), address or None), venues, header(held.papers, words))

        hidden: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        answering: dict[str, Any] = {**hidden, "concurrency_limit": AT_ONCE}
        box.submit(typed, [box, *choices], outputs, **answering)
        for html in (earlier, live):
            html.ask(pressed, choices, outputs, **answering)
        box.stop(_stop(desk), None, None, queue=False, **hidden)
        listed.act(chosen_conversation, [current, find], [current, earlier, live, listed], **hidden)
        new.click(_new(chat), None, [current, earlier, live, listed], **hidden)
        find.change(_find(chat), [current, find], listed, **hidden)
        start = gr.Textbox(visible=False)
        blocks.load(
            load, start, [current, earlier, live, listed, venue, head], js="() => window.aqa.remembered()", **hidden
        )
        blocks.unload(_stop(desk))
        offer(desk)
    return blocks


def _stop(desk: Desk) -> Any:
    def stop(request: gr.Request) -> None:
        desk.stop(request.session_hash or "")

    return stop


def _new(chat: Chat) -> Any:
    def begin(request: gr.Request) -> tuple[Any, ...]:
        return chat.opened(user_of(request), None)

    return begin


def _find(chat: Chat) -> Any:
    def find(conversation: str | None, text: str, request: gr.Request) -> str:
        return chat.listed(user_of(request), conversation, text)

    return find
