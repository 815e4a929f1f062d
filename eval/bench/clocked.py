"""Where a search's time goes: an index and an encoder that note when they are at work."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

# What the calls of an index are called in the table; others keep their own names.
STAGES = {
    "dense": "dense",
    "scan": "dense",
    "lexical": "lexical",
    "vectors": "vectors",
    "vector_table": "vectors",
    "papers": "papers",
    "rows": "papers",
}
EMBEDDING, SECOND = "query embedding", "second stage"


class Clock:
    """Intervals by stage, in seconds. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.intervals: list[tuple[str, float, float]] = []

    def note(self, stage: str, start: float, end: float) -> None:
        with self._lock:
            self.intervals.append((stage, start, end))

    def taken(self) -> list[tuple[str, float, float]]:
        """The intervals so far, which are then forgotten."""
        with self._lock:
            found, self.intervals = self.intervals, []
        return found


def shares(intervals: Sequence[tuple[str, float, float]], total: float) -> dict[str, float]:
    """Seconds of each stage; what no stage covers of `total` is the second stage, the program's own arithmetic.

    Stages may overlap, so they may add up to more than `total`.
    """
    found: dict[str, float] = {}
    for stage, start, end in intervals:
        found[stage] = found.get(stage, 0.0) + end - start
    covered, reached = 0.0, float("-inf")
    for _, start, end in sorted(intervals, key=lambda each: each[1]):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    found[SECOND] = max(0.0, total - covered)
    return found


class Clocked:
    """Stands in for an index (or for its encoder) and notes each call of a method.

    `exact` True answers `dense` by comparing all vectors.
    """

    def __init__(self, inner: Any, clock: Clock, *, exact: bool = False, stage: str | None = None) -> None:
        self._inner = inner
        self._clock = clock
        self._exact = exact
        self._stage = stage

    @property
    def encoder(self) -> Any:
        return Clocked(self._inner.encoder, self._clock, stage=EMBEDDING)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        if name == "dense" and self._exact:
            found = self._compare

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return found(*args, **kwargs)
            finally:
                self._clock.note(self._stage or STAGES.get(name, name), began, time.perf_counter())

        return timed

    def _compare(self, vector: Any, n: int, *filters: Any) -> list[tuple[int, float]]:
        return exact(self._inner, vector, n, *filters)


def exact(index: Any, vector: Any, n: int, *filters: Any) -> list[tuple[int, float]]:
    """The `n` rows with the greatest cosine, by comparing all: (row, cosine), best first."""
    import numpy as np

    rows, cosines = index.scan(vector, *filters)
    if n < len(rows):
        best = np.argpartition(-cosines, n)[:n]
        rows, cosines = rows[best], cosines[best]
    order = np.argsort(-cosines, kind="stable")
    return [(int(rows[place]), float(cosines[place])) for place in order]
