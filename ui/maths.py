"""LaTeX formulas in running text, found and written as MathML, which browsers draw without any script or font.

A dollar sign opens a formula by pandoc's rule: no space after the opening sign, none before the closing one, no digit
after it; what reads like prices is left alone, so "$5 and $10" stays money.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

LONGEST = 600
_FORMULA = re.compile(
    r"""(?P<display>\$\$(?P<dd>[^$]+?)\$\$|\\\[(?P<db>.+?)\\\])
      | \\\((?P<ib>.+?)\\\)
      | (?<![\\$\w])\$(?P<id>(?=[^\s$])(?:\\.|[^$\\])*?(?<=\S))\$(?![\d$])""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN_WORD = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{3,}")
_MATHEMATICAL = re.compile(r"[\\^_={}<>|+/]")
_ELEMENTS = frozenset({
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup",
    "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd",
    "mphantom", "mpadded", "menclose", "mfenced", "mstyle", "semantics",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "display", "mathvariant", "stretchy", "fence", "separator", "form", "lspace", "rspace", "minsize", "maxsize",
    "movablelimits", "accent", "accentunder", "linethickness", "columnalign", "rowspacing", "columnspacing",
    "columnlines", "rowlines", "width", "height", "depth", "notation", "displaystyle", "scriptlevel", "largeop",
    "symmetric", "open", "close",
})  # fmt: skip
_VALUE = re.compile(r"[\w\s.,%+\-()\[\]{}|]*")
_NAMESPACE = re.compile(r"\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a text: a formula's LaTeX without its signs, or plain text."""

    text: str
    formula: bool = False
    display: bool = False


def pieces(text: str) -> Iterator[Piece]:
    """The text cut into plain runs and formulas, in order; joined with their signs they give the text again."""
    done = 0
    for found in _FORMULA.finditer(text):
        source = next(found[name] for name in ("dd", "db", "ib", "id") if found[name] is not None)
        if found["id"] is not None and _is_money(source):
            continue
        if found.start() < done:
            continue
        if found.start() > done:
            yield Piece(text[done : found.start()])
        yield Piece(source, formula=True, display=found["display"] is not None)
        done = found.end()
    if done < len(text):
        yield Piece(text[done:])


def _is_money(source: str) -> bool:
    """Whether what stands between two dollar signs is an amount and words rather than a formula."""
    if source[0].isdigit() and not _MATHEMATICAL.search(source):
        return not re.fullmatch(r"[\d.,\s%]+", source) or "," in source
    return bool(_PLAIN_WORD.search(source)) and " " in source and not _MATHEMATICAL.search(source)


@lru_cache(maxsize=2048)
def mathml(latex: str, display: bool = False) -> str:
    """The formula as MathML; its LaTeX, escaped, where it cannot be converted."""
    from latex2mathml.converter import convert

    fallback = f'<code class="tex">{html.escape(latex)}</code>'
    if len(latex) > LONGEST:
        return fallback
    try:
        root = ElementTree.fromstring(convert(latex, display="block" if display else "inline"))
    except Exception:  # noqa: BLE001 - any formula that a paper holds may break the converter; its text is shown then
        return fallback
    clean = _allowed(root)
    if clean is None:
        return fallback
    clean.set("xmlns", "http://www.w3.org/1998/Math/MathML")
    return ElementTree.tostring(clean, encoding="unicode")


def _allowed(element: ElementTree.Element) -> ElementTree.Element | None:
    """The element rebuilt of known tags and attributes alone (a formula may carry a link); None if it holds others."""
    tag = _NAMESPACE.sub("", element.tag)
    if tag not in _ELEMENTS:
        return None
    clean = ElementTree.Element(tag)
    for key, value in element.attrib.items():
        if key in _ATTRIBUTES and _VALUE.fullmatch(value):
            clean.set(key, value)
    clean.text, clean.tail = element.text, element.tail
    for child in element:
        kept = _allowed(child)
        if kept is None:
            return None
        clean.append(kept)
    return clean
