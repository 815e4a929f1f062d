"""What a library holds in a few numbers, and questions to begin with that it can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.types import Paper
from ui.followups import short_name
from ui.prose import escape
from ui.text import Words

if TYPE_CHECKING:
    from rag.library import Library

# Papers looked at for names to ask about.
LOOKED_AT = 400
NAMED = 12


@dataclass(frozen=True, slots=True)
class Overview:
    """Numbers of a library. `venues` and `years` count papers, most frequent and earliest first.

    `named` are a few papers whose titles name what they are about.
    """

    papers: int
    venues: tuple[tuple[str, int], ...]
    years: tuple[tuple[int, int], ...]
    named: tuple[Paper, ...]


def overview(library: Library) -> Overview:
    """The numbers of the library as it is now."""
    named = [paper for paper in library.papers(limit=LOOKED_AT) if short_name(paper)]
    step = max(1, len(named) // NAMED)
    return Overview(
        library.count(), tuple(library.venue_counts()), tuple(library.year_counts()), tuple(named[::step][:NAMED])
    )


def examples(held: Overview, words: Words) -> tuple[str, ...]:
    """Up to four questions about papers that are there."""
    names = [name for name in (short_name(paper) for paper in held.named) if name]
    asked = []
    if names:
        asked.append(words("example_what", name=names[0]))
    if len(names) > 2:
        asked.append(words("example_compare", a=names[1], b=names[2]))
    topics = [keyword for paper in held.named for keyword in paper.keywords]
    if topics:
        asked.append(words("example_which", topic=topics[0]))
    if held.venues:
        asked.append(words("example_how_many", venue=held.venues[0][0]))
    if len(names) > 3 and len(asked) < 4:
        asked.append(words("example_what", name=names[3]))
    return tuple(asked[:4])


def years_text(held: Overview) -> str:
    """`2024` or `2013–2024`; empty where no year is known."""
    if not held.years:
        return ""
    first, last = held.years[0][0], held.years[-1][0]
    return str(first) if first == last else f"{first}–{last}"


def welcome(held: Overview, words: Words) -> str:
    """What stands where no question has been asked yet."""
    if not held.papers:
        return (
            f'<div class="aqa-welcome"><h2>{escape(words("library_empty"))}</h2>'
            f"<p>{escape(words('library_empty_hint'))}</p>"
            f'<button type="button" class="aqa-ask" data-act="library">{escape(words("library_empty_button"))}'
            "</button></div>"
        )
    papers, years = words.count("papers", held.papers), years_text(held)
    says = (
        words("empty_holds", papers=papers, venues=words.count("venues", len(held.venues)), years=years)
        if held.venues and years
        else words("empty_holds_bare", papers=papers)
    )
    buttons = "".join(
        f'<li><button type="button" class="aqa-ask" data-act="ask" dir="auto">{escape(question)}</button></li>'
        for question in examples(held, words)
    )
    return (
        f'<div class="aqa-welcome"><h2>{escape(words("empty_title"))}</h2><p>{escape(says)}</p>'
        f'<ul class="aqa-examples">{buttons}</ul></div>'
    )
