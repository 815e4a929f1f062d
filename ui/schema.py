"""The shapes that the HTTP interface answers with, for its OpenAPI description: those of `rag.answer_json`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from rag.types import Kind, Status, Support


class SpanShape(BaseModel):
    """`text` is `abstract[start:end]`."""

    start: int
    end: int
    text: str


class EvidenceShape(SpanShape):
    """`n` is the number of the citation it belongs to."""

    n: int


class SentenceShape(BaseModel):
    """One sentence of an answer."""

    text: str
    citations: list[int]
    support: Support
    evidence: list[EvidenceShape]


class CitationShape(BaseModel):
    """A cited paper."""

    n: int
    paper_id: str
    locator: str | None
    title: str
    authors: list[str]
    venue: str | None
    year: int | None
    url: str | None
    quote: str


class PassageShape(BaseModel):
    """A paper that was found."""

    rank: int
    paper_id: str
    locator: str | None
    title: str
    score: float
    relevance: float
    text: str
    quote: SpanShape


class MatchShape(BaseModel):
    """A paper in the answer to a list question."""

    paper_id: str
    locator: str | None
    title: str
    venue: str | None
    year: int | None
    relevance: float
    quote: SpanShape


class FiltersShape(BaseModel):
    """Restrictions; null is none."""

    venue: str | None
    year_from: int | None
    year_to: int | None


class TimingsShape(BaseModel):
    """Milliseconds since the question came in."""

    understand: float
    retrieve: float
    first_source: float
    first_token: float
    total: float


class AnswerShape(BaseModel):
    """A complete answer, as `ask --json` prints it."""

    question: str
    standalone_question: str
    search_text: str
    kind: Kind
    language: str
    filters: FiltersShape
    notes: list[str]
    status: Status
    answer: str = Field(description="Markdown with [n]")
    sentences: list[SentenceShape]
    citations: list[CitationShape]
    passages: list[PassageShape]
    nearest: list[PassageShape]
    total_matches: int | None
    matches: list[MatchShape] | None
    timings_ms: TimingsShape
    model: dict[str, Any]
    settings: str


class FoundShape(BaseModel):
    """A paper in a search's result."""

    rank: int
    paper_id: str
    locator: str | None
    title: str
    venue: str | None
    year: int | None
    url: str | None
    score: float
    quote: str


class SearchShape(BaseModel):
    """Papers by relevance."""

    query: str
    papers: list[FoundShape]


class SourceShape(BaseModel):
    """A place a paper was read from."""

    path: str
    position: int


class PaperShape(BaseModel):
    """Everything known of a paper."""

    paper_id: str
    title: str
    titled: bool
    abstract: str
    authors: list[str]
    venue: str | None
    year: int | None
    url: str | None
    doi: str | None
    arxiv_id: str | None
    pmid: str | None
    openreview_id: str | None
    keywords: list[str]
    aliases: list[str]
    locator: str | None
    sources: list[SourceShape]
    extra: dict[str, str]


class PapersShape(BaseModel):
    """A page of the library."""

    total: int
    offset: int
    papers: list[PaperShape]


class BegunShape(BaseModel):
    """A reading that has begun, and where to ask how it goes."""

    id: str
    status: str


class ReadingShape(BaseModel):
    """How a reading goes; `report` at the end is that of `ingest --json`."""

    id: str
    state: Literal["reading", "done", "failed"]
    progress: dict[str, Any] | None
    report: dict[str, Any] | None
    error: str | None


class ConversationSummary(BaseModel):
    """A conversation in the list; `changed` in seconds since 1970."""

    id: str
    title: str
    changed: float


class ConversationsShape(BaseModel):
    """The user's conversations."""

    conversations: list[ConversationSummary]


class ExchangeShape(BaseModel):
    """A question of a conversation with its answer."""

    id: str
    question: str
    asked: float | str
    state: str
    rating: Literal["up", "down"] | None
    answer: AnswerShape | None


class ConversationShape(BaseModel):
    """A conversation."""

    id: str
    title: str
    exchanges: list[ExchangeShape]


class RenamedShape(BaseModel):
    """Done."""

    renamed: bool


class DeletedShape(BaseModel):
    """Done."""

    deleted: bool


class RatedShape(BaseModel):
    """The rating as it is kept."""

    rating: Literal["up", "down"]


class ModelShape(BaseModel):
    """A model in OpenAI's list."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelsShape(BaseModel):
    """OpenAI's list of models."""

    object: Literal["list"]
    data: list[ModelShape]


class ChoiceMessage(BaseModel):
    """The answer with its references; the same as data in `citations`, all of it in `abstract_qa`."""

    role: Literal["assistant"]
    content: str
    citations: list[CitationShape]
    abstract_qa: AnswerShape


class Choice(BaseModel):
    """The one answer there is."""

    index: int
    message: ChoiceMessage
    finish_reason: Literal["stop"]
    logprobs: None = None


class Usage(BaseModel):
    """Tokens are not counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionShape(BaseModel):
    """OpenAI's completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
