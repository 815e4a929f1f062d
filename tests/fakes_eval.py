"""A library for the evaluation's tests that answers what it is told to, and a run over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag.settings import Settings
from rag.types import (
    Answer,
    AnswerSentence,
    Citation,
    Evidence,
    Filters,
    Paper,
    Question,
    RankedPaper,
    Span,
    Timings,
    Turn,
)

TOPICS = ("glaciers", "bees", "bridges", "violins", "yeast", "tides", "kites", "salt", "moss", "clocks")


def make_paper(place: int) -> Paper:
    """An invented paper about the topic at `place`."""
    topic = TOPICS[place % len(TOPICS)]
    abstract = f"We study {topic} number {place}. Our method for {topic} reaches {place + 10}% accuracy. It is cheap."
    return Paper(f"p{place}", f"On {topic} {place}", abstract, doi=f"10.1/{place}")


def span_of(paper: Paper, text: str) -> Span:
    start = paper.abstract.index(text)
    return Span(start, start + len(text), text)


def ranked(papers: Sequence[Paper], relevance: float = 0.9) -> tuple[RankedPaper, ...]:
    return tuple(
        RankedPaper(rank, paper, 1 / rank, relevance / rank, Span(0, len(paper.title), paper.title))
        for rank, paper in enumerate(papers, start=1)
    )


def make_answer(
    question: Question,
    passages: Sequence[Paper],
    cited: Sequence[Paper] = (),
    text: str = "It is cheap.",
    relevance: float = 0.9,
) -> Answer:
    """An answer of one sentence per cited paper; a refusal where none is cited."""
    sentences, citations = [], []
    for n, paper in enumerate(cited, start=1):
        evidence = Evidence(n, paper.paper_id, span_of(paper, "It is cheap."), 0.8)
        sentences.append(AnswerSentence(text, (n,), "supported", (evidence,)))
        citations.append(Citation(n, paper, "It is cheap."))
    said = " ".join(f"{text} [{c.n}]" for c in citations) or "The papers do not say."
    return Answer(
        question=question,
        status="answered" if cited else "abstained",
        text=said,
        sentences=tuple(sentences),
        citations=tuple(citations),
        passages=ranked(passages, relevance),
        timings=Timings(1.0, 2.0, 3.0, 4.0 if cited else None, 10.0),
        model={"name": "fake"},
        settings="settings",
    )


@dataclass
class FakeIndex:
    """Papers found by id, DOI and exact title."""

    papers: list[Paper] = field(default_factory=lambda: [make_paper(place) for place in range(30)])
    manifest: Mapping[str, str] = field(default_factory=lambda: {"papers": "30"})

    def find(self, reference: str) -> Paper | None:
        return next((p for p in self.papers if reference in (p.paper_id, p.doi, p.title)), None)


@dataclass
class FakeSearcher:
    """Ranks papers by shared words, then by place; `calls` holds the questions of each call."""

    index: FakeIndex
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def _rank(self, text: str, k: int) -> tuple[RankedPaper, ...]:
        words = set(text.lower().rstrip("?").split())
        order = sorted(self.index.papers, key=lambda paper: -len(words & set(paper.title.lower().split())))
        best = len(words & set(order[0].title.lower().split()))
        return ranked(order[:k], min(1.0, 0.1 + best / 3))

    def search(self, question: Question | str, k: int, filters: Filters = Filters()) -> tuple[RankedPaper, ...]:  # noqa: B008
        text = question if isinstance(question, str) else question.search_text
        self.calls.append((text,))
        return self._rank(text, k)

    def search_many(self, questions: Sequence[Question], k: int) -> list[tuple[RankedPaper, ...]]:
        self.calls.append(tuple(question.search_text for question in questions))
        if any("explode" in question.search_text for question in questions):
            raise RuntimeError("no")
        return [self._rank(question.search_text, k) for question in questions]


@dataclass
class FakeAnswerer:
    """Cites the first found paper; refuses where nothing fits; raises for a question that says "explode"."""

    searcher: FakeSearcher
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], None] | None = None

    def ask(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = Filters(),  # noqa: B008
        k: int | None = None,
    ) -> Answer:
        self.asked.append(question)
        if self.before is not None:
            self.before(question)
        if "explode" in question:
            raise RuntimeError("the model exploded")
        asked = Question(question, question, question, filters=filters)
        found = self.searcher._rank(question, k or 5)
        papers = [hit.paper for hit in found]
        cited = papers[:1] if found[0].relevance > 0.2 else []
        text = f"It reaches {papers[0].paper_id[1:]} points and is cheap."
        return make_answer(asked, papers, cited, text, found[0].relevance)


class FakeLibrary:
    """What `eval.run.EvalLibrary` asks for."""

    def __init__(self, home: Path) -> None:
        self.settings = Settings(home=home, llm="fake")
        self.index = FakeIndex()
        self.searcher = FakeSearcher(self.index)
        self.pipeline = FakeAnswerer(self.searcher)
        self.models: list[str | None] = []

    def answerer(self, llm: str | None = None) -> FakeAnswerer:
        self.models.append(llm)
        return self.pipeline

    def with_settings(self, **changes: Any) -> FakeLibrary:
        changed = FakeLibrary(self.settings.home)
        changed.settings = Settings(**{**self.settings.model_dump(), "home": self.settings.home, **changes})
        return changed


def question_rows(count: int = 8, unanswerable: int = 2) -> list[dict[str, Any]]:
    """Questions about the topics, then some that nothing answers."""
    rows: list[dict[str, Any]] = [
        {
            "id": f"q{place}",
            "kind": ("fact", "which")[place % 2],
            "question": f"How good is the method on {TOPICS[place % len(TOPICS)]} {place}?",
            "relevant": [f"10.1/{place}"],
            "facts": [[f"{place} points"], ["cheap", "inexpensive"]],
            "forbidden": ["expensive toy"],
        }
        for place in range(count)
    ]
    return rows + [
        {"id": f"u{place}", "kind": "off", "question": f"What colour has Tuesday, case u{place}?", "answerable": False}
        for place in range(unanswerable)
    ]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


__all__ = [
    "FakeAnswerer",
    "FakeIndex",
    "FakeLibrary",
    "FakeSearcher",
    "make_answer",
    "make_paper",
    "question_rows",
    "ranked",
    "replace",
    "write_rows",
]
