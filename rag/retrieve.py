"""Papers for a question: dense and lexical candidates, the features of each computed exactly, one score, best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from numpy.typing import NDArray
from pydantic import ConfigDict

from rag.analysis import terms
from rag.errors import LibraryEmpty
from rag.fusion import Features, weights
from rag.index import Index
from rag.language import ENGLISH
from rag.question import understand
from rag.records import PaperVectors
from rag.settings import Settings
from rag.types import Filters, Paper, Question, RankedPaper, Span

FloatArray = NDArray[np.float32]
NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate: its row in the index, its features, the score it is ordered by, its probability of bearing on it."""

    row: int
    features: Features
    score: float
    relevance: float


class Searcher:
    """Ranks the papers of one index. Safe to use from several threads."""

    def __init__(self, index: Index, settings: Settings) -> None:
        self._index = index
        self._candidates = settings.candidates
        self._weights = weights(index.encoder.fingerprint)
        self._best = lru_cache(maxsize=4096)(self._best_of_term)

    def search(self, question: Question | str, k: int, filters: Filters = NO_FILTERS) -> tuple[RankedPaper, ...]:
        """The `k` best papers, best first; fewer where the library or the filters have no more.

        A question given as text is understood first; `filters` are added to those it has. Raises InputError for an
        empty question and LibraryEmpty where nothing was ingested.
        """
        asked = self._asked(question, filters)
        vector = self._index.encoder.encode(_dense_texts(asked))
        return self._ranked(asked, vector, self._score(asked, vector, self._candidates), k)

    def search_many(self, questions: Sequence[Question | str], k: int) -> list[tuple[RankedPaper, ...]]:
        """`search` for each, with the questions embedded together."""
        asked = [self._asked(question, NO_FILTERS) for question in questions]
        texts = [_dense_texts(each) for each in asked]
        vectors = self._index.encoder.encode([text for pair in texts for text in pair])
        ends = np.cumsum([0, *(len(pair) for pair in texts)])
        found = []
        for place, each in enumerate(asked):
            vector = vectors[ends[place] : ends[place + 1]]
            found.append(self._ranked(each, vector, self._score(each, vector, self._candidates), k))
        return found

    def score(self, question: Question, n: int | None = None) -> list[Scored]:
        """All candidates with their features, best first, without reading the papers; `n` from each index."""
        vector = self._index.encoder.encode(_dense_texts(question))
        return self._score(question, vector, n or self._candidates)

    def _asked(self, question: Question | str, filters: Filters) -> Question:
        if isinstance(question, str):
            return understand(question, (), self._index, None, filters)
        if not filters or filters == question.filters:
            return question
        own = question.filters
        return replace(
            question,
            filters=Filters(
                filters.venue or own.venue,
                own.year_from if filters.year_from is None else filters.year_from,
                own.year_to if filters.year_to is None else filters.year_to,
            ),
        )

    def _score(self, asked: Question, vector: FloatArray, n: int) -> list[Scored]:
        lexical_text = _lexical_text(asked)
        lexical = dict(self._index.lexical(lexical_text, n, asked.filters))
        rows = dict.fromkeys(row for each in vector for row, _ in self._index.dense(each, n, asked.filters))
        rows.update(dict.fromkeys(lexical))
        if not rows:
            if not self._index.rows():
                raise LibraryEmpty("The library is empty; read some papers first: `abstract-qa ingest PATH`.")
            return []
        vectors = self._index.vectors(list(rows))
        wanted = list(dict.fromkeys(terms(lexical_text)))
        best = {term: self._best(term) for term in wanted}
        most = sum(best.values()) or 1.0
        found = []
        for row, stored in vectors.items():
            features = Features(
                whole=_nearest(stored.chunks, vector),
                sentence=_nearest(stored.sentences if len(stored.sentences) else stored.chunks, vector),
                title=_nearest(stored.title[None], vector),
                lexical=min(1.0, lexical.get(row, 0.0) / most),
                coverage=0.0,
            )
            found.append(Scored(row, features, self._weights.score(features), self._weights.probability(features)))
        return sorted(found, key=lambda each: (-each.score, each.row))

    def _best_of_term(self, term: str) -> float:
        """The best BM25 that `term` alone reaches in the library; 0 where no paper has it."""
        hits = self._index.lexical(term, 1, NO_FILTERS)
        return hits[0][1] if hits else 0.0

    def _ranked(self, asked: Question, vector: FloatArray, scored: Sequence[Scored], k: int) -> tuple[RankedPaper, ...]:
        chosen = scored[:k]
        rows = [each.row for each in chosen]
        papers = self._index.papers(rows)
        vectors = self._index.vectors(rows)
        return tuple(
            RankedPaper(
                rank, papers[each.row], each.score, each.relevance, _quote(papers[each.row], vectors[each.row], vector)
            )
            for rank, each in enumerate((each for each in chosen if each.row in papers), start=1)
        )


def _dense_texts(asked: Question) -> list[str]:
    """What is embedded: the English text, and the question's own words where it was asked in another language."""
    if asked.language == ENGLISH or asked.standalone == asked.search_text:
        return [asked.search_text]
    return [asked.search_text, asked.standalone]


def _lexical_text(asked: Question) -> str:
    return " ".join(_dense_texts(asked))


def _nearest(stored: FloatArray, vectors: FloatArray) -> float:
    return float((stored @ vectors.T).max()) if len(stored) else 0.0


def _quote(paper: Paper, stored: PaperVectors, vector: FloatArray) -> Span:
    """The sentence nearest to the question; the title of a paper without an abstract."""
    if not stored.spans:
        return Span(0, len(paper.title), paper.title)
    start, end = stored.spans[int((stored.sentences @ vector.T).max(axis=1).argmax())]
    return Span(start, end, paper.abstract[start:end])


class LibraryRetriever(BaseRetriever):
    """The library as a LangChain retriever: one Document a paper, its abstract as the content."""

    searcher: Any
    k: int = 5
    filters: Filters = NO_FILTERS
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
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
