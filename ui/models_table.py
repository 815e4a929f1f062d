"""The models as a table: size, whether each is on this machine, which one answers, and buttons to use or fetch it."""

from __future__ import annotations

from rag.models import known as models
from ui.desk import Desk
from ui.prose import escape
from ui.text import Words


def models_table(desk: Desk, words: Words) -> str:
    """A row for each choice there is, the one in use marked."""
    home = desk.library.settings.home
    statuses = models.statuses(home)
    automatic = models.automatic_llm(home)
    by_name = {status.model.name: status for status in statuses}
    rows = [_row(words, "auto", f"{words('model_auto')} ({automatic})", by_name.get(automatic), desk.llm)]
    rows += [_row(words, one.model.name, one.model.name, one, desk.llm) for one in statuses if one.model.role == "llm"]
    rows.append(_row(words, "none", words("model_none"), None, desk.llm, here=True))
    if desk.llm not in ("auto", "none", *by_name):
        rows.append(_row(words, desk.llm, desk.llm, None, desk.llm, here=True))
    searching = by_name.get(desk.library.settings.embedder)
    if searching is not None:
        rows.append(
            f"<tr><td><bdi>{escape(searching.model.name)}</bdi> "
            f'<span class="aqa-note">{escape(words("model_embedder"))}</span></td>'
            f"{_size(searching)}<td>{escape(words('yes'))}</td><td></td></tr>"
        )
    heads = "".join(
        f'<th scope="col">{escape(words(key))}</th>' for key in ("model_name", "model_size", "model_there", "actions")
    )
    return f'<div class="aqa-table"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _row(
    words: Words, name: str, label: str, status: models.ModelStatus | None, current: str, here: bool | None = None
) -> str:
    there = here if here is not None else status is not None and status.path is not None
    fetched = status.model.name if status is not None else name
    if name == current:
        action = f'<strong class="aqa-in-use">{escape(words("in_use"))}</strong>'
        if not there:
            action += _button(words, "pull", fetched)
    else:
        action = _button(words, "use", name) if there else _button(words, "pull", fetched)
    marked = ' class="aqa-current"' if name == current else ""
    return (
        f"<tr{marked}><td><bdi>{escape(label)}</bdi></td>{_size(status)}"
        f"<td>{escape(words('yes' if there else 'no')) if status is not None else ''}</td><td>{action}</td></tr>"
    )


def _size(status: models.ModelStatus | None) -> str:
    return f'<td class="aqa-size">{status.model.size / 1e6:,.0f} MB</td>' if status is not None else "<td></td>"


def _button(words: Words, act: str, name: str) -> str:
    label = escape(words(act))
    return (
        f'<button type="button" class="aqa-small aqa-admin" data-act="{act}" data-name="{escape(name)}" '
        f'aria-label="{label}: {escape(name)}">{label}</button>'
    )
