"""Whose name it is: the paper that brought a system or data set into the world, not one that only speaks of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rag.answering.claims import names
from rag.texts.terms import content
from rag.types import Paper

# Telling words from which on a question describes what it looks for, and the most owners of a name that is no common
# noun. On 300 summaries of papers over 40,000 a gain for owners costs recall@1 .08 without these bounds, nothing with.
DESCRIBES = 12
MOST_OWNERS = 3
# A name made of the first letters of a title has at least so many.
_SHORTEST_INITIALISM = 3
_MOST_HEAD_WORDS = 3
_ABOUT = r"^\W*(?:what(?:'s| is| does| are)|how (?:does|do|is|good is|well does)|explain|tell me about|describe) "
_SMALL_WORDS = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "via", "with")
)


@lru_cache(maxsize=256)
def names_asked(text: str) -> tuple[str, ...]:
    """The names in a question that can have an owner: acronyms, CamelCase, words with digits; each once."""
    return tuple(dict.fromkeys(name.text for name in names(text) if name.sure))


def owns(paper: Paper, name: str) -> bool:
    """Whether `paper` is the one that `name` is of.

    It is when the title (or label) begins with it, has it in brackets or is what it abbreviates, when the abstract
    begins by saying what it is, or when the abstract proposes it.
    """
    head, introduced = _patterns(name)
    singular = name[:-1] if name.endswith("s") and name[:-1].isupper() else name
    return (
        head.search(paper.title) is not None
        or _initials(paper.title) == singular
        or introduced.search(paper.abstract) is not None
    )


def owned(paper: Paper, text: str) -> bool:
    """Whether `text` says a name that `paper` owns, the short name its title begins with, or its title."""
    return bool(called(paper, text)) or any(owns(paper, name) for name in names_asked(text))


def owners(papers: Sequence[Paper], text: str) -> list[bool]:
    """Which of the papers a question is about by their names; none where it is a description, or names a kind of thing.

    A long question describes a paper and names what that paper uses; a name with many owners ("LLM") is nobody's.
    """
    if len(content(text)) >= DESCRIBES:
        return [False] * len(papers)
    found = [owned(paper, text) for paper in papers]
    return found if sum(found) <= MOST_OWNERS else [False] * len(papers)


def called(paper: Paper, text: str) -> str:
    """What `text` calls `paper` by: its title, or the name before the title's colon; empty where it does neither."""
    title, head = _spoken(paper.title)
    lower = text.casefold()
    if title and title.casefold() in lower:
        return title
    if not head or head.casefold() not in lower:
        return ""
    # A word of the language that is a name too ("Mamba", "CLIP") is told from it by its capitals, or by how one asks.
    exact = rf"{re.escape(head)}(?![\w-])"
    said = re.search(rf"(?<![\w-]){exact}", text) or re.search(rf"{_ABOUT}{exact}", text, re.I)
    return head if said else ""


@lru_cache(maxsize=8192)
def _spoken(title: str) -> tuple[str, str]:
    """What a paper may be called by: its title, of three words or more, and the name of up to three words before its
    colon; each empty where there is none.
    """
    title = " ".join(title.split()).rstrip(".")
    head, colon, rest = title.partition(":")
    head = head.strip()
    named = bool(colon and rest.strip()) and head[:1].isupper() and head.count(" ") < _MOST_HEAD_WORDS
    return title if title.count(" ") >= 2 else "", head if named else ""


@lru_cache(maxsize=1024)
def _patterns(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    exact = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    proposes = r"(?:propos|introduc|present|develop|call|nam|term|dub|creat|releas|construct|design)(?:e|es|ed|ing|s)?"
    return (
        re.compile(rf"^\W*{exact}\s*(?:[:(–—]|$)|\({re.escape(name)}s?\)"),
        re.compile(
            rf"^{exact}\s+(?!(?:has|was)\b)(?-i:[a-z][a-z-]*)(?<!ss)(?:s|are)\b|\b{proposes}\b(?:\s+[^\s.;]+){{0,6}}?\s+\W?{exact}"
        ),
    )


@lru_cache(maxsize=8192)
def _initials(title: str) -> str:
    words = [word for word in re.findall(r"[^\W\d_]+", title.split(":")[0]) if word.lower() not in _SMALL_WORDS]
    found = "".join(word[0] for word in words).upper()
    return found if len(found) >= _SHORTEST_INITIALISM else ""
