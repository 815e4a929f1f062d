"""The conversation: asking, following up, stopping, and the list of earlier ones."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from rag.errors import AbstractQAError, StorageError
from rag.events import Token
from rag.types import Filters, Turn
from ui.conversations import Conversations
from ui.desk import Desk
from ui.exchange import Conversation, Exchange, new_exchange
from ui.html import exchange_html
from ui.overview import overview, welcome
from ui.rail import rail
from ui.text import Words
from ui.users import user_of

LOG = logging.getLogger("abstract_qa.ui")
DRAW_EVERY = 0.08
LONGEST_QUESTION = 20_000

Updates = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the page sends with a question. `replaces` is the exchange that is asked again, `alone` leaves history out.

    `drop` names a filter to take back.
    """

    text: str
    replaces: str | None = None
    alone: bool = False
    drop: str | None = None


class Chat:
    """What the chat page does, for any user and tab."""

    def __init__(self, desk: Desk, kept: Conversations, words: Words) -> None:
        self.desk = desk
        self.kept = kept
        self.words = words

    def welcome(self) -> str:
        """What stands where nothing has been asked yet."""
        return welcome(overview(self.desk.library), self.words)

    def shown(self, conversation: Conversation | None) -> tuple[str, str]:
        """HTML of the earlier exchanges, and of the last one or the welcome."""
        if conversation is None or not conversation.exchanges:
            return "", self.welcome()
        *earlier, last = (self._settled(exchange) for exchange in conversation.exchanges)
        before = "".join(exchange_html(exchange, self.words, last=False) for exchange in earlier)
        return before, exchange_html(last, self.words)

    def _drawn(self, conversation: Conversation) -> str:
        return "".join(exchange_html(one, self.words, last=False) for one in conversation.exchanges)

    def _settled(self, exchange: Exchange) -> Exchange:
        """An exchange that was never finished, because the server or the tab went away, or not yet, says so."""
        if exchange.state != "running":
            return exchange
        if exchange.exchange_id in self.kept.answering:
            return replace(exchange, error=self.words("elsewhere"))
        return exchange.ended("stopped", self.words("interrupted"))

    def listed(self, user: str, current: str | None, text: str = "") -> str:
        """HTML of the user's conversations."""
        return rail(self.kept.listed(user, text), current, self.words)

    def opened(self, user: str, conversation_id: str | None) -> tuple[str | None, str, str, str]:
        """Id, earlier exchanges, last one and list, for a conversation that is opened (or a new one)."""
        conversation = self.kept.load(user, conversation_id)
        known = conversation.conversation_id if conversation else None
        return (known, *self.shown(conversation), self.listed(user, known))

    def ask(
        self, asked: Asked, conversation_id: str | None, filters: Filters, k: int, request: gr.Request
    ) -> Iterator[tuple[str | None, str, str, str | None]]:
        """Answer a question: conversation id, earlier exchanges, current exchange, list (None: unchanged)."""
        text = asked.text.strip()[:LONGEST_QUESTION]
        user, owner = user_of(request), request.session_hash or ""
        conversation = self.kept.load(user, conversation_id)
        if conversation is None:
            conversation = self.kept.begin(user, text)
        sent = text
        if asked.replaces:
            if asked.drop:
                old = next((one for one in conversation.exchanges if one.exchange_id == asked.replaces), None)
                sent, filters = without(asked.drop, old, text, filters)
            conversation = conversation.until(asked.replaces)
        before = replace(conversation, exchanges=tuple(self._settled(exchange) for exchange in conversation.exchanges))
        history = () if asked.alone else before.history()
        exchange = new_exchange(text, filters, asked.alone)
        conversation = before.with_exchange(exchange)
        self.kept.answering.add(exchange.exchange_id)
        self.kept.save(user, conversation)
        earlier = self._drawn(before)
        known = conversation.conversation_id
        try:
            yield known, earlier, exchange_html(exchange, self.words), self.listed(user, known)
            for exchange in self._answered(exchange, sent, owner, history, k):  # noqa: B020 - the exchange as it grows
                yield known, earlier, exchange_html(exchange, self.words), None
        except GeneratorExit:
            exchange = exchange.ended("stopped")
            raise
        finally:
            if exchange.state == "running":
                exchange = exchange.ended("stopped")
            self.kept.answering.discard(exchange.exchange_id)
            self._kept(user, known, exchange)
        yield known, earlier, exchange_html(exchange, self.words), self.listed(user, known)

    def _kept(self, user: str, conversation_id: str, exchange: Exchange) -> None:
        """Keep what came of the question. Where that fails, as when the server ends, it counts as interrupted."""
        try:
            self.kept.put(user, conversation_id, exchange)
        except StorageError as error:
            LOG.warning("an answer was not kept: %s", error)

    def _answered(
        self, exchange: Exchange, sent: str, owner: str, history: Sequence[Turn], k: int
    ) -> Iterator[Exchange]:
        """The exchange after each event worth drawing; the last one is no longer running."""
        drawn = 0.0
        try:
            with self.desk.run(owner) as run:
                for event in self.desk.stream(run, sent, history, exchange.filters, k):
                    exchange = exchange.after(event)
                    if not self.desk.warmed.is_set() and exchange.stage == "waiting":
                        exchange = replace(exchange, stage="loading")
                    now = time.monotonic()
                    if isinstance(event, Token) and now - drawn < DRAW_EVERY:
                        continue
                    drawn = now
                    yield (
                        exchange
                        if exchange.state == "running" or not run.cancel.is_set()
                        else replace(exchange, state="stopped")
                    )
                if exchange.state == "running":
                    yield exchange.ended("stopped")
        except AbstractQAError as error:
            yield exchange.ended("failed", str(error))
        except Exception:
            LOG.exception("answering failed")
            yield exchange.ended("failed", self.words("failed"))


def without(drop: str, old: Exchange | None, text: str, filters: Filters) -> tuple[str, Filters]:
    """What to ask and under which filters once one filter ("venue" or "years") of `old` is taken back.

    The words that named it must not name it again, so what was searched is asked instead of what was typed.
    """
    if old is not None and old.question is not None:
        text, filters = old.question.search_text, old.question.filters
    if drop == "venue":
        return text, replace(filters, venue=None)
    return text, replace(filters, year_from=None, year_to=None)
