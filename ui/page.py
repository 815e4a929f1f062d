"""The page in one language: bar, conversations, and the tabs; how they hang together."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import gradio as gr

from rag.errors import AbstractQAError
from ui.cards import dialog
from ui.chat import Asked, Chat
from ui.composer import active_filters, composer, field_values, notice, typed_filters, unlocked, venue_choices
from ui.conversations import Conversations
from ui.desk import MOST_AT_ONCE, Desk
from ui.evaluation_tab import evaluation_tab
from ui.header import header, panel
from ui.library_tab import library_tab
from ui.mcp import offer
from ui.preferences import Preferred
from ui.settings_tab import settings_tab
from ui.text import Language, Words
from ui.users import user_of

# More than the desk takes, so that it is the desk that says when there are too many: Gradio's own queue is not seen.
AT_ONCE = MOST_AT_ONCE + 4
HIDDEN: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
_BIND = "window.aqa.bind(element, {act: (data) => trigger('act', data), ask: (data) => trigger('ask', data)})"


def page(desk: Desk, kept: Conversations, language: Language) -> gr.Blocks:
    """The whole page in one language."""
    words = Words(language)
    chat = Chat(desk, kept, words)
    preferred = Preferred(desk.library.settings.home)
    blocks: gr.Blocks
    with gr.Blocks(title="abstract-qa", analytics_enabled=False, fill_width=True) as blocks:
        current = gr.State(None)
        head = gr.HTML(
            header(desk.library.count(), words),
            elem_id="aqa-header",
            js_on_load="window.aqa.header(element, (data) => trigger('act', data))",
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
                            asking = composer(desk, words)
                    gr.HTML(
                        panel(words),
                        elem_id="aqa-panel",
                        js_on_load="window.aqa.panel(element)",
                        apply_default_css=False,
                    )
                with gr.Tab(words("tab_library"), id="library"):
                    changes = library_tab(desk, words, blocks)
                with gr.Tab(words("tab_evaluation"), id="evaluation") as evaluation:
                    evaluation_tab(desk, words, evaluation)
                with gr.Tab(words("tab_settings"), id="settings"):
                    settings_tab(desk, preferred, asking, words, blocks)
        opened = gr.HTML(
            elem_id="aqa-paper",
            js_on_load="window.aqa.dialog(element, (data) => trigger('act', data))",
            apply_default_css=False,
        )

        box = asking.box
        outputs = [current, earlier, live, listed, box, asking.notice]
        choices = [current, *asking.chosen]

        def drawn(asked: Asked, chosen: tuple[Any, ...], request: gr.Request) -> Iterator[tuple[Any, ...]]:
            conversation, venue, first, last, k = chosen
            begun = False
            steps = chat.ask(asked, conversation, typed_filters(venue, first, last), int(k), request)
            for known, before, now, list_html in steps:
                field = gr.skip() if begun else gr.Textbox(value="", submit_btn=False, stop_btn=words("stop"))
                listing = gr.skip() if list_html is None else list_html
                yield known, gr.skip() if begun else before, now, listing, field, gr.skip()
                begun = True
            field = gr.Textbox(submit_btn=words("send"), stop_btn=False)
            yield (*(gr.skip(),) * 4, field, notice(desk, words))

        def typed(
            text: str,
            conversation: str | None,
            venue: str | None,
            first: str | None,
            last: str | None,
            k: float,
            request: gr.Request,
        ) -> Iterator[tuple[Any, ...]]:
            if text.strip():
                yield from drawn(Asked(text), (conversation, venue, first, last, k), request)
            else:
                yield (gr.skip(),) * len(outputs)

        def pressed(
            conversation: str | None,
            venue: str | None,
            first: str | None,
            last: str | None,
            k: float,
            request: gr.Request,
            event: gr.EventData,
        ) -> Iterator[tuple[Any, ...]]:
            data: dict[str, Any] = event._data or {}
            text = str(data.get("question", ""))
            if text.strip():
                asked = Asked(text, data.get("replaces"), bool(data.get("alone")), data.get("drop"))
                yield from drawn(asked, (conversation, venue, first, last, k), request)

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
            user = user_of(request)
            chosen = preferred.of(user)
            fields = field_values(chosen, desk.k)
            return (
                *chat.opened(user, address or None),
                gr.Dropdown(choices=venue_choices(desk, words), value=fields[0], interactive=True),
                *unlocked(fields)[1:],
                header(desk.library.count(), words, chosen),
                active_filters(*fields, desk.k, words),
                notice(desk, words),
            )

        def begun(request: gr.Request) -> tuple[Any, ...]:
            desk.stop(request.session_hash or "")
            user = user_of(request)
            return (*chat.opened(user, None), *field_values(preferred.of(user), desk.k))

        def found(conversation: str | None, text: str, request: gr.Request) -> str:
            return chat.listed(user_of(request), conversation, text)

        def stopped(request: gr.Request) -> None:
            desk.stop(request.session_hash or "")

        def cleared(event: gr.EventData) -> tuple[Any, ...]:
            field = (event._data or {}).get("field")
            usual: dict[str, Any] = {"venue": "", "first": "", "last": "", "k": desk.k}
            return tuple(value if name == field else gr.skip() for name, value in usual.items())

        def in_force(venue: str | None, first: str | None, last: str | None, k: float) -> str:
            return active_filters(venue, first, last, k, desk.k, words)

        def bar_pressed(request: gr.Request, event: gr.EventData) -> str:
            data: dict[str, Any] = event._data or {}
            preferred.keep(user_of(request), **{name: data[name] for name in ("theme", "language") if name in data})
            return str(data.get("language", ""))

        def paper(event: gr.EventData) -> Any:
            try:
                known = desk.library.paper(str((event._data or {}).get("id", "")))
            except AbstractQAError as error:
                gr.Warning(str(error))
                return gr.skip()
            return dialog(known, words, uuid.uuid4().hex)

        def other_papers(conversation: str | None, request: gr.Request) -> tuple[Any, ...]:
            """After the library has changed: its size, its venues, and the welcome where that is what is shown."""
            return (
                header(desk.library.count(), words, preferred.of(user_of(request))),
                gr.Dropdown(choices=venue_choices(desk, words)),
                chat.welcome() if conversation is None else gr.skip(),
            )

        answering: dict[str, Any] = {**HIDDEN, "concurrency_limit": AT_ONCE}
        shown = [current, earlier, live, listed]
        box.submit(typed, [box, *choices], outputs, **answering)
        for html in (earlier, live):
            html.ask(pressed, choices, outputs, **answering)
        box.stop(stopped, None, None, queue=False, **HIDDEN)
        listed.act(chosen_conversation, [current, find], shown, **HIDDEN)
        new.click(begun, None, [*shown, *asking.chosen], **HIDDEN)
        find.change(found, [current, find], listed, trigger_mode="always_last", **HIDDEN)
        asking.active.act(cleared, None, asking.chosen, **HIDDEN)
        gr.on(
            [field.change for field in asking.chosen],
            in_force,
            asking.chosen,
            asking.active,
            trigger_mode="always_last",
            **HIDDEN,
        )
        wanted = gr.Textbox(visible=False)
        head.act(bar_pressed, None, wanted, **HIDDEN).then(
            None,
            wanted,
            None,
            js="(language) => { if (language) window.aqa.setLanguage(language); return []; }",
            **HIDDEN,
        )
        opened.act(paper, None, opened, **HIDDEN)
        for change in changes:
            change.then(other_papers, current, [head, asking.venue, live], **HIDDEN)
        start = gr.Textbox(visible=False)
        blocks.load(
            load,
            start,
            [*shown, *asking.chosen, head, asking.active, asking.notice],
            js="() => window.aqa.remembered()",
            **HIDDEN,
        )
        blocks.unload(stopped)
        offer(desk)
    return blocks
