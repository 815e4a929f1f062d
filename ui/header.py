"""The bar on top of the page, and the empty panel that `script.js` fills with source cards."""

from __future__ import annotations

from ui.cards import export_buttons
from ui.icons import icon
from ui.preferences import Preferences
from ui.prose import escape
from ui.text import Words


def header(papers: int, words: Words, preferred: Preferences | None = None) -> str:
    """Name, size of the library, language, theme; what the user has chosen of the two is left to `script.js` to do."""
    theirs = ""
    if preferred is not None:
        theirs = f' data-theme="{preferred.theme or ""}" data-language="{preferred.language or ""}"'
    held = words.count("papers", papers) if papers else words("library_empty")
    other = "zh" if words.language == "en" else "en"
    theme, menu = escape(words("theme")), escape(words("menu"))
    return (
        f'<a class="aqa-skip" href="#aqa-box">{escape(words("skip"))}</a>'
        f'<div class="aqa-bar" data-lang="{words.language}"{theirs}>'
        f'<button type="button" class="aqa-icon aqa-menu" data-act="menu" aria-label="{menu}" title="{menu}" '
        f'aria-expanded="false">{icon("menu")}</button>'
        f'<h1 class="aqa-brand"><span class="aqa-mark" aria-hidden="true">[1]</span>abstract<span>-qa</span></h1>'
        f'<span class="aqa-held">{escape(held)}</span><span class="aqa-gap"></span>'
        f'<button type="button" class="aqa-link" data-act="language" data-language="{other}" lang="{other}">'
        f"{escape(words('other_language'))}</button>"
        f'<button type="button" class="aqa-icon" data-act="theme" aria-label="{theme}" title="{theme}">'
        f"{icon('theme')}</button></div>"
    )


def panel(words: Words) -> str:
    """The sources panel with nothing in it. Its data attributes are the words that `script.js` needs."""
    return (
        f'<aside class="aqa-sources" aria-label="{escape(words("sources"))}" '
        f'data-hint="{escape(words("sources_hint"))}" data-copied="{escape(words("copied"))}" '
        f'data-thanks="{escape(words("thanks"))}" data-why="{escape(words("why"))}" '
        f'data-save="{escape(words("save"))}" data-none="{escape(words("similar_none"))}" '
        f'data-gone="{escape(words("server_gone"))}" '
        f'data-cancel="{escape(words("cancel"))}" data-retry="{escape(words("retry"))}" '
        f'data-seconds="{escape(words("seconds", s="{s}"))}">'
        f'<div class="aqa-sources-head"><h2>{escape(words("sources"))} <span class="aqa-count"></span></h2>'
        f'<details class="aqa-export" hidden><summary>{escape(words("export"))}{icon("chevron")}</summary>'
        f'<div class="aqa-export-menu">{export_buttons(words)}</div></details></div>'
        f'<div class="aqa-mount"><p class="aqa-note">{escape(words("sources_hint"))}</p></div></aside>'
    )
