"""Text made right, and cut into sentences."""

from __future__ import annotations

import html
import re
import unicodedata

from rag.types import Span

_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s|$)|[。！？]|$)", re.DOTALL)


def clean_text(raw: str) -> str:
    """Text as it is stored: one line, NFC."""
    return " ".join(unicodedata.normalize("NFC", html.unescape(raw)).split())


def clean_title(raw: str) -> str:
    """A title, name or other short text as it is stored."""
    return clean_text(raw)


def split_sentences(text: str) -> tuple[Span, ...]:
    """The sentences of `text`, in order, `text[start:end] == span.text`."""
    return tuple(Span(m.start(), m.end(), m[0]) for m in _SENTENCE.finditer(text))


def label_from(abstract: str) -> str:
    """A readable label for an abstract without a title."""
    return abstract[:80]
