"""The field a question is typed into, the filters beside it, and what stands above it when the model is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from rag.types import Filters
from ui.desk import Desk
from ui.icons import icon
from ui.overview import overview
from ui.preferences import MOST_SOURCES, Preferences
from ui.prose import escape
from ui.text import Words
from ui.years import year

VENUES = 300
_BIND = "window.aqa.bind(element, {act: (data) => trigger('act', data)})"


@dataclass(frozen=True, slots=True)
class Composer:
    """The components. `active` shows the chosen filters, `notice` that the model is missing."""

    box: gr.Textbox
    venue: gr.Dropdown
    first: gr.Textbox
    last: gr.Textbox
    k: gr.Slider
    active: gr.HTML
    notice: gr.HTML

    @property
    def chosen(self) -> list[Any]:
        """The filters: venue, years, number of sources."""
        return [self.venue, self.first, self.last, self.k]


def composer(desk: Desk, words: Words) -> Composer:
    """Draws them; call inside the column they belong in."""
    notice = gr.HTML(elem_id="aqa-notice", js_on_load=_BIND, apply_default_css=False)
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
    active = gr.HTML(elem_id="aqa-active", js_on_load=_BIND, apply_default_css=False)
    with gr.Accordion(words("filters"), open=False, elem_id="aqa-filters"), gr.Row():
        venue = venue_field(desk, words, scale=2)
        first, last, k = other_fields(desk, words)
    return Composer(box, venue, first, last, k, active, notice)


def venue_field(desk: Desk, words: Words, scale: int) -> gr.Dropdown:
    """A choice among the library's venues; any part of a name may be typed instead. Locked until `unlocked`."""
    return gr.Dropdown(
        choices=venue_choices(desk, words),
        value="",
        label=words("venue"),
        allow_custom_value=True,
        min_width=140,
        scale=scale,
        interactive=False,
    )


def other_fields(desk: Desk, words: Words) -> tuple[gr.Textbox, gr.Textbox, gr.Slider]:
    """The first and the last year, and the number of sources. Locked until `unlocked`."""
    return (
        gr.Textbox(label=words("year_from"), max_lines=1, min_width=90, interactive=False),
        gr.Textbox(label=words("year_to"), max_lines=1, min_width=90, interactive=False),
        gr.Slider(
            1,
            MOST_SOURCES,
            value=desk.k,
            step=1,
            label=words("sources_number"),
            buttons=[],
            min_width=180,
            scale=2,
            interactive=False,
        ),
    )


def venue_choices(desk: Desk, words: Words) -> list[tuple[str, str]]:
    """Any venue, then the venues with most papers."""
    return [(words("any_venue"), ""), *((name, name) for name, _ in overview(desk.library).venues[:VENUES])]


def typed_filters(venue: str | None, first: str | None, last: str | None) -> Filters:
    """The filters that three fields say."""
    return Filters((venue or "").strip() or None, year(first), year(last))


def field_values(preferred: Preferences, k: int) -> tuple[str, str, str, int]:
    """What the four fields begin with; `k` where the user has chosen no number of sources."""
    return (
        preferred.venue or "",
        str(preferred.year_from or ""),
        str(preferred.year_to or ""),
        preferred.k or k,
    )


def unlocked(values: tuple[str, str, str, int]) -> tuple[Any, ...]:
    """Updates that give the four fields what they begin with and open them.

    Until then they are locked: what is typed before the page has its values would be overwritten by them.
    """
    return tuple(gr.update(value=value, interactive=True) for value in values)


def active_filters(venue: str | None, first: str | None, last: str | None, k: float, usual: int, words: Words) -> str:
    """The filters in force, each with a button that takes it back; empty where there are none."""
    chosen = typed_filters(venue, first, last)
    labels: list[tuple[str, str]] = []
    if chosen.venue:
        labels.append(("venue", chosen.venue))
    if chosen.year_from is not None:
        labels.append(("first", words("from_year", year=chosen.year_from)))
    if chosen.year_to is not None:
        labels.append(("last", words("until_year", year=chosen.year_to)))
    if int(k) != usual:
        labels.append(("k", words("sources_chosen", n=int(k))))
    remove = escape(words("remove_filter"))
    chips = "".join(
        f'<span class="aqa-chip"><bdi>{escape(label)}</bdi><button type="button" data-act="clear" data-field="{name}" '
        f'title="{remove}" aria-label="{remove}: {escape(label)}">{icon("close")}</button></span>'
        for name, label in labels
    )
    return f'<p class="aqa-notes" role="group" aria-label="{escape(words("filters"))}">{chips}</p>' if chips else ""


def notice(desk: Desk, words: Words) -> str:
    """That the answering model is not available, why, and where to choose another; empty where it is or may yet be."""
    if not desk.problem:
        return ""
    return (
        f'<div class="aqa-notice" role="status"><p>{escape(words("model_problem"))} '
        f'<bdi>{escape(desk.problem)}</bdi></p><button type="button" class="aqa-small" data-act="settings">'
        f"{escape(words('model_choose'))}</button></div>"
    )
