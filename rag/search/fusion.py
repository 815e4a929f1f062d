"""What is known of a paper in the light of a question, as features, and the weights that make a score of them.

Features have a scale of their own, whatever else is in the library, so that the same weights hold for 57 papers and for
40,000: cosines as they are, word matches as a share of the most that the question's words reach in this library.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Features:
    """One paper against one question; most are 0 to 1.

    `whole`, `sentence` and `title` are cosines with the paper's nearest chunk, its nearest sentence and its title;
    `phrases` is the mean over the question's phrases of the cosine with the sentence nearest to each; `feedback` the
    cosine with the centre of the first candidates. `bm25` is the index's BM25 as a share of the most that the
    question's terms reach. `lexical`, `coverage`, `title_words`, `adjacent` and `abbreviation` are those of
    `rag.search.rerank.Match`.
    """

    whole: float
    sentence: float
    title: float
    bm25: float
    phrases: float = 0.0
    feedback: float = 0.0
    lexical: float = 0.0
    coverage: float = 0.0
    title_words: float = 0.0
    adjacent: float = 0.0
    abbreviation: float = 0.0


NAMES = tuple(field.name for field in fields(Features))


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights in the order of NAMES: `first` orders all candidates, `rank` the best of them once more; `relevance`
    and `constant` give the log-odds that a paper bears on the question.
    """

    first: FloatArray
    rank: FloatArray
    relevance: FloatArray
    constant: float

    def probability(self, table: FloatArray) -> FloatArray:
        """Estimated probabilities, 0 to 1, that the papers bear on the question; (n, features) to (n,)."""
        logits = np.clip(table @ self.relevance + self.constant, -50, 50)
        probabilities: FloatArray = 1 / (1 + np.exp(-logits))
        return probabilities


@cache
def weights(fingerprint: str) -> Weights:
    """Weights chosen for the embedder of that fingerprint (`eval/tune_retrieval.py`), or those for any other."""
    text = resources.files("rag").joinpath("data", "retrieval.json").read_text(encoding="utf-8")
    table = json.loads(text)
    found = table.get(fingerprint, table["default"])
    first, rank, relevance = (
        np.array([found[part].get(name, 0.0) for name in NAMES], dtype=np.float32)
        for part in ("first", "rank", "relevance")
    )
    return Weights(first, rank, relevance, float(found["relevance"]["constant"]))
