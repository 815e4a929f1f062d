"""Papers for a question: dense and lexical candidates, ordered by a first score, the best of them by a second.

Papers are ranked, not chunks. The features are computed from the stored vectors for every candidate, whichever index
proposed it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from numpy.typing import NDArray
from pydantic import ConfigDict

from rag.errors import LibraryEmpty
from rag.models.cross_encoder import DEPTH as RERANKED
from rag.models.cross_encoder import Reranker
from rag.question.language import ENGLISH
from rag.question.understand import understand
from rag.search.fusion import NAMES, Features, weights
from rag.search.owning import owners
from rag.search.rerank import Match, match, phrases, query_terms, size
from rag.settings import Settings
from rag.store.index import Index
from rag.store.vectors import VectorTable
from rag.types import Filters, Paper, Question, RankedPaper, Span

FloatArray = NDArray[np.float32]
NO_FILTERS = Filters()
DEPTH = 80  # candidates that the second stage looks at
FIRST = 4  # features that the first stage knows: whole, sentence, title, bm25
# What a paper gains whose name a question about it says, in the unit of the scores: enough to pass one that speaks of
# it often. A question that looks for a paper may name what that paper only uses, and gets none of it.
OWNED = 6.0
LAST_SHARE = 0.7  # of the last BM25 of a full list, what a paper not in the list is taken to have
FEEDBACK = 10  # of them, those whose centre the others are compared with


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate. `score` orders the candidates of one question, `relevance` is calibrated as in RankedPaper."""

    row: int
    paper: Paper
    features: Features
    score: float
    relevance: float
    quote: Span


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Milliseconds that the parts of one search took.

    `embed` is the question's way to its vectors, `dense` and `lexical` the candidates from each index, `first` reading
    their vectors and ordering them, `second` the second stage with reading the papers.
    """

    embed: float
    dense: float
    lexical: float
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first, and what later steps need not make again.

    `vector` (d,) is that of the question's `search_text`; `times` says where the time went, at no cost worth naming.
    """

    ranked: tuple[RankedPaper, ...]
    vector: FloatArray
    times: StageTimes


