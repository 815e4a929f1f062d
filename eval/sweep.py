"""One question set under several settings: every combination is a run of its own, all of them in one table."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.markdown import number, table
from eval.metrics import METRICS
from eval.result import RunResult
from eval.run import EvalLibrary, RunOptions, run_eval
from rag.errors import InputError
from rag.settings import Settings

# Opens the library with some settings changed.
Opener = Callable[[Mapping[str, Any]], AbstractContextManager[EvalLibrary]]
_COLUMNS = (
    "recall@1",
    "recall@5",
    "recall@20",
    "ndcg@10",
    "fact_recall",
    "citation_precision",
    "citation_recall",
    "unsupported_sentences",
    "abstain_precision",
    "abstain_recall",
    "latency_total_ms",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of settings and its run."""

    changes: Mapping[str, Any]
    result: RunResult


def parse_grid(texts: Sequence[str]) -> dict[str, list[Any]]:
    """`k=3,5,8` -> {"k": [3, 5, 8]}; values are JSON where they can be read as such, else text.

    Raises InputError for one that is not NAME=VALUE[,VALUE], or whose name is no setting.
    """
    grid: dict[str, list[Any]] = {}
    known = sorted(set(Settings.model_fields) - {"home"})
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not values.strip():
            raise InputError(f"{text!r} is not of the form NAME=VALUE,VALUE, as in k=3,5,8.")
        if name not in known:
            raise InputError(f"{name!r} is no setting; known are {', '.join(known)}.")
        grid[name] = [_value(value.strip()) for value in values.split(",")]
    if not grid:
        raise InputError("Nothing to vary; give at least one NAME=VALUE,VALUE.")
    return grid


def combinations(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination, the last name varying fastest."""
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def sweep(
    set_path: Path,
    grid: Mapping[str, Sequence[Any]],
    open_library: Opener,
    options: RunOptions,
    progress: Callable[[int, int, Mapping[str, Any]], None] | None = None,
) -> tuple[Cell, ...]:
    """Runs the set once per combination of `grid`, under `options.out` (if given) in a folder for each.

    A sweep that was killed is taken up where it ended, like a run. `progress(done, total, changes)` is called before
    each combination.
    """
    changes = list(combinations(grid))
    cells: list[Cell] = []
    for place, change in enumerate(changes):
        if progress is not None:
            progress(place, len(changes), change)
        out = None if options.out is None else options.out / _folder_name(change)
        with open_library(change) as library:
            result = run_eval(set_path, library, replace(options, out=out))
        if result is not None:
            cells.append(Cell(change, result))
    return tuple(cells)


def sweep_table(cells: Sequence[Cell]) -> str:
    """A Markdown table: a row per combination, the metrics that any of them has; the best of a column is bold."""
    by_name = {metric.name: metric for metric in METRICS}
    columns = [by_name[name] for name in _COLUMNS if any(cell.result.summary[name].n for cell in cells)]
    names = list(cells[0].changes) if cells else []
    best: dict[str, float] = {}
    for metric in columns:
        values = [value for cell in cells if (value := cell.result.summary[metric.name].value) is not None]
        best[metric.name] = max(values) if metric.higher else min(values)
    rows = []
    for cell in cells:
        row = [f"`{cell.changes[name]}`" for name in names]
        for metric in columns:
            value = cell.result.summary[metric.name].value
            shown = number(metric, value)
            row.append(f"**{shown}**" if value == best[metric.name] and len(cells) > 1 else shown)
        rows.append(row)
    return table([*names, *(metric.name for metric in columns)], rows)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _folder_name(change: Mapping[str, Any]) -> str:
    said = "_".join(f"{name}={value}" for name, value in change.items())
    return "".join(sign if sign.isalnum() or sign in "=_.-" else "-" for sign in said)
