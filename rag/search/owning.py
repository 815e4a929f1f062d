"""Whose name it is: the paper that brought a system or data set into the world, not one that only speaks of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rag.answering.claims import names
from rag.types import Paper

# A name made of the first letters of a title has at least so many.
_SHORTEST_INITIALISM = 3
_SMALL_WORDS = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "via", "with")
)


def names_asked(text: str) -> tuple[str, ...]:
    """The names in a question that can have an owner: acronyms, CamelCase, words with digits; each once."""
    return tuple(dict.fromkeys(name.text for name in names(text) if name.sure))


def owns(paper: Paper, name: str) -> bool:
    """Whether `paper` is the one that `name` is of.

    It is when the title (or label) begins with it, has it in brackets or is what it abbreviates, when the abstract
    begins by saying what it is, or when the abstract proposes it.
    """
    head, introduced = _patterns(name)
    return (
        head.search(paper.title) is not None
        or _initials(paper.title) == name
        or introduced.search(paper.abstract) is not None
    )


def owned(paper: Paper, wanted: Sequence[str]) -> bool:
    """Whether `paper` owns any of the names."""
    return any(owns(paper, name) for name in wanted)


@lru_cache(maxsize=1024)
def _patterns(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    exact = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    proposes = r"(?:propos|introduc|present|develop|call|nam|term|dub|creat|releas|construct|design)(?:e|es|ed|ing|s)?"
    return (
        re.compile(rf"^\W*{exact}\s*(?:[:(–—]|$)|\({re.escape(name)}s?\)"),
        re.compile(rf"^{exact}\s+(?:is|are|was)\b|\b{proposes}\b(?:\s+[^\s.;]+){{0,6}}?\s+\W?{exact}"),
    )


@lru_cache(maxsize=8192)
def _initials(title: str) -> str:
    words = [word for word in re.findall(r"[^\W\d_]+", title.split(":")[0]) if word.lower() not in _SMALL_WORDS]
    found = "".join(word[0] for word in words).upper()
    return found if len(found) >= _SHORTEST_INITIALISM else ""