class Searcher:
    """Ranks the papers of one index. Safe to use from several threads."""

    def __init__(self, index: Index, settings: Settings) -> None:
        self._index = index
        self._candidates = settings.candidates
        self._weights = weights(index.encoder.fingerprint)
        self._reranker = Reranker(Path(settings.reranker).expanduser()) if settings.reranker else None

    def search(self, question: Question | str, k: int, filters: Filters = NO_FILTERS) -> tuple[RankedPaper, ...]:
        """The `k` best papers, best first; fewer where the library or the filters have no more.

        A question given as text is understood first; `filters` are added to those it has. Raises InputError for an
        empty question and LibraryEmpty where nothing was ingested.
        """
        return self.found(question, k, filters).ranked

    def found(self, question: Question | str, k: int, filters: Filters = NO_FILTERS) -> Found:
        """`search`, with the question's vector and the times of the stages."""
        asked = self._asked(question, filters)
        watch = _Watch()
        query = _Query.of([asked], self._index)[0]
        watch.lap("embed")
        scored = self._reordered(asked, self._score(query, self._candidates, max(DEPTH, k), watch))
        watch.lap("second")
        return Found(self._ranked(scored, k), query.vectors[0], StageTimes(**watch.laps))

    def vector(self, question: Question) -> FloatArray:
        """The vector (d,) of a question's `search_text`, as `found` gives it along."""
        vector: FloatArray = self._index.encoder.encode([question.search_text])[0]
        return vector

    def search_many(self, questions: Sequence[Question | str], k: int) -> list[tuple[RankedPaper, ...]]:
        """`search` for each, with the questions embedded together."""
        asked = [self._asked(question, NO_FILTERS) for question in questions]
        return [
            self._ranked(self._reordered(query.asked, self._score(query, self._candidates, max(DEPTH, k), _Watch())), k)
            for query in _Query.of(asked, self._index)
        ]

    def score(self, question: Question, n: int | None = None, depth: int = DEPTH) -> list[Scored]:
        """The `depth` best candidates, best first; `n` are taken from each index (None: as in the settings)."""
        return self._score(_Query.of([question], self._index)[0], n or self._candidates, depth, _Watch())

    def _asked(self, question: Question | str, filters: Filters) -> Question:
        if isinstance(question, str):
            return understand(question, (), self._index, None, filters)
        own = question.filters
        years = (own.year_from, own.year_to)
        if filters.year_from is not None or filters.year_to is not None:
            years = (filters.year_from, filters.year_to)
        return replace(question, filters=Filters(filters.venue or own.venue, *years))

    def _score(self, query: _Query, n: int, depth: int, watch: _Watch) -> list[Scored]:
        asked = query.asked
        bm25 = dict(self._index.lexical(query.words, n, asked.filters))
        watch.lap("lexical")
        found = dict.fromkeys(row for vector in query.vectors for row, _ in self._index.dense(vector, n, asked.filters))
        watch.lap("dense")
        rows = list(found | dict.fromkeys(bm25))
        if not rows:
            if not self._index.rows():
                raise LibraryEmpty("The library is empty; read some papers first: `abstract-qa ingest PATH`.")
            return []
        stored = self._index.vector_table(rows)
        rows = list(stored.rows)
        terms = query_terms(query.words, self._best_of_term)
        most = terms.known or 1.0
        # One product with all vectors of the question; its columns are the texts, then the phrases.
        asked_vectors = np.concatenate([query.vectors, query.phrases]).T
        texts = len(query.vectors)
        of_chunks, of_sentences = stored.chunks @ asked_vectors[:, :texts], stored.sentences @ asked_vectors
        whole, _ = _nearest(of_chunks, stored.chunk_counts)
        sentence, place = _nearest(of_sentences[:, :texts], stored.sentence_counts)
        title = (stored.titles @ query.vectors.T).max(axis=1)
        table = np.zeros((len(rows), len(NAMES)), np.float32)
        # A paper that only its vectors proposed has less than the last of a full list; how much less is not known.
        floor = LAST_SHARE * min(bm25.values()) if len(bm25) >= n else 0.0
        known = np.array([bm25.get(row, floor) for row in rows], np.float32) / most
        table[:, :FIRST] = np.stack([whole, sentence, title, np.minimum(known, 1)], axis=1)
        chosen = np.lexsort((np.array(rows), -(table @ self._weights.first)))[:depth]
        watch.lap("first")
        papers = self._index.papers([rows[i] for i in chosen])
        chosen = np.array([i for i in chosen if rows[i] in papers], dtype=np.int64)
        here = [papers[rows[i]] for i in chosen]
        sizes = [size(paper) for paper in here]
        matches = [match(terms, paper, sum(sizes) / len(sizes)) for paper in here]
        phrased = _nearest_of_each(of_sentences[:, texts:], stored.sentence_counts).mean(axis=1)[chosen]
        # With few papers the centre of the first ones says nothing about the question.
        centred = _feedback(stored, chosen) if len(rows) >= n else np.zeros(len(chosen))
        table = table[chosen]
        table[:, FIRST:] = np.column_stack([phrased, centred, np.array([_numbers(each) for each in matches])])
        called = asked.search_text if asked.kind in ("fact", "compare") else ""
        scores = table @ self._weights.rank + OWNED * np.array(owners(here, called), np.float32)
        probabilities = self._weights.probability(table)
        scored = [
            Scored(
                rows[i],
                paper,
                Features(*map(float, table[at])),
                float(scores[at]),
                float(probabilities[at]),
                _quote(paper, stored.spans(i), int(place[i])),
            )
            for at, (i, paper) in enumerate(zip(chosen, here, strict=True))
        ]
        scored.sort(key=lambda each: (-each.score, each.row))
        watch.lap("second")
        return scored

    def _reordered(self, asked: Question, scored: list[Scored]) -> list[Scored]:
        """The first papers as the cross-encoder orders them, where there is one. Scores and relevance stay."""
        if self._reranker is None:
            return scored
        first = scored[:RERANKED]
        marks = self._reranker.scores(asked.search_text, [each.paper for each in first])
        order = sorted(range(len(first)), key=lambda place: (-marks[place], place))
        return [*(first[place] for place in order), *scored[RERANKED:]]

    def _best_of_term(self, term: str) -> float:
        """The best BM25 that `term` alone reaches in the library; 0 where no paper has it."""
        hits = self._index.lexical(term, 1, NO_FILTERS)
        return hits[0][1] if hits else 0.0

    @staticmethod
    def _ranked(scored: Sequence[Scored], k: int) -> tuple[RankedPaper, ...]:
        return tuple(
            RankedPaper(rank, each.paper, each.score, each.relevance, each.quote)
            for rank, each in enumerate(scored[:k], start=1)
        )


class _Watch:
    """Milliseconds of the stages of one search, by name; 0 for one that it did not come to."""

    def __init__(self) -> None:
        self.laps = {field.name: 0.0 for field in fields(StageTimes)}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """What has passed since the last call counts as `stage`."""
        now = time.perf_counter()
        self.laps[stage] += (now - self._last) * 1000
        self._last = now


