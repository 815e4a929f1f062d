"""Questions offered to the user: of the library at the start, and after an answer about what it cited."""

from __future__ import annotations

import re

from rag.types import Paper
from ui.exchange import Exchange
from ui.prose import escape
from ui.text import Words

_NAME = re.compile(r"^(?P<name>[^\s:]{2,24}(?: [^\s:]{1,16})?):\s")
_IN_BRACKETS = re.compile(r"\((?P<name>[A-Z][A-Za-z0-9-]{1,15})\)")
LONGEST_TITLE = 70


def short_name(paper: Paper) -> str | None:
    """What the paper's title calls its subject ("LoRA" of "LoRA: Low-rank …"); None where it names nothing."""
    found = _NAME.match(paper.title) or _IN_BRACKETS.search(paper.title)
    return found["name"] if found else None


def name(paper: Paper) -> str | None:
    """The short name, else a title that is short enough to stand in a question, else None."""
    short = short_name(paper)
    if short:
        return short
    return f"“{paper.title}”" if paper.titled and len(paper.title) <= LONGEST_TITLE else None


def follow_ups(exchange: Exchange, words: Words) -> str:
    """Up to three buttons with questions that the cited papers can answer; empty where there are none."""
    numbers = exchange.numbers
    if exchange.answer is None or exchange.abstained:
        return ""
    papers = [paper for paper_id, paper in exchange.papers.items() if paper_id in numbers]
    names = [called for called in (name(paper) for paper in papers) if called][:2]
    if not names:
        return ""
    asked = [words("follow_limits", name=names[0]), words("follow_like", name=names[0])]
    if len(names) > 1:
        asked.insert(1, words("follow_compare", a=names[0], b=names[1]))
    asked = [question for question in asked if question != exchange.text]
    return (
        f'<div class="aqa-followups" role="group" aria-label="{escape(words("followups"))}">'
        + "".join(ask_button(question) for question in asked[:3])
        + "</div>"
    )


def ask_button(question: str) -> str:
    """A question that is asked when pressed."""
    return f'<button type="button" class="aqa-ask" data-act="ask" dir="auto">{escape(question)}</button>'
