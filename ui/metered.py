"""A desk that counts, limits and logs what is asked at it, whichever interface asks."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.errors import AbstractQAError, Busy
from rag.events import Done, Event
from ui import logs
from ui.desk import Desk, Run
from ui.limits import Limit, TooMany
from ui.metrics import Metrics
from ui.users import interface_in, user_in

if TYPE_CHECKING:
    from rag.library import Library

LOG = logging.getLogger("abstract_qa.questions")
REMEMBERED = 4096


class Metered(Desk):
    """`limit` is per user; `questions` says whether the log holds what was asked."""

    def __init__(self, library: Library, limit: Limit, *, questions: bool = False) -> None:
        super().__init__(library)
        self._limit = limit
        self._log_questions = questions
        self._requests: OrderedDict[str, str] = OrderedDict()
        self.metrics = Metrics(library.count, lambda: self.busy, self.warmed.is_set)

    def asked_by(self, owner: str, request_id: str) -> None:
        """Remember under which request `owner` asks: a queue lies between the request and its answer."""
        self._requests[owner] = request_id
        self._requests.move_to_end(owner)
        while len(self._requests) > REMEMBERED:
            self._requests.popitem(last=False)

    @contextmanager
    def run(self, owner: str) -> Iterator[Run]:
        """As of any desk. Raises TooMany too, where the user of `owner` asks too often."""
        wait = self._limit.take(user_in(owner))
        if wait:
            self.metrics.limited.labels("questions").inc()
            raise TooMany(f"That is more than {self._limit.times} questions in a minute; ask again in {wait} s.", wait)
        try:
            with super().run(owner) as run:
                yield run
        except Busy:
            self.metrics.limited.labels("busy").inc()
            raise

    def stream(self, run: Run, question: str, *others: Any, **named: Any) -> Iterator[Event]:
        """As of any desk."""
        began = time.perf_counter()
        status, kind, times = "stopped", "", {}
        try:
            for event in super().stream(run, question, *others, **named):
                if isinstance(event, Done):
                    answer = event.answer
                    status, kind = answer.status, answer.question.kind
                    times = {
                        "first_source": answer.timings.first_source,
                        "first_token": answer.timings.first_token,
                        "total": answer.timings.total,
                    }
                yield event
        except Exception as error:
            status = "failed"
            self.metrics.errors.labels(type(error).__name__).inc()
            if not isinstance(error, AbstractQAError):
                LOG.exception("answering failed", extra={"fields": {"request_id": self._request(run.owner)}})
            raise
        finally:
            interface = interface_in(run.owner)
            self.metrics.questions.labels(interface, status).inc()
            for until, took in times.items():
                if took is not None:
                    self.metrics.seconds.labels(until).observe(took / 1000)
            text = {"question": question} if self._log_questions else {}
            logs.event(
                LOG, logging.INFO, "question", request_id=self._request(run.owner), user=user_in(run.owner),
                interface=interface, status=status, kind=kind, characters=len(question),
                ms={name: round(took) for name, took in times.items() if took is not None},
                wall_ms=round(1000 * (time.perf_counter() - began)), **text,
            )  # fmt: skip

    def _request(self, owner: str) -> str:
        # Gradio's queue may have been started by another request, whose context its events then run in.
        return self._requests.get(owner) or logs.REQUEST_ID.get()


class Fenced:
    """A library that reads only uploads and what lies in named folders; all else is the library's own."""

    def __init__(self, library: Library, folders: tuple[Path, ...], uploads: Path) -> None:
        self._library = library
        self._folders = tuple(folder.expanduser().resolve() for folder in folders)
        self._uploads = uploads.resolve()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def ingest(self, paths: Any, *others: Any, **named: Any) -> Any:
        """As of any library. Raises InputError for a path outside, links followed, whether or not it is there."""
        found = [Path(path).expanduser().resolve() for path in paths]
        for path in found:
            if not any(path.is_relative_to(folder) for folder in (self._uploads, *self._folders)):
                from rag.errors import InputError

                named_ = ", ".join(map(str, self._folders)) or "none is named"
                raise InputError(
                    f"The server may not read {path.name!r} where it lies; upload it, or have its folder named in the "
                    f"setting ingest_folders ({named_})."
                )
        return self._library.ingest(found, *others, **named)