@dataclass(frozen=True, slots=True)
class _Query:
    """A question ready to search: its words for BM25, the vectors (q, d) of its texts, those (p, d) of its phrases."""

    asked: Question
    words: str
    vectors: FloatArray
    phrases: FloatArray

    @staticmethod
    def of(questions: Sequence[Question], index: Index) -> list[_Query]:
        """Queries for questions, embedded together."""
        texts = [_texts(asked) for asked in questions]
        flat = [text for each in texts for text in each]
        spans = [phrases(text) if place == 0 else [] for each in texts for place, text in enumerate(each)]
        vectors, parts = index.encoder.encode_with_spans(flat, spans)
        queries, at = [], 0
        for asked, each in zip(questions, texts, strict=True):
            part = parts[at][np.abs(parts[at]).sum(axis=1) > 0]
            own = vectors[at : at + len(each)]
            queries.append(_Query(asked, " ".join(each), own, part if len(part) else own[:1]))
            at += len(each)
        return queries


def _texts(asked: Question) -> list[str]:
    """What is searched: the English text, and the question's own words where it was asked in another language."""
    if asked.language == ENGLISH or asked.standalone == asked.search_text:
        return [asked.search_text]
    return [asked.search_text, asked.standalone]


def _nearest(cosines: FloatArray, counts: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
    """For each paper: its best cosine, and which of its vectors has it; 0 for a paper without.

    `cosines` (v, q) are those of all papers' vectors, paper after paper as many as `counts` says, with q texts.
    """
    highest = cosines.max(axis=1, keepdims=True)
    best = _nearest_of_each(highest, counts)[:, 0]
    # The first of each paper's vectors that reaches its best.
    paper_of = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    reached = np.flatnonzero(highest[:, 0] == best[paper_of])
    places = np.zeros(len(counts), np.int64)
    papers, first = np.unique(paper_of[reached], return_index=True)
    places[papers] = reached[first] - starts[papers]
    return best, places


def _nearest_of_each(cosines: FloatArray, counts: NDArray[np.int64]) -> FloatArray:
    """For each paper and each column of `cosines`, as in `_nearest`: the best; (papers, q)."""
    best = np.zeros((len(counts), cosines.shape[1]), np.float32)
    filled = np.flatnonzero(counts)
    if len(filled):
        best[filled] = np.maximum.reduceat(cosines, (np.cumsum(counts) - counts)[filled])
    return best


def _feedback(stored: VectorTable, chosen: NDArray[np.int64]) -> FloatArray:
    """Cosines of the papers at the places `chosen` with the centre of the first of them (Rocchio, 1971)."""
    starts = np.cumsum(stored.chunk_counts) - stored.chunk_counts
    centres = np.stack([stored.chunks[starts[i] : starts[i] + stored.chunk_counts[i]].mean(axis=0) for i in chosen])
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-9)
    centre = centres[:FEEDBACK].mean(axis=0)
    cosines: FloatArray = centres @ (centre / max(float(np.linalg.norm(centre)), 1e-9))
    return cosines


def _numbers(found: Match) -> tuple[float, ...]:
    """The features of a match in their order; `dataclasses.astuple` copies each, which takes longer than the search."""
    return found.lexical, found.coverage, found.title, found.adjacent, found.abbreviation


def _quote(paper: Paper, spans: Sequence[tuple[int, int]], place: int) -> Span:
    """The sentence at `place`; the title of a paper without an abstract."""
    if not spans:
        return Span(0, len(paper.title), paper.title)
    start, end = spans[place]
    return Span(start, end, paper.abstract[start:end])


class LibraryRetriever(BaseRetriever):
    """The library as a LangChain retriever: one Document a paper, its abstract as the content."""

    searcher: Any
    k: int = 5
    filters: Filters = NO_FILTERS
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it
    ) -> list[Document]:
        return documents(self.searcher.search(query, self.k, self.filters))


def documents(ranked: Iterable[RankedPaper]) -> list[Document]:
    """Ranked papers as LangChain's Documents."""
    return [
        Document(
            page_content=hit.paper.abstract,
            id=hit.paper.paper_id,
            metadata={
                "paper_id": hit.paper.paper_id,
                "title": hit.paper.title,
                "venue": hit.paper.venue,
                "year": hit.paper.year,
                "locator": hit.paper.locator,
                "score": hit.score,
                "relevance": hit.relevance,
                "quote": hit.quote.text,
            },
        )
        for hit in ranked
    ]
