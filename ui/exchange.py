"""One question and what came of it, as the page shows it and as it is kept: built from the events of an answer."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import TypeAdapter

from rag.events import (
    Abstained,
    Done,
    Event,
    EvidenceFound,
    SentenceChecked,
    Sources,
    Stage,
    StageName,
    Token,
    Understood,
)
from rag.types import Answer, AnswerSentence, Evidence, Filters, Paper, Question, RankedPaper, Turn

State = Literal["running", "done", "stopped", "failed"]
Rating = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer so far; complete once `answer` is there.

    `filters` are those chosen beside the question. `draft` is what the model has written since the last sentence that
    was checked. `ahead` questions are answered by the model before this one. `error` is a sentence for the user.
    `alone` says that the conversation before was not regarded.
    """

    exchange_id: str
    text: str
    asked: str
    filters: Filters = Filters()  # noqa: RUF009 - frozen
    alone: bool = False
    state: State = "running"
    stage: StageName | Literal["loading"] = "understanding"
    ahead: int = 0
    question: Question | None = None
    passages: tuple[RankedPaper, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    sentences: tuple[AnswerSentence, ...] = ()
    draft: str = ""
    reason: str | None = None
    answer: Answer | None = None
    error: str | None = None
    rating: Rating | None = None

    def after(self, event: Event) -> Exchange:
        """The exchange once `event` has happened."""
        match event:
            case Stage(name, ahead):
                return replace(self, stage=name, ahead=ahead)
            case Understood(question):
                return replace(self, question=question)
            case Sources(passages):
                return replace(self, passages=passages)
            case EvidenceFound(evidence):
                return replace(self, evidence=evidence)
            case Token(text):
                return replace(self, draft=self.draft + text)
            case SentenceChecked(sentence):
                return replace(self, sentences=(*self.sentences, sentence), draft="")
            case Abstained(reason, nearest):
                return replace(self, reason=reason, passages=nearest, sentences=(), draft="")
            case Done(answer):
                return replace(
                    self,
                    state="done",
                    answer=answer,
                    question=answer.question,
                    passages=answer.nearest or answer.passages,
                    sentences=answer.sentences,
                    evidence=(),
                    draft="",
                )

    def ended(self, state: State, error: str | None = None) -> Exchange:
        """The exchange that stopped before it was complete."""
        return replace(self, state=state, error=error, draft="")

    @property
    def numbers(self) -> dict[str, int]:
        """Citation number of each cited paper, by paper id."""
        if self.answer is not None:
            return {citation.paper.paper_id: citation.n for citation in self.answer.citations}
        return {piece.paper_id: piece.n for sentence in self.sentences for piece in sentence.evidence}

    @property
    def papers(self) -> dict[str, Paper]:
        """Every paper of the exchange by its id, cited ones first in order of number, then by rank."""
        numbers = self.numbers
        found = {passage.paper.paper_id: passage.paper for passage in self.passages}
        if self.answer is not None:
            found |= {citation.paper.paper_id: citation.paper for citation in self.answer.citations}
        return dict(sorted(found.items(), key=lambda item: numbers.get(item[0], len(numbers) + 1)))

    @property
    def abstained(self) -> bool:
        """Whether the library does not hold the answer."""
        return self.reason is not None or (self.answer is not None and self.answer.status == "abstained")

    def turns(self) -> tuple[Turn, ...]:
        """The exchange as history for the next question; empty where there is no answer."""
        if self.answer is None:
            return ()
        return Turn("user", self.text), Turn("assistant", self.answer.text)


def new_exchange(text: str, filters: Filters, alone: bool = False) -> Exchange:
    """An exchange that begins now."""
    return Exchange(uuid.uuid4().hex[:12], text, datetime.now(UTC).isoformat(timespec="seconds"), filters, alone)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Exchanges that belong together. `title` is the first question unless it was renamed."""

    conversation_id: str
    title: str
    exchanges: tuple[Exchange, ...] = field(default=())

    def with_exchange(self, exchange: Exchange) -> Conversation:
        """The conversation with the exchange added, or in the place of the one with its id."""
        kept = [exchange if old.exchange_id == exchange.exchange_id else old for old in self.exchanges]
        if all(old.exchange_id != exchange.exchange_id for old in self.exchanges):
            kept.append(exchange)
        return replace(self, exchanges=tuple(kept))

    def until(self, exchange_id: str) -> Conversation:
        """The conversation before the exchange with this id: asking again replaces it and what followed."""
        place = next((i for i, old in enumerate(self.exchanges) if old.exchange_id == exchange_id), None)
        return self if place is None else replace(self, exchanges=self.exchanges[:place])

    def history(self) -> tuple[Turn, ...]:
        """All answered exchanges as turns."""
        return tuple(turn for exchange in self.exchanges for turn in exchange.turns())


EXCHANGE = TypeAdapter(Exchange)
