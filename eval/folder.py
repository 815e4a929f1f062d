"""The folder of a run: written so that a kill loses no answered question, and read back whole.

run.json       what was run with what: set, settings, fingerprints of models, prompts, library and code
set.jsonl      the questions that were asked
answers.jsonl  {"id", "answer"} or {"id", "error"}, a line per question, in the order of the set
trace.jsonl    {"id", "seconds", "ranking", "relevance"}: what the metrics need beside the answer
scores.jsonl   {"id", "verdict", "scores", "golds"}; written at the end, like what follows
papers.jsonl   the papers that the report shows
result.json    what `eval --json` prints
report.html, summary.md
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import filelock

from eval.metrics import Outcome, Scored
from eval.resolve import Gold
from eval.sets import Item
from rag.errors import InputError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PaperText:
    """As much of a paper as a report shows."""

    paper_id: str
    title: str
    abstract: str
    locator: str | None
    url: str | None


class RunFolder:
    """A folder that a run writes into. Use as a context manager; one process at a time can hold it."""

    def __init__(self, path: Path, identity: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        """Makes the folder, or takes up the run that is in it.

        `identity` is what must be the same for a run to be taken up, `details` what is noted beside it. Raises
        InputError where the folder holds something else, another run, or is in use.
        """
        self.path = path
        self._identity = as_kept(identity)
        path.mkdir(parents=True, exist_ok=True)
        self._lock = filelock.FileLock(path / ".lock", timeout=0)
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise InputError(
                "another process is writing this run; wait for it or choose another --out.", file=str(path)
            ) from None
        try:
            self.info = self._begin(details)
            self.done = self._read_done()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Adds finished questions; when this returns they are on the disk."""
        # The trace goes first: a question counts as done when its line in answers.jsonl is whole.
        _append(self.path / "trace.jsonl", map(_trace_json, outcomes))
        _append(self.path / "answers.jsonl", map(_answer_json, outcomes))
        self.done.update((outcome.id, outcome) for outcome in outcomes)

    def forget_failed(self) -> None:
        """Takes failed questions out, so that they are asked again."""
        self.done = {name: outcome for name, outcome in self.done.items() if outcome.error is None}
        self.put_in_order(tuple(self.done))

    def put_in_order(self, ids: Iterable[str]) -> None:
        """Rewrites answers and trace in the order given."""
        outcomes = [self.done[name] for name in ids if name in self.done]
        write_lines(self.path / "trace.jsonl", map(_trace_json, outcomes))
        write_lines(self.path / "answers.jsonl", map(_answer_json, outcomes))

    def finish(self, info: Mapping[str, Any]) -> None:
        """Writes run.json anew."""
        _write(self.path / "run.json", json.dumps(info, indent=2, ensure_ascii=False) + "\n")

    def _begin(self, details: Mapping[str, Any]) -> Json:
        if (self.path / "run.json").is_file():
            info = read_info(self.path)
            old = info["identity"]
            if changed := [key for key in {**old, **self._identity} if old.get(key) != self._identity.get(key)]:
                said = "; ".join(f"{key} was {old.get(key)!r}, is {self._identity.get(key)!r}" for key in changed)
                raise InputError(f"holds another run ({said}); choose another --out or remove it.", file=str(self.path))
            return info
        if strangers := sorted(entry.name for entry in self.path.iterdir() if entry.name != ".lock"):
            message = f"is not empty and holds no run ({strangers[0]}); choose an empty or new folder for --out."
            raise InputError(message, file=str(self.path))
        info = {"identity": self._identity, **details, "started": now(), "finished": None}
        self.finish(info)
        return info

    def _read_done(self) -> dict[str, Outcome]:
        answers, trace = self.path / "answers.jsonl", self.path / "trace.jsonl"
        for path in (answers, trace):
            _drop_torn_line(path)
        return _outcomes(self.path)


