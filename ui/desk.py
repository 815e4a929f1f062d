"""The desk all interfaces ask at: one library, its warm-up, the questions being answered."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag.errors import AbstractQAError, Busy
from rag.events import Event, Sources, Stage
from rag.types import Filters, Turn
from ui.users import LOCAL, interface_in, user_in

if TYPE_CHECKING:
    from rag.library import Library

# Questions being answered or waiting for the model, all in all and of one asker.
MOST_AT_ONCE = 24
MOST_EACH = 12
LOG = logging.getLogger("abstract_qa.ui")


@dataclass(slots=True)
class Run:
    """A question being answered. `owner` is the browser tab or connection that asked it."""

    number: int
    owner: str
    cancel: threading.Event = field(default_factory=threading.Event)

    @property
    def asker(self) -> str:
        """Whom the owner counts as where turns are taken.

        A user who has signed in, whatever they ask through. Without sign-in, each tab of the page, and all of those
        together who ask through one of the other interfaces.
        """
        user, interface = user_in(self.owner), interface_in(self.owner)
        return user if user != LOCAL else self.owner if interface == "page" else interface


class Desk:
    """Asks the library for every interface. Safe to use from several threads.

    `warmed` is set once the model is loaded or is known to be impossible to load; `problem` says why then.
    """

    def __init__(self, library: Library, llm: str | None = None) -> None:
        self.library = library
        self.llm = llm or library.settings.llm
        self.k = library.settings.k
        self.warmed = threading.Event()
        self.problem: str | None = None
        self.changed = 0
        self._runs: dict[int, Run] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Load what the first search would load, then the answering model, in the background."""
        self.warmed.clear()
        self.problem = None
        threading.Thread(target=self._warm, name="warm-up", daemon=True).start()

    def _warm(self) -> None:
        began = time.perf_counter()
        with suppress(AbstractQAError):  # an empty or damaged library is told of to whoever asks
            self.library.search("warm up", 1)
        try:
            if self.llm != "none":
                self.library.writer(self.llm).warm_up()
            LOG.info("model %s ready after %.1f s", self.llm, time.perf_counter() - began)
        except AbstractQAError as error:
            self.problem = str(error)
            LOG.warning("%s", error)
        except Exception:
            self.problem = f"The model {self.llm} could not be loaded; the server's log says why."
            LOG.exception("model %s could not be loaded", self.llm)
        finally:
            self.warmed.set()

    def use(self, llm: str) -> None:
        """Answer with another model from now on."""
        self.llm = llm
        self.warm()

    @contextmanager
    def run(self, owner: str) -> Iterator[Run]:
        """A place among the questions being answered; leaving it stops the answer.

        Raises Busy when all are taken, or as many of them as one asker may have.
        """
        with self._lock:
            run = Run(next(self._numbers), owner)
            if len(self._runs) >= MOST_AT_ONCE:
                raise Busy(f"{MOST_AT_ONCE} questions are being answered already; ask again in a moment.")
            if sum(other.asker == run.asker for other in self._runs.values()) >= MOST_EACH:
                raise Busy(f"{MOST_EACH} questions of yours are being answered already; ask again in a moment.")
            self._runs[run.number] = run
        try:
            yield run
        finally:
            run.cancel.set()
            with self._lock:
                self._runs.pop(run.number, None)

    def stop(self, owner: str) -> None:
        """Stop what `owner` asked."""
        with self._lock:
            for run in self._runs.values():
                if run.owner == owner:
                    run.cancel.set()

    @property
    def busy(self) -> int:
        """How many questions are being answered."""
        return len(self._runs)

    def stream(
        self,
        run: Run,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = Filters(),  # noqa: B008 - frozen
        k: int | None = None,
        loading: Callable[[], None] = lambda: None,
    ) -> Iterator[Event]:
        """The events of an answer. While the model is still loading `loading` is called and sources come first."""
        if not self.warmed.is_set():
            loading()
            yield Stage("waiting")
            yield Sources(self.library.search(question, k or self.k, filters))
            while not self.warmed.wait(0.2):
                if run.cancel.is_set():
                    return
        llm = "none" if self.problem else self.llm
        yield from self.library.stream(question, history, filters, k or self.k, run.cancel, llm, run.asker)
