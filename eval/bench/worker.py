"""One pipeline in a process of its own, so that its memory and its start are its own.

`python -m eval.bench.worker JSON` is the process: JSON lines in (questions), JSON lines out (events). `Worker` is the
other end of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from eval.bench.machine import ROOT, memory_of
from rag.errors import AbstractQAError

Asker = Callable[[str, Callable[[str], None]], dict[str, Any]]


class WorkerFailed(AbstractQAError):
    """A measured process ended or answered nonsense."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker runs: the program on the library under `home` with the model `llm` ("none" for none), or the
    baseline on the Chroma store in the folder `home` with the model in the folder `llm` and the embedder `embedder`.
    """

    pipeline: Literal["ours", "baseline"]
    home: str
    llm: str
    embedder: str = ""
    max_new_tokens: int = 220


class Worker:
    """A running worker. Times are milliseconds; `started` holds those since the process was started."""

    def __init__(self, job: Job) -> None:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "eval.bench.worker", json.dumps(asdict(job))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.started: dict[str, float] = {}
        try:
            self.about = self._until("ready")
        except BaseException:
            self.close()
            raise

    def ask(self, question: str) -> dict[str, Any]:
        """The answer with its times, measured in the worker from the question's arrival."""
        if self._process.stdin is None:
            raise WorkerFailed("The measured process takes no questions.")
        self._process.stdin.write(json.dumps({"question": question}) + "\n")
        self._process.stdin.flush()
        return self._until("answer")

    def memory(self) -> dict[str, int | None]:
        """The worker's memory in bytes, see `Memory`."""
        return memory_of(self._process.pid).as_json()

    def _until(self, wanted: str) -> dict[str, Any]:
        if self._process.stdout is None:
            raise WorkerFailed("The measured process says nothing.")
        for line in self._process.stdout:
            found: dict[str, Any] = json.loads(line)
            self.started.setdefault(str(found["event"]), (time.perf_counter() - self._began) * 1000)
            if found["event"] == wanted:
                return found
        raise WorkerFailed(f"The measured process ended with status {self._process.wait()}; its errors stand above.")

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ours(job: Job) -> tuple[Asker, dict[str, Any]]:
    from rag.answer_json import to_json
    from rag.events import Done, Sources, Token
    from rag.library import Library

    library = Library.open(job.home, llm=job.llm, max_new_tokens=job.max_new_tokens)
    writer = None if job.llm == "none" else library.writer(job.llm)

    def ask(question: str, tell: Callable[[str], None]) -> dict[str, Any]:
        began = time.perf_counter()
        times: dict[str, float | None] = {"first_source": None, "first_token": None}
        text, answer = "", None

        def note(name: str) -> None:
            if times[name] is None:
                times[name] = (time.perf_counter() - began) * 1000
                tell(name)

        for event in library.stream(question):
            if isinstance(event, Sources):
                note("first_source")
            elif isinstance(event, Token):
                note("first_token")
                text += event.text
            elif isinstance(event, Done):
                answer = to_json(event.answer)
        total = (time.perf_counter() - began) * 1000
        if answer is None:
            raise WorkerFailed("The answer ended before it was complete.")
        return {
            "answer": answer["answer"],
            "status": answer["status"],
            **times,
            "total": total,
            "tokens": writer.count_tokens(text) if writer and text else 0,
        }

    return ask, {"papers": library.count(), "model": None if writer is None else dict(writer.description)}


def _baseline(job: Job) -> tuple[Asker, dict[str, Any]]:
    from rag import quiet

    with quiet.imports():
        from eval.bench import baseline
    embeddings = baseline.HuggingFaceEmbeddings(Path(job.embedder))
    pipeline = baseline.Baseline(baseline.opened(embeddings, Path(job.home)), Path(job.llm), job.max_new_tokens)
    return pipeline.answer, {"dtype": pipeline.dtype, "embedder_dtype": embeddings.dtype}


def serve(job: Job) -> None:
    """Answer what comes on standard input until it ends."""
    # What libraries print must not come between the events.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(event: str, values: Mapping[str, Any]) -> None:
        out.write(json.dumps({"event": event, **values}) + "\n")

    ask, about = (_ours if job.pipeline == "ours" else _baseline)(job)
    say("ready", about)
    for line in sys.stdin:
        say("answer", ask(json.loads(line)["question"], lambda name: say(name, {})))


if __name__ == "__main__":
    serve(Job(**json.loads(sys.argv[1])))
