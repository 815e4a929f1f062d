"""The HTTP interface: ask, search, papers, reading files. See `docs/interfaces.md`."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from rag.answer_json import filters_json, paper_json, search_json, to_json
from rag.errors import AbstractQAError, GenerationError, InputError
from rag.events import Abstained, Done, Event, EvidenceFound, SentenceChecked, Sources, Stage, Token, Understood
from rag.papers.export import Format, export
from rag.types import Filters, Turn
from ui import schema
from ui.desk import Desk
from ui.errors import Admin, answers, error_response, refusals
from ui.streams import events
from ui.users import owner_of, user_of

Json = dict[str, Any]
TEXT: dict[int | str, Json] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
Venue = Annotated[str | None, Query(max_length=200)]
Year = Annotated[int | None, Query(ge=0, le=9999)]
SUFFIXES: dict[str, tuple[str, str]] = {
    "bibtex": ("bib", "application/x-bibtex"),
    "ris": ("ris", "application/x-research-info-systems"),
    "csv": ("csv", "text/csv"),
    "jsonl": ("jsonl", "application/jsonl"),
    "markdown": ("md", "text/markdown"),
}


def _number(value: object) -> object:
    """What is a number in JSON: neither a text that looks like one nor true and false."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError("has to be a number")
    return value


BodyYear = Annotated[int | None, Field(ge=0, le=9999), BeforeValidator(_number)]


class Message(BaseModel):
    """An earlier message."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=100_000)


class Restricted(BaseModel):
    """Filters, all optional."""

    model_config = ConfigDict(extra="forbid")
    venue: str | None = Field(None, max_length=200)
    year_from: BodyYear = None
    year_to: BodyYear = None

    def filters(self) -> Filters:
        """As the library takes them."""
        return Filters(self.venue or None, self.year_from, self.year_to)


class AskBody(Restricted):
    """A question."""

    question: str = Field(min_length=1, max_length=100_000)
    history: list[Message] = Field(default=[], max_length=200)
    k: Annotated[int | None, Field(ge=1, le=50), BeforeValidator(_number)] = None
    stream: StrictBool = False


class SearchBody(Restricted):
    """A search."""

    query: str = Field(min_length=1, max_length=100_000)
    k: Annotated[int, Field(ge=1, le=200), BeforeValidator(_number)] = 10


class IngestBody(BaseModel):
    """Files or folders on the server's machine."""

    model_config = ConfigDict(extra="forbid")
    paths: list[Annotated[str, Field(min_length=1, max_length=4096)]] = Field(min_length=1, max_length=100)


def event_json(event: Event) -> tuple[str, Json]:
    """Name and data of an event in a stream."""
    match event:
        case Stage(name, ahead):
            return "stage", {"stage": name, "ahead": ahead}
        case Understood(question):
            return "understood", {
                "standalone_question": question.standalone,
                "search_text": question.search_text,
                "kind": question.kind,
                "language": question.language,
                "filters": filters_json(question.filters),
                "notes": list(question.notes),
            }
        case Sources(passages):
            return "sources", search_json("", passages)
        case EvidenceFound(evidence):
            return "evidence", {
                "evidence": [
                    {
                        "rank": piece.n,
                        "paper_id": piece.paper_id,
                        "start": piece.span.start,
                        "end": piece.span.end,
                        "text": piece.span.text,
                    }
                    for piece in evidence
                ]
            }
        case Token(text):
            return "token", {"text": text}
        case SentenceChecked(sentence):
            return "sentence", {
                "text": sentence.text,
                "citations": list(sentence.citations),
                "support": sentence.support,
            }
        case Abstained(reason, nearest):
            return "abstained", {"reason": reason, **search_json("", nearest)}
        case Done(answer):
            return "answer", to_json(answer)


