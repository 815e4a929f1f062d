"""Runs a question set against a library, one question after another or, for retrieval only, in batches."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import prompts
from eval import fingerprints
from eval.folder import RunFolder, as_kept, is_finished, now, read_info, write_papers, write_rows
from eval.foreign import load_set
from eval.metrics import Outcome
from eval.ranking import DEPTH
from eval.resolve import Finder
from eval.result import RunResult, make_result
from eval.sets import Item, QuestionSet, select, write_set
from rag import answer_json
from rag.errors import InputError
from rag.settings import Settings
from rag.types import Answer, Filters, Question, RankedPaper, Turn

if TYPE_CHECKING:
    from rag.store.index import Index

BATCH = 64
Judge = Callable[[Item, Mapping[str, Any]], str | None]


class Searching(Protocol):
    """What is needed of `rag.search.retrieve.Searcher`."""

    def search(self, question: Question | str, k: int, filters: Filters = ...) -> tuple[RankedPaper, ...]: ...
    def search_many(self, questions: Sequence[Question], k: int) -> list[tuple[RankedPaper, ...]]: ...


class Indexed(Finder, Protocol):
    """What is needed of `rag.store.index.Index`."""

    @property
    def manifest(self) -> Any: ...


class Answering(Protocol):
    """What is needed of `rag.answering.pipeline.Answerer`."""

    def ask(
        self, question: str, history: Sequence[Turn] = ..., filters: Filters = ..., k: int | None = ...
    ) -> Answer: ...


class EvalLibrary(Protocol):
    """What is needed of `rag.library.Library`."""

    @property
    def settings(self) -> Settings: ...
    @property
    def index(self) -> Indexed: ...
    @property
    def searcher(self) -> Searching: ...
    def answerer(self, llm: str | None = None) -> Answering: ...


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a set.

    `llm` names another model than the settings', "none" for none. `k` is the number of papers given to the model (None:
    the settings'). `limit`, `kinds` and `seed` select, see `eval.sets.select`; `seed` also draws the intervals (None:
    0). `out` is the run's folder, None to keep nothing. `retry_failed` asks failed questions of a run that is taken up
    again. `judge` gives a model's verdict on an answer, see `eval.judge`.
    """

    retrieval_only: bool = False
    llm: str | None = None
    k: int | None = None
    limit: int | None = None
    kinds: tuple[str, ...] = ()
    seed: int | None = None
    out: Path | None = None
    retry_failed: bool = False
    judge: Judge | None = None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """`remaining` is in seconds, None until it can be told."""

    done: int
    total: int
    failed: int
    seconds: float
    remaining: float | None


def _silent(_: RunProgress) -> None:
    """Progress for nobody."""


def run_eval(
    set_path: Path,
    library: EvalLibrary,
    options: RunOptions,
    progress: Callable[[RunProgress], None] = _silent,
    cancel: threading.Event | None = None,
) -> RunResult | None:
    """Runs the set at `set_path` and scores it.

    With `options.out` every answer is on disk before the next question is asked; calling again with the same set,
    settings, library and code takes the run up where it ended. Setting `cancel` ends it after the question in hand:
    the result is then None, and the folder can be taken up later. Raises InputError for a set or folder that cannot be
    used. A question that raises is counted as failed and scores its worst value.
    """
    whole = load_set(set_path)
    questions = select(whole, limit=options.limit, kinds=options.kinds, seed=options.seed)
    identity = _identity(questions, library, options)
    details = _details(library, options)
    if options.out is None:
        done: dict[str, Outcome] = {}
        if not _answer_all(questions, library, options, done, None, progress, cancel):
            return None
        return make_result(questions, library.index, done, {"identity": identity, **details, "started": now()}, None)
    with RunFolder(options.out, identity, details) as folder:
        if options.retry_failed:
            folder.forget_failed()
        write_set(folder.path / "set.jsonl", questions.items)
        if not _answer_all(questions, library, options, folder.done, folder, progress, cancel):
            return None
        folder.put_in_order(item.id for item in questions.items)
        result = make_result(questions, library.index, folder.done, folder.info, folder.path)
        write_rows(folder.path, result.rows)
        write_papers(folder.path, result.papers.values())
        folder.finish(result.info)
    return result


def unfinished(runs: Path, set_path: Path, library: EvalLibrary, options: RunOptions) -> Path | None:
    """The newest run in the folder `runs` that `run_eval` with these options would take up; None where there is none.

    Raises InputError for a set that cannot be read.
    """
    questions = select(load_set(set_path), limit=options.limit, kinds=options.kinds, seed=options.seed)
    identity = as_kept(_identity(questions, library, options))
    for info in sorted(runs.glob("*/run.json"), reverse=True):
        folder = info.parent
        if not is_finished(folder):
            with suppress(InputError):  # a damaged one is none that can be taken up
                if read_info(folder)["identity"] == identity:
                    return folder
    return None


