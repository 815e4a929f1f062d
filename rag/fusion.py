"""What is known of a paper in the light of a question, as features, and the weights that make a score of them.

Features have a scale of their own, whatever else is in the library, so that the same weights hold for 57 papers and for
40,000: cosines as they are, BM25 as a share of the most that the question's words reach in this library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Features:
    """One paper against one question.

    `whole`, `sentence` and `title` are cosines with the paper's nearest chunk, its nearest sentence and its title.
    `lexical` is BM25 over the sum, term by term, of the best BM25 in the library; `coverage` is the share of the
    question's terms, weighted by how rare they are, that the paper has. Both are 0 to 1.
    """

    whole: float
    sentence: float
    title: float
    lexical: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Weights:
    """`rank` gives a score to order by, `relevance` (with a "constant") the log-odds that the paper bears on it."""

    rank: Mapping[str, float]
    relevance: Mapping[str, float]

    def score(self, features: Features) -> float:
        """Grows with relevance; comparable between the papers of one question only."""
        values = asdict(features)
        return sum(weight * values[name] for name, weight in self.rank.items())

    def probability(self, features: Features) -> float:
        """Estimated probability, 0 to 1, that the paper bears on the question."""
        values = {**asdict(features), "constant": 1.0}
        logit = sum(weight * values[name] for name, weight in self.relevance.items())
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


@cache
def weights(fingerprint: str) -> Weights:
    """Weights chosen for the embedder of that fingerprint (`eval/tune_retrieval.py`), or those for any other."""
    text = resources.files("rag").joinpath("data", "retrieval.json").read_text(encoding="utf-8")
    table = json.loads(text)
    found = table.get(fingerprint, table["default"])
    return Weights(found["rank"], found["relevance"])
