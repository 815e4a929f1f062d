"""The papers of the library as a table: sorted over all that match, a page at a time, to select and to open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.store.records import Order
from rag.types import Paper
from ui.icons import icon
from ui.prose import escape, plain
from ui.text import Words

PAGE = 50
AUTHORS_SHOWN = 3
_COLUMNS: tuple[tuple[Order, str], ...] = (
    ("title", "title"),
    ("authors", "authors"),
    ("venue", "venue"),
    ("year", "year"),
    ("added", "source_file"),
)


@dataclass(frozen=True, slots=True)
class View:
    """Which part of the papers is shown, in which order. `page` counts from 0."""

    order: Order = "added"
    descending: bool = False
    page: int = 0

    def sorted_by(self, order: str) -> View:
        """By another column, or the other way round by the same; an unknown column changes nothing."""
        known = next((name for name, _ in _COLUMNS if name == order), None)
        if known is None:
            return self
        return View(known, not self.descending if known == self.order else False)

    def at(self, page: int, total: int) -> View:
        """The page asked for, or the last one there is."""
        return replace(self, page=max(0, min(page, (total - 1) // PAGE)))


def papers_table(papers: Sequence[Paper], total: int, view: View, words: Words) -> str:
    """The papers of one page; `total` is how many match."""
    if not papers:
        return f'<p class="aqa-note" role="status">{escape(words("no_papers_found"))}</p>'
    start = view.page * PAGE
    shown = words("shown", shown=f"{start + 1:,}–{start + len(papers):,}", n=f"{total:,}")
    heads = "".join(_head(order, words(key), view, words) for order, key in _COLUMNS)
    rows = "".join(_row(paper, words) for paper in papers)
    return (
        f'<div class="aqa-papers"><div class="aqa-papers-bar"><p class="aqa-note" role="status">{escape(shown)}</p>'
        f'<button type="button" class="aqa-small aqa-admin" data-act="remove" disabled '
        f'data-sure="{escape(words("remove_sure"))}">'
        f'{icon("trash")}{escape(words("remove"))} <span class="aqa-count"></span></button></div>'
        f'<div class="aqa-table" tabindex="0" role="region" aria-label="{escape(words("papers"))}">'
        "<table><thead><tr>"
        f'<th scope="col" class="aqa-tick"><input type="checkbox" data-act="tick-all" '
        f'aria-label="{escape(words("select_page"))}"/></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{_pages(total, view, words)}</div>"
    )


def _head(order: Order, label: str, view: View, words: Words) -> str:
    current = order == view.order
    state = ' aria-sort="' + ("descending" if view.descending else "ascending") + '"' if current else ""
    hint = escape(words("added_order") if order == "added" else words("sort_by", field=label))
    return (
        f'<th scope="col" class="aqa-col-{order}"{state}><button type="button" data-act="sort" data-order="{order}" '
        f'title="{hint}">{escape(label)}{icon("chevron")}</button></th>'
    )


def _row(paper: Paper, words: Words) -> str:
    authors = ", ".join(paper.authors[:AUTHORS_SHOWN]) + (" et al." if len(paper.authors) > AUTHORS_SHOWN else "")
    cells = "".join(
        f'<td class="aqa-col-{name}"><bdi>{escape(text)}</bdi></td>'
        for name, text in (
            ("authors", authors),
            ("venue", paper.venue or ""),
            ("year", paper.year or ""),
            ("added", paper.locator or ""),
        )
    )
    return (
        f'<tr><td class="aqa-tick"><input type="checkbox" data-act="tick" data-paper="{escape(paper.paper_id)}" '
        f'aria-label="{escape(words("select_one"))}: {escape(paper.title)}"/></td>'
        f'<td class="aqa-col-title"><button type="button" class="aqa-open-paper" data-act="paper" dir="auto" '
        f'data-paper="{escape(paper.paper_id)}">{plain(paper.title)}</button></td>{cells}</tr>'
    )


def _pages(total: int, view: View, words: Words) -> str:
    pages = -(-total // PAGE)
    if pages < 2:
        return ""

    def button(page: int, key: str) -> str:
        off = "" if 0 <= page < pages else " disabled"
        return (
            f'<button type="button" class="aqa-small" data-act="page" data-page="{page}"{off}>'
            f"{escape(words(key))}</button>"
        )

    where = escape(words("page_of", page=f"{view.page + 1:,}", pages=f"{pages:,}"))
    return (
        f'<nav class="aqa-pages" aria-label="{where}">{button(view.page - 1, "page_before")}'
        f'<span class="aqa-note">{where}</span>{button(view.page + 1, "page_after")}</nav>'
    )
