"""A finished run: every question with its values, the figures over all, and the shapes it is handed out in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.folder import PaperText, check_finished, now, read_info, read_papers, read_rows
from eval.metrics import Outcome, Scored, score, summarise, summarise_kinds
from eval.resolve import Finder, Missing, resolve
from eval.sets import QuestionSet, read_set
from eval.stats import Estimate

_SHOWN = 3  # ranked papers whose abstract a report holds, beside the cited and the relevant ones


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run with its figures. `info` is run.json; `papers` are those that a report shows, by id."""

    questions: QuestionSet
    rows: tuple[Scored, ...]
    summary: Mapping[str, Estimate]
    by_kind: Mapping[str, Mapping[str, Estimate]]
    missing: tuple[Missing, ...]
    papers: Mapping[str, PaperText]
    info: Mapping[str, Any] = field(hash=False)
    folder: Path | None = None

    @property
    def retrieval_only(self) -> bool:
        return bool(self.info["identity"]["retrieval_only"])

    @property
    def failed(self) -> int:
        return sum(row.outcome.error is not None for row in self.rows)


def make_result(
    questions: QuestionSet,
    index: Finder,
    outcomes: Mapping[str, Outcome],
    info: Mapping[str, Any],
    folder: Path | None,
) -> RunResult:
    """Scores the outcomes. `info` is run.json as the run began; what is known at its end is added."""
    golds, missing = resolve(questions.items, index)
    retrieval_only = bool(info["identity"]["retrieval_only"])
    rows = score(questions.items, golds, outcomes, index, retrieval_only=retrieval_only)
    seed = info["options"]["seed"] or 0
    models = {json.dumps(row.outcome.answer.get("model"), sort_keys=True) for row in rows if row.outcome.answer}
    finished = {
        **info,
        "finished": info.get("finished") or now(),
        "set": questions.path,
        "seconds": round(sum(row.outcome.seconds for row in rows), 2),
        "failed": sum(row.outcome.error is not None for row in rows),
        "verdicts": dict(Counter(row.verdict for row in rows)),
        "models": [json.loads(model) for model in sorted(models) if model != "null"],
        "missing": [{"question_id": m.question_id, "line": m.line, "reference": m.reference} for m in missing],
    }
    summary, by_kind = summarise(rows, seed), summarise_kinds(rows, seed)
    return RunResult(questions, rows, summary, by_kind, missing, _shown_papers(rows, index), finished, folder)


def load_run(path: Path) -> RunResult:
    """A finished run from its folder, without the library. Raises InputError where it is none or not finished."""
    info = read_info(path)
    check_finished(path)
    questions = read_set(path / "set.jsonl")
    rows = read_rows(path, questions.items)
    seed = info["options"]["seed"] or 0
    missing = tuple(Missing(**row) for row in info["missing"])
    asked = QuestionSet(info["set"], questions.items, info["identity"]["set"])
    return RunResult(
        asked, rows, summarise(rows, seed), summarise_kinds(rows, seed), missing, read_papers(path), info, path
    )


def to_contract_json(result: RunResult) -> dict[str, Any]:
    """What `eval --json` prints: set, n, metrics, by_kind, run. A metric that no question enters has null and n = 0."""
    run = {key: value for key, value in result.info.items() if key != "missing"}
    run["folder"] = None if result.folder is None else str(result.folder)
    run["missing_relevant"] = [{"id": m.question_id, "line": m.line, "reference": m.reference} for m in result.missing]
    return {
        "set": result.questions.path,
        "n": len(result.rows),
        "metrics": {name: estimate.as_json() for name, estimate in result.summary.items()},
        "by_kind": {
            kind: {"n": sum(row.item.kind == kind for row in result.rows)}
            | {name: estimate.as_json() for name, estimate in metrics.items()}
            for kind, metrics in result.by_kind.items()
        },
        "run": run,
    }


def _shown_papers(rows: Sequence[Scored], index: Finder) -> dict[str, PaperText]:
    wanted: dict[str, None] = {}
    for row in rows:
        wanted |= dict.fromkeys(gold.paper_id for gold in row.golds if gold.paper_id is not None)
        wanted |= dict.fromkeys(row.outcome.ranking[:_SHOWN])
        wanted |= dict.fromkeys(c["paper_id"] for c in (row.outcome.answer or {}).get("citations", ()))
    found = {name: index.find(name) for name in wanted}
    return {
        name: PaperText(name, paper.title, paper.abstract, paper.locator, paper.url)
        for name, paper in found.items()
        if paper is not None
    }
