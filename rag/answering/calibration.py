"""Weights and thresholds chosen on data: data/calibration.json, written by `eval/calibrate.py`.

Those that depend on the embedder are kept by its fingerprint; an unknown embedder gets the entry "default".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class VerifierCalibration:
    """`weights` for `verify.FEATURES`, the constant first; from which probability on a verdict is given."""

    weights: tuple[float, ...]
    supported: float
    partial: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """`weights` for a list of features, the constant first, and the least probability that counts."""

    weights: tuple[float, ...]
    least: float


def logistic(weights: Sequence[float], features: Sequence[float]) -> float:
    """Probability from the constant and weights of a logistic model. Raises ValueError when the lengths differ."""
    value = weights[0] + sum(w * x for w, x in zip(weights[1:], features, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, value))))


@cache
def verifier() -> VerifierCalibration:
    """What `rag.answering.verify` uses."""
    found = _load()["verifier"]
    return VerifierCalibration(tuple(found["weights"]), found["supported"], found["partial"])


@cache
def threshold(part: str, fingerprint: str) -> Threshold:
    """What `part` ("refusal" or "listing") uses with the embedder of this fingerprint."""
    entries: Mapping[str, Any] = _load()[part]
    found = entries.get(fingerprint, entries["default"])
    return Threshold(tuple(found["weights"]), found["least"])


@cache
def _load() -> dict[str, Any]:
    text = resources.files("rag").joinpath("data", "calibration.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
