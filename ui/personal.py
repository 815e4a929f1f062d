"""HTTP routes for what belongs to a user: conversations and ratings. Another user's are as if they did not exist."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, Field

from rag.answer_json import to_json
from rag.errors import InputError
from rag.papers.export import Format, conversation_markdown, export
from ui import feedback, schema
from ui.api import SUFFIXES, TEXT, attachment
from ui.conversations import Conversations
from ui.desk import Desk
from ui.errors import answers, error_response, refusals
from ui.exchange import Conversation, Exchange
from ui.users import user_of


class FeedbackBody(BaseModel):
    """A rating of an answer."""

    rating: Literal["up", "down"]
    reason: str = Field("", max_length=feedback.LONGEST_REASON)


class TitleBody(BaseModel):
    """A conversation's new title."""

    title: str = Field(min_length=1, max_length=400)


def router(desk: Desk, kept: Conversations) -> APIRouter:
    """Routes under /api/conversations and /api/exchanges."""
    routes = APIRouter(prefix="/api", tags=["conversations"], responses=refusals(400, 401, 403, 404, 413, 500, 503))
    as_file: dict[int | str, dict[str, Any]] = {
        200: {"content": {media: {"schema": {"type": "string"}} for _, media in SUFFIXES.values()}}
    }

    @routes.get("/conversations", response_model=None, responses=answers(schema.ConversationsShape))
    def listed(request: Request, text: Annotated[str, Query(max_length=1000)] = "") -> dict[str, Any]:
        """The user's conversations, last changed first."""
        found = kept.listed(user_of(request), text)
        return {"conversations": [{"id": c.conversation_id, "title": c.title, "changed": c.changed} for c in found]}

    @routes.get("/conversations/{conversation_id}", response_model=None, responses=answers(schema.ConversationShape))
    def one(conversation_id: str, request: Request) -> Any:
        """All questions of a conversation with their answers."""
        found = kept.load(user_of(request), conversation_id)
        if found is None:
            return _unknown()
        exchanges = [
            {
                "id": e.exchange_id,
                "question": e.text,
                "asked": e.asked,
                "state": e.state,
                "rating": e.rating,
                "answer": to_json(e.answer) if e.answer else None,
            }
            for e in found.exchanges
        ]
        return {"id": found.conversation_id, "title": found.title, "exchanges": exchanges}

    @routes.patch("/conversations/{conversation_id}", response_model=None, responses=answers(schema.RenamedShape))
    def rename(conversation_id: str, body: TitleBody, request: Request) -> Any:
        """Rename a conversation."""
        return {"renamed": True} if kept.rename(user_of(request), conversation_id, body.title) else _unknown()

    @routes.delete("/conversations/{conversation_id}", response_model=None, responses=answers(schema.DeletedShape))
    def delete(conversation_id: str, request: Request) -> Any:
        """Delete a conversation."""
        return {"deleted": True} if kept.delete(user_of(request), conversation_id) else _unknown()

    @routes.get(
        "/conversations/{conversation_id}/export", response_model=None, response_class=Response, responses=as_file
    )
    def exported(conversation_id: str, request: Request) -> Any:
        """The conversation as Markdown."""
        found = kept.load(user_of(request), conversation_id)
        if found is None:
            return _unknown()
        return attachment([conversation_markdown(_answered(found), found.title)], "conversation", "markdown")

    @routes.get(
        "/conversations/{conversation_id}/sources", response_model=None, response_class=Response, responses=as_file
    )
    def sources(conversation_id: str, request: Request, format: Format = "bibtex") -> Any:  # noqa: A002
        """The papers that the conversation cites."""
        found = kept.load(user_of(request), conversation_id)
        if found is None:
            return _unknown()
        papers = {c.paper.paper_id: c.paper for e in found.exchanges if e.answer for c in e.answer.citations}
        return attachment(export(papers.values(), format), "sources", format)

    @routes.get("/exchanges/{exchange_id}/export", response_model=None, response_class=Response, responses=TEXT)
    def answer_text(exchange_id: str, request: Request) -> Any:
        """One answer as Markdown with its sources."""
        found = kept.find(user_of(request), exchange_id)
        if found is None or found[1].answer is None:
            return _unknown()
        exchange = found[1]
        return PlainTextResponse(conversation_markdown(_answered(Conversation("", "", (exchange,))), exchange.text))

    @routes.post("/exchanges/{exchange_id}/feedback", response_model=None, responses=answers(schema.RatedShape))
    def rate(exchange_id: str, body: FeedbackBody, request: Request) -> Any:
        """Rate an answer; it is kept with the rating."""
        user = user_of(request)
        found = kept.find(user, exchange_id)
        if found is None or found[1].answer is None:
            return _unknown()
        conversation_id, exchange = found
        conversation = kept.load(user, conversation_id)
        history = conversation.until(exchange_id).history() if conversation and not exchange.alone else ()
        home = desk.library.settings.home
        feedback.note(home, user, conversation_id, exchange, history, body.rating, body.reason)
        kept.put(user, conversation_id, replace(exchange, rating=body.rating))
        return {"rating": body.rating}

    return routes


def _answered(conversation: Conversation) -> list[tuple[str, Any]]:
    return [(exchange.text, exchange.answer) for exchange in conversation.exchanges if _has_answer(exchange)]


def _has_answer(exchange: Exchange) -> bool:
    return exchange.answer is not None


def _unknown() -> Any:
    return error_response(InputError("There is no such conversation or answer."), 404)
