"""A small index in memory, for tests of evidence, refusal and lists; papers invented for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from rag.models.embeddings import FloatArray
from rag.store.records import PaperVectors
from rag.texts.analysis import terms
from rag.texts.text import split_sentences
from rag.types import Filters, Paper, Question, RankedPaper, Span
from tests.fakes import FakeEncoder

ALL = Filters()


class FakeIndex:
    """What evidence, refusal and lists read of an index, over a few papers; a paper's row is its place."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self._papers = list(papers)
        self.encoder = FakeEncoder()
        self._terms = [Counter(terms(f"{paper.title} {paper.abstract}")) for paper in papers]
        self._spans = [split_sentences(paper.abstract) for paper in papers]

    @property
    def records(self) -> FakeIndex:
        return self

    def rows_of_ids(self, paper_ids: Iterable[str]) -> list[int]:
        wanted = set(paper_ids)
        return [row for row, paper in enumerate(self._papers) if paper.paper_id in wanted]

    def papers(self, rows: Sequence[int]) -> dict[int, Paper]:
        return {row: self._papers[row] for row in rows}

    def rows(self, filters: Filters = ALL) -> list[int]:
        return [row for row, paper in enumerate(self._papers) if _passes(paper, filters)]

    def vectors(self, rows: Sequence[int]) -> dict[int, PaperVectors]:
        found = {}
        for row in rows:
            paper, spans = self._papers[row], self._spans[row]
            found[row] = PaperVectors(
                self.encoder.encode([paper.title])[0],
                self.encoder.encode([f"{paper.title}. {paper.abstract}"]),
                self.encoder.encode([span.text for span in spans]),
                ((0, len(paper.abstract)),),
                tuple((span.start, span.end) for span in spans),
            )
        return found

    def lexical(self, text: str, n: int, filters: Filters = ALL) -> list[tuple[int, float]]:
        total = len(self._papers)
        scores: dict[int, float] = {}
        for term in dict.fromkeys(terms(text)):
            having = [row for row, counts in enumerate(self._terms) if term in counts]
            for row in having:
                rarity = math.log(1 + (total - len(having) + 0.5) / (len(having) + 0.5))
                scores[row] = scores.get(row, 0.0) + rarity
        kept = [(row, score) for row, score in scores.items() if _passes(self._papers[row], filters)]
        return sorted(kept, key=lambda hit: -hit[1])[:n]

    def dense(self, vector: FloatArray, n: int, filters: Filters = ALL) -> list[tuple[int, float]]:
        rows = self.rows(filters)
        stored = self.vectors(rows)
        scored = [(row, float(np.max(stored[row].chunks @ vector))) for row in rows]
        return sorted(scored, key=lambda hit: -hit[1])[:n]

    def ranked(self, question: Question) -> tuple[RankedPaper, ...]:
        """Papers by the words they share with the question, as a search would give them."""
        hits = self.lexical(question.search_text, 5)
        best = hits[0][1] if hits else 1.0
        found = []
        for rank, (row, score) in enumerate(hits, start=1):
            paper = self._papers[row]
            quote = (self._spans[row] or [Span(0, len(paper.title), paper.title)])[0]
            found.append(RankedPaper(rank, paper, score, min(0.99, 0.9 * score / best), quote))
        return tuple(found)


def _passes(paper: Paper, filters: Filters) -> bool:
    if filters.venue is not None and filters.venue.casefold() not in (paper.venue or "").casefold():
        return False
    low, high = filters.year_from or 0, filters.year_to or 9999
    return low <= (paper.year or 0) <= high


def ask(text: str, **fields: object) -> Question:
    """A question as understood, in English and without history."""
    return Question(text, text, text, **fields)  # type: ignore[arg-type]


KETTLE = Paper(
    "kettle",
    "KettleNet: boiling water with learned valves",
    "Boiling water on time is hard for small kitchens. We propose KettleNet, a network that opens valves before "
    "the water boils. It reaches 93.5% accuracy on six public kettles and runs 2.5x faster than SteamCast. "
    "KettleNet outperforms SteamCast in noisy kitchens. It does not need labelled recordings. "
    "Code is available at https://example.org/kettlenet.",
    venue="ICKW",
    year=2023,
)
GARDEN = Paper(
    "garden",
    "Watering gardens with reinforcement learning",
    "Gardens need water at the right hour. This paper trains a policy with reinforcement learning (RL) that waters "
    "beds. The policy reduces water use by 31% and increases yield by 12% in three gardens.",
    venue="ICKW",
    year=2024,
)
BREAD = Paper(
    "bread",
    "A dataset of sourdough photographs",
    "We introduce CrumbSet, a dataset of 40,000 photographs of bread. Every photograph is annotated by two bakers. "
    "Classifiers trained on CrumbSet recognise over-proofed loaves with 88% accuracy.",
    venue="BAKE",
    year=2024,
)
CHESS = Paper(
    "chess",
    "Reinforcement learning for chess endings",
    "Chess endings are long. We study reinforcement learning for rook endings. The agent learns from self-play alone.",
    venue="GAMES",
    year=2023,
)
PAPERS = (KETTLE, GARDEN, BREAD, CHESS)
