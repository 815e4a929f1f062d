"""Intervals and tests over questions, seeded and vectorised.

Sources: the percentile bootstrap, B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13; the
paired randomisation test for retrieval, M. Smucker, J. Allan and B. Carterette, CIKM 2007; Holm's correction, S. Holm,
Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 2_000
FLIPS = 10_000
_LOW, _HIGH = 2.5, 97.5
_BLOCK = 1_000  # sign patterns held at once
_EXACT = 13  # 2^13 sign patterns are fewer than FLIPS: enumerate them


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure over `n` questions with its 95% interval; all None when no question enters. `p95` for latencies."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    p95: float | None = None

    def as_json(self) -> dict[str, float | int | None]:
        data: dict[str, float | int | None] = {"value": self.value, "low": self.low, "high": self.high, "n": self.n}
        return data if self.p95 is None else data | {"p95": self.p95}


EMPTY = Estimate(None, None, None, 0)


def bootstrap_mean(values: ArrayLike, seed: int = 0) -> Estimate:
    """The mean with its percentile interval over `RESAMPLES` draws of the questions. `values`: (n,)."""
    data = _vector(values)
    n = len(data)
    if n == 0:
        return EMPTY
    value = float(data.mean())
    if np.ptp(data) == 0:
        return Estimate(value, value, value, n)
    return _interval(value, _draws(n, seed) @ data / n, n)


def bootstrap_median(values: ArrayLike, seed: int = 0) -> Estimate:
    """The median with its percentile interval, and the 95th percentile beside it. `values`: (n,)."""
    data = np.sort(_vector(values))
    n = len(data)
    if n == 0:
        return EMPTY
    # With the data sorted, how often each was drawn gives the two middle ones of a draw without building it.
    reached = np.cumsum(_draws(n, seed), axis=1)
    middle = [data[(reached > place).argmax(axis=1)] for place in ((n - 1) // 2, n // 2)]
    estimate = _interval(float(np.median(data)), (middle[0] + middle[1]) / 2, n)
    return Estimate(estimate.value, estimate.low, estimate.high, n, p95=float(np.percentile(data, 95)))


def auroc(scores: ArrayLike, positive: ArrayLike, seed: int = 0) -> Estimate:
    """Area under the ROC curve: how often a positive scores above a negative, ties half, with its interval.

    `scores` (n,), `positive` (n,) of bool. Empty when one of the classes is. Draws that lack a class are left out.
    """
    values, labels = _vector(scores), np.asarray(positive, dtype=bool)
    n = len(values)
    if n == 0 or labels.all() or not labels.any():
        return EMPTY
    levels, level = np.unique(values, return_inverse=True)
    value = float(_auroc(np.ones((1, n)), labels, level, len(levels))[0])
    areas = _auroc(_draws(n, seed), labels, level, len(levels))
    return _interval(value, areas[~np.isnan(areas)], n)


def _auroc(
    weights: NDArray[np.float64], positive: NDArray[np.bool_], level: NDArray[np.intp], levels: int
) -> NDArray[np.float64]:
    """(draws,) areas for (draws, n) counts, nan where a class is absent."""
    to_level = np.zeros((len(level), levels))
    to_level[np.arange(len(level)), level] = 1.0
    above, below = (weights * positive) @ to_level, (weights * ~positive) @ to_level  # (draws, levels)
    wins = (above * (np.cumsum(below, axis=1) - below / 2)).sum(axis=1)
    pairs = above.sum(axis=1) * below.sum(axis=1)
    areas: NDArray[np.float64] = np.divide(wins, pairs, out=np.full(len(weights), np.nan), where=pairs > 0)
    return areas


def paired_p(differences: ArrayLike, seed: int = 0) -> float:
    """Two-sided p of the paired randomisation test: how often random signs give as large a mean difference.

    `differences` (n,). All sign patterns are tried where they are few, else `FLIPS` random ones, with the observed one
    counted among them, so that p is never 0. 1.0 when nothing differs.
    """
    data = _vector(differences)
    data = data[data != 0]  # a sign in front of 0 changes nothing
    n = len(data)
    if n == 0:
        return 1.0
    tolerance = 1e-12 * float(np.abs(data).sum())  # sums in another order differ in the last digits
    observed = abs(float(data.sum())) - tolerance
    if n <= _EXACT:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ data) >= observed).mean())
    rng = np.random.default_rng(seed)
    as_large = 0
    for _ in range(FLIPS // _BLOCK):
        signs = rng.choice(np.array([-1.0, 1.0]), size=(_BLOCK, n))
        as_large += int((np.abs(signs @ data) >= observed).sum())
    return (1 + as_large) / (1 + FLIPS)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given: what each p is worth when all were looked at."""
    adjusted = [0.0] * len(p_values)
    worst = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = worst
    return adjusted


def _vector(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _draws(n: int, seed: int) -> NDArray[np.float64]:
    """(RESAMPLES, n): how often each question is drawn in each resample of n with replacement."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)


def _interval(value: float, statistics: NDArray[np.float64], n: int) -> Estimate:
    low, high = np.percentile(statistics, [_LOW, _HIGH])
    return Estimate(value, float(low), float(high), n)