def as_kept(identity: Mapping[str, Any]) -> Json:
    """What reading an identity back gives, to compare it with."""
    kept: Json = json.loads(json.dumps(identity))
    return kept


def now() -> str:
    """The time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_info(path: Path) -> Json:
    """run.json of a run folder. Raises InputError where it is none."""
    try:
        info: Json = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except OSError:
        raise InputError(
            "is not a run folder (no run.json); give a folder that `eval --out` wrote.", file=str(path)
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(f"is damaged ({error.msg}).", file=str(path / "run.json"), line=error.lineno) from None
    return info


def is_finished(path: Path) -> bool:
    """Whether the run in the folder was scored."""
    return (path / "scores.jsonl").is_file()


def check_finished(path: Path) -> None:
    """Raises InputError where the run in the folder is not finished."""
    if not is_finished(path):
        raise InputError("the run is not finished; run the same command again to take it up.", file=str(path))


def read_rows(path: Path, items: Sequence[Item]) -> tuple[Scored, ...]:
    """The scored questions of a finished run folder. Raises InputError where one is missing."""
    outcomes = _outcomes(path)
    rows = {row["id"]: row for row in _lines(path / "scores.jsonl")}
    if missing := [item.id for item in items if item.id not in outcomes or item.id not in rows]:
        raise InputError(f"lacks the answer or the scores of question {missing[0]!r}.", file=str(path))
    return tuple(
        Scored(
            item,
            outcomes[item.id],
            tuple(Gold(**gold) for gold in rows[item.id]["golds"]),
            rows[item.id]["scores"],
            rows[item.id]["verdict"],
        )
        for item in items
    )


def write_rows(path: Path, rows: Iterable[Scored]) -> None:
    """Writes scores.jsonl."""
    lines = (
        {
            "id": row.item.id,
            "verdict": row.verdict,
            "scores": dict(row.scores),
            "golds": [asdict(gold) for gold in row.golds],
        }
        for row in rows
    )
    write_lines(path / "scores.jsonl", lines)


def read_papers(path: Path) -> dict[str, PaperText]:
    """papers.jsonl by paper id."""
    return {row["paper_id"]: PaperText(**row) for row in _lines(path / "papers.jsonl")}


def write_papers(path: Path, papers: Iterable[PaperText]) -> None:
    """Writes papers.jsonl."""
    write_lines(path / "papers.jsonl", map(asdict, papers))


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes JSON lines, the whole file or nothing of it."""
    _write(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _outcomes(path: Path) -> dict[str, Outcome]:
    traces = {row["id"]: row for row in _lines(path / "trace.jsonl")}
    found: dict[str, Outcome] = {}
    for row in _lines(path / "answers.jsonl"):
        trace = traces.get(row["id"], {})
        found[row["id"]] = Outcome(
            id=row["id"],
            answer=row.get("answer"),
            error=row.get("error"),
            ranking=tuple(trace.get("ranking", ())),
            relevance=trace.get("relevance"),
            seconds=trace.get("seconds", 0.0),
            judged=trace.get("judged"),
        )
    return found


def _answer_json(outcome: Outcome) -> Json:
    if outcome.error is not None:
        return {"id": outcome.id, "error": outcome.error}
    return {"id": outcome.id, "answer": outcome.answer}


def _trace_json(outcome: Outcome) -> Json:
    row: Json = {"id": outcome.id, "seconds": round(outcome.seconds, 4), "relevance": outcome.relevance}
    row["ranking"] = list(outcome.ranking)
    return row if outcome.judged is None else row | {"judged": outcome.judged}


def _lines(path: Path) -> Iterator[Json]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"is damaged ({error.msg}).", file=str(path), line=number) from None


def _append(path: Path, rows: Iterable[Json]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def _drop_torn_line(path: Path) -> None:
    """A kill can leave the last line unfinished; that question was not done."""
    if path.is_file():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)


def _write(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".part")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
