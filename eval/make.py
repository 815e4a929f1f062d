"""Drafts of question sets: from a library's own sentences, and from answers that users rated.

A draft is a start for a person to correct, and says so: each of its questions has `"machine_made": true` or
`"from_feedback"`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import prompts
from eval.sets import Item
from rag.errors import InputError
from rag.texts.text import split_sentences
from rag.types import Answer, Filters, Paper, Span, Turn

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*\s?%?")
_CLAIM = re.compile(r"\b(propose|introduce|present|show|find|achieve|outperform|demonstrate|prove)", re.IGNORECASE)
_OWN = re.compile(r"^(?:in this (?:paper|work),?\s*)?we\s+(?:also\s+|further\s+)?", re.IGNORECASE)
_SHORTEST, _LONGEST = 40, 260


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer that a user rated, with the conversation before it."""

    id: str
    answer: Answer
    rating: Literal["up", "down"]
    history: tuple[Turn, ...] = ()
    filters: Filters = Filters()  # noqa: RUF009 - frozen


def draft(
    papers: Sequence[Paper],
    count: int,
    seed: int = 0,
    chat: BaseChatModel | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Item, ...]:
    """Up to `count` questions, one per paper drawn at random, each from the paper's most telling sentence.

    Without `chat` a question asks which paper says it, in nearly the sentence's words: easy for any lexical search,
    fit to see that a library works and to compare runs. With it, the model writes the question. Numbers in the sentence
    become facts. `progress(done, total)`. Raises InputError where no paper has a usable sentence.
    """
    order = list(papers)
    random.Random(seed).shuffle(order)
    items: list[Item] = []
    for paper in order:
        if len(items) == count:
            break
        sentence = telling_sentence(paper)
        if sentence is not None and (item := _item(paper, sentence, len(items) + 1, chat)) is not None:
            items.append(item)
            if progress is not None:
                progress(len(items), count)
    if not items:
        raise InputError("No paper of the library has an abstract to draft a question from; ingest some first.")
    return tuple(items)


def telling_sentence(paper: Paper) -> Span | None:
    """The sentence that says most of what the paper did: a claim, with a figure, the first of equals; None for none."""
    spans = [span for span in split_sentences(paper.abstract) if _SHORTEST <= len(span.text) <= _LONGEST]
    return max(spans, key=lambda span: (_telling(span.text), -span.start), default=None)


def from_feedback(rated: Iterable[Rated]) -> tuple[Item, ...]:
    """A set from rated answers. Raises InputError where there are none.

    An answer liked gives its cited papers as relevant and its text as reference (a refusal liked: an unanswerable
    question). An answer disliked gives the question alone, marked `"needs_review"`, for a person to fill in. Of several
    ratings of one question in one conversation the last counts.
    """
    items: dict[tuple[str, tuple[Turn, ...], Filters], Item] = {}
    for entry in rated:
        answer = entry.answer
        refused = answer.status == "abstained"
        liked = entry.rating == "up"
        text = answer.question.text
        extra: dict[str, object] = {"from_feedback": entry.rating}
        items[text, entry.history, entry.filters] = Item(
            id=f"feedback-{entry.id}",
            question=text,
            kind=answer.question.kind,
            history=entry.history,
            filters=entry.filters,
            relevant=tuple(citation.paper.paper_id for citation in answer.citations) if liked else (),
            answerable=not (liked and refused),
            reference_answer=answer.text if liked and not refused else None,
            extra=extra if liked else extra | {"needs_review": True},
        )
    if not items:
        raise InputError("No answer was rated yet; rate some in the browser first.")
    return tuple(items.values())


def _telling(sentence: str) -> int:
    return 2 * bool(_CLAIM.search(sentence)) + bool(_NUMBER.search(sentence))


def _item(paper: Paper, sentence: Span, place: int, chat: BaseChatModel | None) -> Item | None:
    text = " ".join(sentence.text.split())
    if chat is None:
        claim = _OWN.sub("", text).rstrip(".")
        own = claim != text.rstrip(".")
        question = f"Which paper’s authors {claim}?" if own else f"Which paper says that {claim[0].lower()}{claim[1:]}?"
    else:
        reply = str(chat.invoke(prompts.load("draft_question").render(title=paper.title, sentence=text)).text).strip()
        question = reply.splitlines()[0].strip().strip('"“”') if reply else ""
        if not question.endswith("?"):
            return None  # no question: the next paper is tried
    numbers = dict.fromkeys(match[0].strip() for match in _NUMBER.finditer(text)) if chat is not None else {}
    return Item(
        id=f"draft-{place:03d}",
        question=question,
        kind="which" if chat is None else "fact",
        relevant=(paper.paper_id,),
        facts=tuple((number,) for number in numbers),
        extra={
            "machine_made": True,
            "source": {"paper_id": paper.paper_id, "start": sentence.start, "end": sentence.end},
        },
    )
