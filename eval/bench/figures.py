"""The arithmetic of repeated measurements: medians with their spread, ratios of runs that took turns, growth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Two runs agree when no ratio differs by more than this share.
AGREE = 0.15


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of `n` repetitions, with the least and the greatest of them."""

    median: float
    low: float
    high: float
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Median, least and greatest of `values`. Raises ValueError where there are none."""
    if not values:
        raise ValueError("no repetition was measured")
    return Spread(float(np.median(values)), float(min(values)), float(max(values)), len(values))


def ratios(ours: Sequence[float], other: Sequence[float]) -> Spread:
    """Spread of ours / other, repetition by repetition: what disturbs a repetition disturbs both of its sides."""
    return spread([one / two for one, two in zip(ours, other, strict=True)])


def middle(rounds: Sequence[Sequence[float]]) -> Spread:
    """Spread of the medians of several rounds of single measurements."""
    return spread([float(np.median(values)) for values in rounds])


def p95(rounds: Sequence[Sequence[float]]) -> float:
    """95th percentile over all single measurements of all rounds."""
    return float(np.percentile([value for values in rounds for value in values], 95))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The b of `value ~ size ** b`, by least squares on logarithms: 0 does not grow, 1 grows in proportion."""
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def line(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Least-squares (constant, value per unit of size)."""
    slope, constant = np.polyfit(sizes, values, 1)
    return float(constant), float(slope)


def recall(found: Sequence[int], wanted: Sequence[int]) -> float:
    """Share of `wanted` that is in `found`; 1 where nothing is wanted."""
    return len(set(found) & set(wanted)) / len(set(wanted)) if wanted else 1.0


@dataclass(frozen=True, slots=True)
class Agreement:
    """A ratio in two runs, and by what share the new one differs from the old."""

    name: str
    old: float
    new: float
    difference: float

    @property
    def agrees(self) -> bool:
        """Whether the two are within `AGREE` of each other."""
        return abs(self.difference) <= AGREE


def agreements(old: Mapping[str, float], new: Mapping[str, float]) -> tuple[Agreement, ...]:
    """The ratios that both runs have, in the order of the new one."""
    return tuple(
        Agreement(name, old[name], value, value / old[name] - 1 if old[name] else math.inf)
        for name, value in new.items()
        if name in old
    )
