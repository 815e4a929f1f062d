"""The list of conversations beside the page."""

from __future__ import annotations

from collections.abc import Sequence

from ui.conversations import Summary
from ui.icons import icon
from ui.prose import escape
from ui.text import Words


def rail(listed: Sequence[Summary], current: str | None, words: Words) -> str:
    """Conversations as buttons, the open one marked, each with rename and delete."""
    if not listed:
        items = f'<p class="aqa-note aqa-rail-empty">{escape(words("no_conversations"))}</p>'
    else:
        items = "".join(_item(one, one.conversation_id == current, words) for one in listed)
        items = f'<ul class="aqa-rail">{items}</ul>'
    return f'<div class="aqa-rail-frame" data-open="{escape(current or "")}">{items}</div>'


def _item(one: Summary, current: bool, words: Words) -> str:
    title = escape(one.title)
    return (
        f'<li data-conversation="{escape(one.conversation_id)}"{" data-current" if current else ""}>'
        f'<button type="button" class="aqa-rail-open" data-act="open" dir="auto" title="{title}"'
        f"{' aria-current=page' if current else ''}>{title}</button>"
        f'<button type="button" class="aqa-icon" data-act="rename" aria-label="{escape(words("rename"))}: {title}" '
        f'title="{escape(words("rename"))}">{icon("edit")}</button>'
        f'<button type="button" class="aqa-icon" data-act="delete" aria-label="{escape(words("delete"))}: {title}" '
        f'title="{escape(words("delete"))}" data-sure="{escape(words("delete_sure"))}">{icon("trash")}</button></li>'
    )