class Readings:
    """Files being read into the library on behalf of HTTP clients, by id."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._known: dict[str, Json] = {}

    def begin(self, paths: list[str]) -> str:
        """Start reading; what becomes of it is in `status`."""
        number = uuid.uuid4().hex
        self._known[number] = {"id": number, "state": "reading", "progress": None, "report": None, "error": None}
        threading.Thread(target=self._read, args=(number, [Path(path) for path in paths]), daemon=True).start()
        return number

    def status(self, number: str) -> Json | None:
        """Where it stands; None for an unknown id."""
        return self._known.get(number)

    def _read(self, number: str, paths: list[Path]) -> None:
        entry = self._known[number]

        def progress(now: Any) -> None:
            entry["progress"] = {"stage": now.stage, "done": now.done, "total": now.total, "file": Path(now.file).name}

        try:
            report = self._desk.library.ingest(paths, progress=progress)
            entry.update(state="done", report=report.to_json())
        except AbstractQAError as error:
            entry.update(state="failed", error=str(error))


def attachment(pieces: Any, name: str, format_name: str) -> Response:
    """Text to be saved as a file."""
    suffix, media = SUFFIXES[format_name]
    headers = {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}
    return StreamingResponse((piece.encode() for piece in pieces), media_type=media, headers=headers)


def router(desk: Desk) -> APIRouter:
    """All routes that need no user."""
    routes = APIRouter()
    readings = Readings(desk)
    refused, missing = (400, 401, 403, 413, 500, 503), (400, 401, 403, 404, 500, 503)

    @routes.post(
        "/api/ask",
        tags=["answers"],
        response_model=None,
        responses={
            200: {"model": schema.AnswerShape, "content": {"text/event-stream": {}}},
            **refusals(400, 401, 403, 413, 429, 500, 503),
        },
    )
    async def ask(body: AskBody, request: Request) -> Any:
        """The Answer; with `stream`, server-sent events that end with `answer` (or `error`)."""
        history = [Turn(message.role, message.content) for message in body.history]
        owner = owner_of(user_of(request), "http")
        stream = events(desk, body.question, history, body.filters(), body.k, request.is_disconnected, owner)
        if body.stream:
            return StreamingResponse(_sse(await begun(stream)), media_type="text/event-stream")
        async for event in stream:
            if isinstance(event, Done):
                return to_json(event.answer)
        raise GenerationError("The answer ended before it was complete; ask again.")

    @routes.post("/api/search", tags=["papers"], response_model=None, responses=answers(schema.SearchShape, *refused))
    def search_post(body: SearchBody) -> Json:
        """Papers by relevance, no model."""
        return search_json(body.query, desk.library.search(body.query, body.k, body.filters()))

    @routes.get("/api/search", tags=["papers"], response_model=None, responses=answers(schema.SearchShape, *refused))
    def search_get(
        q: Annotated[str, Query(min_length=1, max_length=20_000)],
        k: Annotated[int, Query(ge=1, le=200)] = 10,
        venue: Venue = None,
        year_from: Year = None,
        year_to: Year = None,
    ) -> Json:
        """Papers by relevance, no model."""
        return search_json(q, desk.library.search(q, k, Filters(venue or None, year_from, year_to)))

    @routes.get("/api/papers", tags=["papers"], response_model=None, responses=answers(schema.PapersShape, *refused))
    def papers(
        text: Annotated[str | None, Query(max_length=1000)] = None,
        venue: Venue = None,
        year_from: Year = None,
        year_to: Year = None,
        offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Json:
        """Papers in the order they came in, and how many match."""
        filters = Filters(venue or None, year_from, year_to)
        found = desk.library.papers(filters, text, offset=offset, limit=limit)
        return {"total": desk.library.count(filters, text), "offset": offset, "papers": [paper_json(p) for p in found]}

    @routes.get(
        "/api/papers/{paper_id:path}/similar",
        tags=["papers"],
        response_model=None,
        responses=answers(schema.SearchShape, *missing),
    )
    def similar(paper_id: str, k: Annotated[int, Query(ge=1, le=50)] = 5) -> Any:
        """Papers like this one."""
        return _known(lambda: search_json("", desk.library.similar(paper_id, k)))

    @routes.get(
        "/api/papers/{paper_id:path}/export",
        tags=["papers"],
        response_class=Response,
        response_model=None,
        responses=TEXT | refusals(*missing),
    )
    def export_paper(paper_id: str, format: Format = "bibtex") -> Any:  # noqa: A002 - the parameter's public name
        """The paper as BibTeX, RIS, CSV, JSON lines or Markdown."""
        return _known(lambda: PlainTextResponse("".join(export([desk.library.paper(paper_id)], format))))

    @routes.get(
        "/api/papers/{paper_id:path}",
        tags=["papers"],
        response_model=None,
        responses=answers(schema.PaperShape, *missing),
    )
    def paper(paper_id: str) -> Any:
        """One paper by id, DOI, arXiv id, exact title or FILE#POSITION."""
        return _known(lambda: paper_json(desk.library.paper(paper_id)))

    @routes.post(
        "/api/ingest",
        tags=["papers"],
        status_code=202,
        response_model=None,
        dependencies=[Admin],
        responses=answers(schema.BegunShape, *refused, status=202),
    )
    def ingest(body: IngestBody) -> Json:
        """Start reading files of the server's machine; ask `/api/ingest/{id}` how it goes. For admins."""
        number = readings.begin(body.paths)
        return {"id": number, "status": f"/api/ingest/{number}"}

    @routes.get(
        "/api/ingest/{number}",
        tags=["papers"],
        response_model=None,
        dependencies=[Admin],
        responses=answers(schema.ReadingShape, *missing),
    )
    def ingest_status(number: str) -> Any:
        """State (reading, done, failed), progress and, at the end, the report. For admins."""
        return readings.status(number) or error_response(InputError(f"No reading is known as {number!r}."), 404)

    return routes


def _known(make: Any) -> Any:
    try:
        return make()
    except InputError as error:
        return error_response(error, 404)


async def begun(stream: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """The stream once its first event is there, so that what refuses the question is told by the status."""
    try:
        first = await anext(stream)
    except StopAsyncIteration:
        raise GenerationError("The answer ended before it began; ask again.") from None

    async def all_of_it() -> AsyncIterator[Event]:
        yield first
        async for event in stream:
            yield event

    return all_of_it()


async def _sse(stream: AsyncIterator[Event]) -> AsyncIterator[str]:
    try:
        async for event in stream:
            name, data = event_json(event)
            yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
    except AbstractQAError as error:
        data = {"type": type(error).__name__, "message": str(error)}
        yield f"event: error\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
