"""The values that travel through the program. Frozen, without input or output of their own.

Reading goes `Record` -> `Paper` -> `Chunk`; answering goes `Question` -> `RankedPaper` -> `Evidence`
-> `AnswerSentence` -> `Answer`. Offsets are always character offsets into `Paper.abstract`, so that
`paper.abstract[start:end] == text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

Support = Literal["supported", "partial", "unsupported"]
Kind = Literal["fact", "which", "list", "count", "overview", "compare"]
Status = Literal["answered", "abstained"]
# The kinds that are answered from the whole library at once.
LISTS: frozenset[Kind] = frozenset({"list", "count", "overview"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where a paper was read: the file's full path (`-` for standard input) and its 1-based place in it."""

    path: str
    position: int

    @property
    def locator(self) -> str:
        """`FILE#POSITION` with the file's name only, as people and question sets write it."""
        return f"{PurePath(self.path).name}#{self.position}"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry as a reader found it, text already made right, identity not yet decided.

    `title` is None where the file gives none; `abstract` is empty where it gives none.
    `own_id` is the identifier a file of this project's own JSONL states, else None.
    `extra` keeps every further field of the entry under its name in the file.
    """

    source: Source
    title: str | None
    abstract: str
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    url: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    pmid: str | None = None
    openreview_id: str | None = None
    keywords: tuple[str, ...] = ()
    own_id: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    """An entry or a file that could not be read. `line` is 1-based, None where the whole file is meant."""

    file: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper of the library, however many files named it.

    `title` is the paper's title, or a label made from its abstract when `titled` is False.
    `aliases` are other identifiers under which it may be asked for (own ids of merged entries).
    `sources` are all places it was read from, first one first.
    """

    paper_id: str
    title: str
    abstract: str
    titled: bool = True
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    url: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    pmid: str | None = None
    openreview_id: str | None = None
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def where(self) -> str:
        """Venue and year as people write them, "ICLR 2024"; the year once where the venue has it; may be empty."""
        parts = [self.venue] if self.venue else []
        if self.year and str(self.year) not in (self.venue or ""):
            parts.append(str(self.year))
        return " ".join(parts)

    @property
    def locator(self) -> str | None:
        """`FILE#POSITION` of the first place it was read from; None for a paper that came from no file."""
        return self.sources[0].locator if self.sources else None


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: `text == whole[start:end]`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a paper that fits the embedder. `embed_text` is what is embedded (title and piece)."""

    paper_id: str
    ordinal: int
    span: Span
    embed_text: str


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrict to a venue (matched without case, as a part of the paper's venue) and to years, both ends in.

    None means no restriction.
    """

    venue: str | None = None
    year_from: int | None = None
    year_to: int | None = None

    def __bool__(self) -> bool:
        return self != Filters()


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question as understood: what was typed, and what is searched.

    `standalone` is the question without need of the history, in the language it was asked in;
    `search_text` is what the indexes see, in English. `language` is an ISO 639-1 code.
    `parts` holds one search text per side of a comparison, else is empty.
    `notes` says in plain sentences what was changed, for the user to see. `settled` is False where rules alone were
    used and a model may understand it better.
    """

    text: str
    standalone: str
    search_text: str
    kind: Kind = "fact"
    filters: Filters = Filters()
    language: str = "en"
    parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    settled: bool = True


@dataclass(frozen=True, slots=True)
class RankedPaper:
    """A paper found for a question. `rank` counts from 1; `score` grows with relevance and has no fixed scale.

    `relevance` is calibrated: the estimated probability, 0 to 1, that the paper bears on the question.
    `quote` is its most telling sentence for the question (the whole title where it has no abstract).
    """

    rank: int
    paper: Paper
    score: float
    relevance: float
    quote: Span


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of a paper that bears on the question. `n` is its paper's number in the answer."""

    n: int
    paper_id: str
    span: Span
    score: float


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """One sentence of an answer with the numbers it cites, its verdict and the evidence for it."""

    text: str
    citations: tuple[int, ...]
    support: Support
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A cited paper. `quote` is the sentence of its abstract that carries the (first) claim citing it."""

    n: int
    paper: Paper
    quote: str


@dataclass(frozen=True, slots=True)
class Match:
    """A paper that belongs in the answer to a list question, with the sentence that says so."""

    paper: Paper
    relevance: float
    quote: Span


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds from the moment the question was received; None where the step did not happen."""

    understand: float
    retrieve: float
    first_source: float | None
    first_token: float | None
    total: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. `matches` and `total_matches` are for list questions only (None elsewhere).

    `notes` says in plain sentences what the user should know of how it was made, such as that it was cut short.
    """

    question: Question
    status: Status
    text: str
    sentences: tuple[AnswerSentence, ...]
    citations: tuple[Citation, ...]
    passages: tuple[RankedPaper, ...]
    timings: Timings
    model: Mapping[str, str | int | float | bool | None]
    settings: str
    matches: tuple[Match, ...] | None = None
    nearest: tuple[RankedPaper, ...] = field(default=())
    notes: tuple[str, ...] = ()

    @property
    def total_matches(self) -> int | None:
        """How many papers match a list question; None for other kinds."""
        return None if self.matches is None else len(self.matches)
