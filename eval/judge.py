"""An optional second opinion: a language model's verdict on an answer, against the set's reference.

A verdict that cannot be read is counted as `unparsable` and scores nothing; it is never left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import prompts
from eval.sets import Item

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

_VERDICT = re.compile(r"\b(incorrect|correct|partial(?:ly)?)\b", re.IGNORECASE)
UNPARSABLE = "unparsable"


def read_verdict(reply: str) -> str:
    """`correct`, `partial` or `incorrect`; `unparsable` where the reply names none of them, or several."""
    found = {match[1].lower().removesuffix("ly") for match in _VERDICT.finditer(reply)}
    return found.pop() if len(found) == 1 else UNPARSABLE


def make_judge(chat: BaseChatModel) -> Callable[[Item, Mapping[str, Any]], str | None]:
    """A judge for `RunOptions.judge`: None for a question with neither reference answer nor facts."""
    template = prompts.load("judge_answer")

    def judge(item: Item, answer: Mapping[str, Any]) -> str | None:
        reference = item.reference_answer or "; ".join(" or ".join(group) for group in item.facts)
        if not item.answerable:
            reference = "The papers do not say; a good answer says so."
        if not reference:
            return None
        prompt = template.render(question=item.question, reference=reference, answer=str(answer["answer"]))
        return read_verdict(str(chat.invoke(prompt).text))

    return judge
