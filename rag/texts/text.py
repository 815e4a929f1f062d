"""Text made right: what is stored of titles and abstracts, and what offsets refer to.

Sentences are cut in `rag.texts.sentences`, labels are found in `rag.texts.labels`; both are offered here as well.
"""

from __future__ import annotations

import html
import re
import unicodedata

from rag.texts.labels import label_from
from rag.texts.latex import untex
from rag.texts.sentences import split_sentences
from rag.texts.words import HYPHEN_FIRST, HYPHEN_SECOND

__all__ = ["clean_text", "clean_title", "label_from", "split_sentences"]

_PASSES = 8
# Nothing outside this needs any work but the joining of blanks.
# A line's end that became a blank: joined only where the text itself has the word.
_LOST_HYPHEN = re.compile(r"\b([^\W\d_]{2,})- ([a-z]{3,})\b")
_EMPHASIS = re.compile(
    r"\*\*(?=[^\s*])([^*\n]{1,200}?)(?<=[^\s*])\*\*|(?<![\w*\\])\*(?=[^\s*])([^*\n]{2,120}?)(?<=[^\s*])\*(?![\w*])"
)
_INVISIBLE = r"\xad\u200b-\u200f\u202a-\u202e\u2060\ufeff\ud800-\udfff\ufffe\uffff"
_SIMPLE = re.compile(rf"[^\\<&`~$*{{}}\x00-\x08\x0a-\x1f\x7f-\x9f\ufb00-\ufb06{_INVISIBLE}]*")
_LINE_HYPHEN = re.compile(r"([^\W\d_]+)[-‐\xad]\s*\n\s*([^\W\d_]+)")
_REMOVED = re.compile(rf"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f{_INVISIBLE}]")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\x85": " "}
_LIGATURE = re.compile("[\ufb00-\ufb06\x85]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_ATTRIBUTES = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*\s*/?"""
_BLOCK = "p|br|hr|div|li|ul|ol|dl|dt|dd|h[1-6]|sec|title|table|tr|td|th|tbody|blockquote|pre|abstract|abstracttext"
_INLINE = (
    "em|strong|formula|tex|sub|sup|span|font|small|big|tt|code|italic|bold|underline|sc|monospace|inline-formula|tex-math|"
    "alternatives|inline-graphic|xref|ext-link|sub|sup|del|ins|mark|cite|var|kbd|bib|named-content|styled-content|"
    "mml:[a-z]+|math|mrow|mi|mo|mn|msub|msup|msubsup|mfrac|mtext|mover|munder|mspace|semantics|annotation|list|list-item"
)
_BLOCK_TAG = re.compile(rf"</?(?:jats:|ns\d:)?(?:{_BLOCK}){_ATTRIBUTES}>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:jats:|ns\d:)?(?:{_INLINE}){_ATTRIBUTES}>", re.IGNORECASE)
# One letter may be a variable between two comparisons: it is a tag only in a pair, or with attributes.
_LETTER_PAIR = re.compile(rf"<([abiusq])({_ATTRIBUTES})>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|<!\[CDATA\[|\]\]>(?=\s*$)|<\?[a-z]+[^<>]*\?>", re.DOTALL)
_SUPERSCRIPT = re.compile(r"(?<=\d)<(?:jats:)?sup>\s*([-−–+]?\d{1,3})\s*</(?:jats:)?sup>", re.IGNORECASE)
_RAISED = str.maketrans("0123456789-−–+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻⁺")
_TEX_DOCUMENT = re.compile(r"\\documentclass.*?\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_HEADING = re.compile(
    r"^(?:(?:abstract|ABSTRACT|Abstract)\s*[:.—–-]\s*(?=\S)|(?:ABSTRACT|Abstract)\s+(?=[A-Z][a-z])"
    r"|(?:摘\s*要|内容提要)\s*[:：]\s*)"
)


def clean_text(raw: str) -> str:
    """`raw` as it is stored: one line, NFC, without HTML, control characters and hyphens of line ends.

    LaTeX accents and commands become Unicode; mathematics ($…$, \\(…\\)) stays as it is; unknown macros stay.
    Cleaning again changes nothing.
    """
    return _cleaned(raw, braces=False)


def clean_title(raw: str, *, braces: bool = True) -> str:
    """A title, a venue or a name as it is stored: as `clean_text`, and braces that only group letters go too."""
    return _cleaned(raw, braces=braces)


def _cleaned(raw: str, *, braces: bool) -> str:
    if _is_simple(raw):
        return unicodedata.normalize("NFC", " ".join(raw.split()))
    text = raw
    for _ in range(_PASSES):
        before = text
        text = _pass(text, braces)
        if text == before or _is_simple(text):
            break
    return text


def _is_simple(text: str) -> bool:
    """Whether there is nothing to do but to join blanks."""
    return bool(_SIMPLE.fullmatch(text)) and "- " not in text and "--" not in text and not _HEADING.match(text)


def _pass(text: str, braces: bool) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" in text:
        text = _LINE_HYPHEN.sub(lambda found: _rejoined(found, text), text)
    if "&" in text:
        text = re.sub(r"&(?:amp;){2,}", "&amp;", text)
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if "<" in text:
        text = _without_tags(text)
    if not text.isascii():
        text = _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text)
    if not text.isprintable():
        text = _REMOVED.sub("", text)
    text = untex(text, braces=braces)
    if "*" in text:
        text = _EMPHASIS.sub(lambda found: found[1] or found[2], text)
    text = " ".join(text.split())
    if "- " in text:
        text = _LOST_HYPHEN.sub(lambda found: _found_again(found, text), text)
    return unicodedata.normalize("NFC", _HEADING.sub("", text).strip())


def _without_tags(text: str) -> str:
    text = _TEX_DOCUMENT.sub(r"\1", _COMMENT.sub("", text))
    text = _SUPERSCRIPT.sub(lambda found: found[1].translate(_RAISED), text)
    text = _BLOCK_TAG.sub(" ", text)
    text = _INLINE_TAG.sub("", text)
    return _LETTER_PAIR.sub(r"\3", text)


def _found_again(found: re.Match[str], text: str) -> str:
    """The word whole, or with its hyphen, as it stands elsewhere in `text`; else left as it is."""
    for whole in (found[1] + found[2], f"{found[1]}-{found[2]}"):
        if re.search(rf"\b{re.escape(whole)}", text, re.IGNORECASE):
            return whole
    return found[0]


def _rejoined(found: re.Match[str], text: str) -> str:
    """Whether the hyphen at a line's end belongs to the word: the text itself tells first, then the lists above."""
    first, second = found[1], found[2]
    if re.search(rf"\b{first}{second}", text):
        return first + second
    apart = (
        re.search(rf"\b{first}-{second}", text) is not None
        or second[0].isupper()
        or text[max(0, found.start() - 1) : found.start()] == "-"
        or first.lower() in HYPHEN_FIRST
        or second.lower() in HYPHEN_SECOND
    )
    return f"{first}-{second}" if apart else first + second
