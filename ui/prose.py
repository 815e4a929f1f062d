"""Text from papers and from the model as HTML. Nothing it contains can become markup; formulas become MathML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from ui.maths import mathml, pieces

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Private-use characters stand for formulas while Markdown is rendered; a text's own ones are taken out first.
_OPEN, _CLOSE = "\ue000", "\ue001"
_HELD = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_LIST_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


def escape(text: object) -> str:
    """Text for an element or a quoted attribute."""
    return html.escape(str(text), quote=True)


def plain(text: str) -> str:
    """Text of a paper: escaped, formulas drawn."""
    return "".join(mathml(piece.text, piece.display) if piece.formula else escape(piece.text) for piece in pieces(text))


def inline(text: str) -> str:
    """Text of an answer: emphasis and code from Markdown, formulas drawn. Links and images stay text."""
    text = text.replace(_OPEN, "").replace(_CLOSE, "")
    held: list[str] = []
    parts: list[str] = []
    for piece in pieces(text):
        if piece.formula:
            parts.append(f"{_OPEN}{len(held)}{_CLOSE}")
            held.append(mathml(piece.text, piece.display))
        else:
            parts.append(piece.text)
    rendered: str = _markdown().renderInline(_LIST_ITEM.sub("", "".join(parts)).strip())
    return _HELD.sub(lambda found: held[int(found[1])], rendered)


def is_list_item(text: str) -> bool:
    """Whether a sentence of an answer is written as an item of a list."""
    return _LIST_ITEM.match(text) is not None


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A paper's text with the spans [start, end) in `<mark data-start>`; overlapping ones are joined."""
    out: list[str] = []
    done = 0
    for start, end in _joined(spans, len(text)):
        out.append(plain(text[done:start]))
        out.append(f'<mark data-start="{start}" data-end="{end}">{plain(text[start:end])}</mark>')
        done = end
    out.append(plain(text[done:]))
    return "".join(out)


def _joined(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted((max(0, start), min(end, length)) for start, end in spans):
        if start >= end:
            continue
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero", {"html": False}).enable(["emphasis", "backticks"])
