"""Two runs of one question set: is the difference more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eval.metrics import METRICS, Metric, Scored
from eval.result import RunResult
from eval.stats import Estimate, bootstrap_mean, holm, paired_p
from rag.errors import InputError


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric over the questions that enter it in both runs, new minus old.

    `difference` is the mean of the paired differences with its interval. `p` is of the paired randomisation test,
    `p_holm` the same corrected for all metrics compared. `wins` counts questions where the new run is better.
    """

    metric: Metric
    old: float
    new: float
    difference: Estimate
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose verdict changed."""

    old: Scored
    new: Scored


@dataclass(frozen=True, slots=True)
class Comparison:
    """`shared` questions are in both runs; `left_out` are in one only."""

    old: RunResult
    new: RunResult
    shared: int
    left_out: int
    differences: tuple[Difference, ...]
    flips: tuple[Flip, ...]
    changed: tuple[tuple[str, Any, Any], ...]  # what the runs were made with, where it differs: name, old, new


def compare(new: RunResult, old: RunResult, seed: int = 0) -> Comparison:
    """`new` against `old`, question by question.

    Raises InputError where the two are runs of different sets, of different kinds (retrieval only or answers), or have
    no question in common.
    """
    where = None if old.folder is None else str(old.folder)
    if old.info["identity"]["set"] != new.info["identity"]["set"]:
        message = (
            f"is a run of another question set ({old.questions.path}, content {old.info['identity']['set']}; this run: "
            f"{new.questions.path}, content {new.info['identity']['set']}); give a run of the same set."
        )
        raise InputError(message, file=where)
    if old.retrieval_only != new.retrieval_only:
        kinds = {True: "retrieval only", False: "answers"}
        message = f"is a run of {kinds[old.retrieval_only]}, this one of {kinds[new.retrieval_only]}; give one like it."
        raise InputError(message, file=where)
    before = {row.item.id: row for row in old.rows}
    pairs = [(before[row.item.id], row) for row in new.rows if row.item.id in before]
    if not pairs:
        raise InputError("has no question in common with this run.", file=where)
    found = [difference for metric in METRICS if (difference := _difference(metric, pairs, seed)) is not None]
    adjusted = holm([difference.p for difference in found])
    differences = tuple(
        Difference(d.metric, d.old, d.new, d.difference, d.p, p, d.wins, d.ties, d.losses)
        for d, p in zip(found, adjusted, strict=True)
    )
    flips = tuple(Flip(was, now) for was, now in pairs if was.verdict != now.verdict)
    left_out = len(old.rows) + len(new.rows) - 2 * len(pairs)
    return Comparison(old, new, len(pairs), left_out, differences, flips, _changed(old, new))


def to_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values; differences are new minus old."""
    return {
        "against": None if comparison.old.folder is None else str(comparison.old.folder),
        "shared": comparison.shared,
        "left_out": comparison.left_out,
        "changed": {name: {"old": old, "new": new} for name, old, new in comparison.changed},
        "metrics": {
            d.metric.name: {
                "old": d.old,
                "new": d.new,
                "difference": d.difference.as_json(),
                "p": d.p,
                "p_holm": d.p_holm,
                "wins": d.wins,
                "ties": d.ties,
                "losses": d.losses,
            }
            for d in comparison.differences
        },
        "flips": [
            {"id": flip.new.item.id, "old": flip.old.verdict, "new": flip.new.verdict} for flip in comparison.flips
        ],
    }


def _difference(metric: Metric, pairs: Sequence[tuple[Scored, Scored]], seed: int) -> Difference | None:
    values = [
        (was.scores[metric.name], now.scores[metric.name])
        for was, now in pairs
        if metric.name in was.scores and metric.name in now.scores
    ]
    if not values:
        return None
    old, new = np.array(values, dtype=np.float64).T
    change = new - old
    better = change if metric.higher else -change
    return Difference(
        metric,
        float(old.mean()),
        float(new.mean()),
        bootstrap_mean(change, seed),
        paired_p(change, seed),
        1.0,
        int((better > 0).sum()),
        int((better == 0).sum()),
        int((better < 0).sum()),
    )


def _changed(old: RunResult, new: RunResult) -> tuple[tuple[str, Any, Any], ...]:
    before = {**old.info["settings"], **old.info["identity"]}
    after = {**new.info["settings"], **new.info["identity"]}
    return tuple(
        (name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if name != "home" and before.get(name) != after.get(name)
    )
