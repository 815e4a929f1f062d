"""The shape of OpenAI's chat completions, so that any chat client can ask this library.

The answer's text carries `[n]` and a list of references; the same as data is in the field `citations` of the choice's
message (of the last chunk's delta when streamed), and the whole Answer in `abstract_qa`.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field, StrictBool

from rag.answer_json import to_json
from rag.errors import AbstractQAError, GenerationError
from rag.events import Abstained, Done, Event, SentenceChecked
from rag.types import Answer, AnswerSentence, Filters, Turn
from ui import schema
from ui.api import begun
from ui.desk import Desk
from ui.errors import answers, headers_of, refusals, status_of
from ui.streams import events
from ui.users import owner_of, user_of

MODEL = "abstract-qa"
LONGEST = 100_000  # characters of a message, as for /api/ask


class Part(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: str = Field("", max_length=LONGEST)


class ChatMessage(BaseModel):
    """A message. System messages are accepted and left aside: the library's own rules stand."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    # A length makes pydantic look at the text, and refuse what is no Unicode.
    content: Annotated[str, Field(max_length=LONGEST)] | list[Part] | None = None

    def text(self) -> str:
        """Its text."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class ChatBody(BaseModel):
    """A request for a completion; fields that do not concern this library are left aside."""

    model: str = MODEL
    messages: list[ChatMessage] = Field(min_length=1, max_length=400)
    stream: StrictBool = False


def router(desk: Desk) -> APIRouter:
    """Routes under /v1."""
    routes = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])

    @routes.get("/models", response_model=None, responses=answers(schema.ModelsShape, 401))
    def models() -> dict[str, Any]:
        """The one model there is: this library."""
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}]}

    @routes.post(
        "/chat/completions",
        response_model=None,
        responses={
            200: {"model": schema.CompletionShape, "content": {"text/event-stream": {}}},
            **refusals(400, 401, 403, 413, 429, 500, 503),
        },
    )
    async def complete(body: ChatBody, request: Request) -> Any:
        """An answer to the last user message, with those before it as history."""
        said = [message for message in body.messages if message.role in ("user", "assistant")]
        if not said or said[-1].role != "user":
            return _error("The last message has to be the user's question.", 400)
        history = [Turn("user" if m.role == "user" else "assistant", m.text()) for m in said[:-1]]
        owner = owner_of(user_of(request), "openai")
        stream = events(desk, said[-1].text(), history, Filters(), None, request.is_disconnected, owner)
        try:
            if body.stream:
                return StreamingResponse(_chunks(await begun(stream)), media_type="text/event-stream")
            async for event in stream:
                if isinstance(event, Done):
                    return _completion(event.answer)
            raise GenerationError("The answer ended before it was complete; ask again.")
        except AbstractQAError as error:
            return _error(str(error), status_of(error), error)

    return routes


def text_of(answer: Answer) -> str:
    """The answer with its references below it."""
    return answer.text + references(answer)


def references(answer: Answer) -> str:
    """The list of cited papers as Markdown; empty where none is cited."""
    lines = []
    for citation in answer.citations:
        paper = citation.paper
        where = ", ".join(str(part) for part in (paper.venue, paper.year) if part)
        lines.append(
            f"[{citation.n}] {paper.title}{f' ({where})' if where else ''}{f' {paper.url}' if paper.url else ''}"
        )
    return "\n\n" + "\n".join(lines) if lines else ""


def _extra(answer: Answer) -> dict[str, Any]:
    whole = to_json(answer)
    return {"citations": whole["citations"], "abstract_qa": whole}


def _head(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": MODEL}


def _completion(answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": text_of(answer), **_extra(answer)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {
        **_head("chat.completion"),
        "choices": [choice],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def _sentence(sentence: AnswerSentence) -> str:
    from rag.answering.compose import cited

    return cited(sentence)


async def _chunks(stream: AsyncIterator[Event]) -> AsyncIterator[str]:
    """Checked sentences as they come; what is not yet checked is never sent."""
    head = _head("chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return f"data: {json.dumps({**head, 'choices': [choice]}, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    sent: list[str] = []
    try:
        async for event in stream:
            match event:
                case SentenceChecked(sentence):
                    text = (" " if sent else "") + _sentence(sentence)
                    sent.append(text)
                    yield chunk({"content": text})
                case Abstained(reason, _):
                    sent.append(reason)
                    yield chunk({"content": reason})
                case Done(answer):
                    # What was sent sentence by sentence stands where it is the answer; else the rest is added.
                    already = "".join(sent)
                    rest = answer.text[len(already) :] if answer.text.startswith(already) else ""
                    yield chunk({"content": rest + references(answer), **_extra(answer)})
                    yield chunk({}, "stop")
                case _:
                    pass
    except AbstractQAError as error:
        yield f"data: {json.dumps({'error': {'message': str(error), 'type': type(error).__name__}})}\n\n"
    yield "data: [DONE]\n\n"


def _error(message: str, status: int, error: AbstractQAError | None = None) -> JSONResponse:
    """An error in OpenAI's shape, whose clients wait and ask again after 429 and 503."""
    kind = {400: "invalid_request_error", 429: "rate_limit_error"}.get(status, "server_error")
    return JSONResponse(
        {"error": {"message": message, "type": kind, "code": None, "param": None}},
        status_code=status,
        headers=headers_of(error) if error else None,
    )
