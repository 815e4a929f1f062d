"""Years as they are typed: a field of text can be empty, which Gradio's field of numbers shows as 0."""

from __future__ import annotations


def year(typed: str | None) -> int | None:
    """The year typed, or nothing where the field is empty or holds no number."""
    text = (typed or "").strip()
    return int(text) or None if text.isdecimal() else None