def _answer_all(
    questions: QuestionSet,
    library: EvalLibrary,
    options: RunOptions,
    done: dict[str, Outcome],
    folder: RunFolder | None,
    progress: Callable[[RunProgress], None],
    cancel: threading.Event | None,
) -> bool:
    """Fills `done`; False when it was cancelled."""
    todo = [item for item in questions.items if item.id not in done]
    answered = _retrieved(todo, library) if options.retrieval_only else _answered(todo, library, options)
    began, new = time.perf_counter(), 0
    for batch in answered if todo else ():
        if folder is not None:
            folder.append(batch)  # which also adds to `done`
        done.update((outcome.id, outcome) for outcome in batch)
        new += len(batch)
        seconds = time.perf_counter() - began
        failed = sum(outcome.error is not None for outcome in done.values())
        progress(RunProgress(len(done), len(questions.items), failed, seconds, seconds / new * (len(todo) - new)))
        if cancel is not None and cancel.is_set() and new < len(todo):
            return False
    return True


def _answered(items: Sequence[Item], library: EvalLibrary, options: RunOptions) -> Iterator[tuple[Outcome, ...]]:
    answerer = library.answerer(options.llm)
    for item in items:
        began = time.perf_counter()
        try:
            answer = answerer.ask(item.question, item.history, item.filters, options.k)
            seconds = time.perf_counter() - began
            asked = answer.question
            ranked = library.searcher.search(asked, DEPTH, asked.filters)
            data = answer_json.to_json(answer)
            judged = None if options.judge is None else options.judge(item, data)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong with one question is that question's result
            yield (_failure(item, error, time.perf_counter() - began),)
            continue
        # What the user was shown comes first; the search only carries it on to the depth that the metrics look at.
        ids = dict.fromkeys(hit.paper.paper_id for hit in (*answer.passages, *ranked))
        first = next(iter(answer.passages or ranked), None)
        relevance = None if first is None else first.relevance
        yield (Outcome(item.id, data, None, tuple(ids)[:DEPTH], relevance, seconds, judged),)


def _retrieved(items: Sequence[Item], library: EvalLibrary) -> Iterator[tuple[Outcome, ...]]:
    for start in range(0, len(items), BATCH):
        batch = items[start : start + BATCH]
        try:
            yield _search(batch, library)
        except Exception:  # noqa: BLE001 - one bad question must not fail the batch: ask each alone
            yield tuple(_search_one(item, library) for item in batch)


def _search_one(item: Item, library: EvalLibrary) -> Outcome:
    began = time.perf_counter()
    try:
        return _search([item], library)[0]
    except Exception as error:  # noqa: BLE001 - as in _answered
        return _failure(item, error, time.perf_counter() - began)


def _search(items: Sequence[Item], library: EvalLibrary) -> tuple[Outcome, ...]:
    began = time.perf_counter()
    asked = [_understand(item, library) for item in items]
    understood = (time.perf_counter() - began) / len(items)
    found = library.searcher.search_many(asked, DEPTH)
    seconds = (time.perf_counter() - began) / len(items)
    settings = library.settings.fingerprint()
    return tuple(
        Outcome(
            item.id,
            _partial_answer(question, ranked, understood * 1000, seconds * 1000, settings),
            None,
            tuple(hit.paper.paper_id for hit in ranked),
            ranked[0].relevance if ranked else None,
            seconds,
        )
        for item, question, ranked in zip(items, asked, found, strict=True)
    )


def _understand(item: Item, library: EvalLibrary) -> Question:
    from rag.question.understand import understand

    return understand(item.question, item.history, cast("Index", library.index), None, item.filters)


def _partial_answer(
    question: Question, ranked: Sequence[RankedPaper], understood: float, total: float, settings: str
) -> dict[str, Any]:
    """The part of an Answer object that retrieval alone gives: no status, no text, no citations.

    Times are the batch's, shared out evenly.
    """
    timings = {"understand": understood, "retrieve": total, "first_source": total if ranked else None}
    return {
        "question": question.text,
        "standalone_question": question.standalone,
        "search_text": question.search_text,
        "kind": question.kind,
        "passages": [answer_json.passage_json(hit) for hit in ranked],
        "timings_ms": timings | {"first_token": None, "total": total},
        "settings": settings,
    }


def _failure(item: Item, error: Exception, seconds: float) -> Outcome:
    return Outcome(item.id, None, f"{type(error).__name__}: {error}".strip().rstrip(":"), seconds=seconds)


def _identity(questions: QuestionSet, library: EvalLibrary, options: RunOptions) -> dict[str, Any]:
    """What must not change for a run to be taken up."""
    settings = library.settings
    return {
        "set": questions.fingerprint,
        "questions": fingerprints.of_json([item.id for item in questions.items]),
        "retrieval_only": options.retrieval_only,
        "llm": None if options.retrieval_only else options.llm or settings.llm,
        "k": options.k or settings.k,
        "judge": options.judge is not None,
        "settings": settings.fingerprint(),
        "library": fingerprints.of_library(library.index),
        "prompts": prompts.fingerprint(),
        "code": fingerprints.of_code(),
    }


def _details(library: EvalLibrary, options: RunOptions) -> dict[str, Any]:
    return {
        "version": fingerprints.version(),
        "options": {"limit": options.limit, "kinds": list(options.kinds), "seed": options.seed},
        "settings": library.settings.model_dump(mode="json"),
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
    }
