"""Papers on their way into the library: collected, embedded a few hundred at a time, stored while the next are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from rag.errors import AbstractQAError, LibraryError
from rag.ingest.prepare import prepare
from rag.ingest.report import Stage
from rag.papers.matching import Draft, Drafts
from rag.store.index import Index, PreparedPaper
from rag.store.records import PaperVectors
from rag.store.writing import Writing
from rag.types import Rejected

# Enough for batches of like length; few enough that a kill costs seconds of work.
BATCH = 512
WAIT_S = 0.2
Note = Callable[[Writing], None]


@dataclass(slots=True)
class _Batch:
    """Drafts on their way, and what is known of it: `embedded` gives them ready to store, `stored` when they are."""

    drafts: list[Draft]
    embedded: Future[list[PreparedPaper]]
    stored: Future[None]
    failed: list[tuple[Draft, Rejected]]


class Pipeline:
    """Collects drafts and notes and stores them batch by batch; one batch is embedded while the one before it is stored
    and the next is collected.

    `failed` is called for an entry whose paper could not be embedded, `stored` with drafts that are done with,
    `waiting` a few times a second while there is nothing to do but wait; all from the caller's thread. Use as a
    context manager, from one thread.
    """

    def __init__(
        self,
        index: Index,
        drafts: Drafts,
        failed: Callable[[Draft, Rejected], None],
        stored: Callable[[Sequence[Draft]], None],
        waiting: Callable[[Stage], None],
    ) -> None:
        self._index = index
        self._drafts = drafts
        self._failed = failed
        self._stored = stored
        self._tell = waiting
        self._waiting: dict[Draft, None] = {}
        self._removals: list[int] = []
        self._notes: list[Note] = []
        self._embedder = ThreadPoolExecutor(1, thread_name_prefix="embed")
        self._store_keeper = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._flying: deque[_Batch] = deque()
        self._broken = False

    @property
    def left(self) -> int:
        """Papers that were added and are not yet embedded."""
        return len(self._waiting) + sum(len(batch.drafts) for batch in self._flying if not batch.embedded.done())

    def add(self, draft: Draft) -> None:
        """A paper to be stored; one that is waiting already is stored once."""
        self._waiting[draft] = None

    def remove(self, row: int) -> None:
        """A paper to be removed."""
        self._removals.append(row)

    def note(self, note: Note) -> None:
        """Something to be written when all that was added so far is stored."""
        self._notes.append(note)

    def flush_when_full(self) -> None:
        """Embed and store what waits, if it is enough for a batch."""
        if len(self._waiting) + len(self._removals) >= BATCH or len(self._notes) >= 20 * BATCH:
            self.flush()

    def flush(self) -> None:
        """Hand on what waits, as soon as not more than one batch is on its way."""
        drafts, removals, notes = list(self._waiting), self._removals, self._notes
        self._waiting, self._removals, self._notes = {}, [], []
        if not (drafts or removals or notes):
            return
        for draft in drafts:
            draft.frozen = True
        while len(self._flying) > 1:
            self._land()
        failed: list[tuple[Draft, Rejected]] = []
        embedded = self._embedder.submit(self._prepared, drafts, failed)
        stored = self._store_keeper.submit(self._store, embedded, removals, notes)
        self._flying.append(_Batch(drafts, embedded, stored, failed))

    def settle(self) -> None:
        """Wait until what was handed on is stored. Raises what went wrong with it."""
        while self._flying:
            self._land()

    def _land(self) -> None:
        """Wait for the oldest batch."""
        batch = self._flying[0]
        while wait([batch.stored], WAIT_S).not_done:
            self._tell("storing" if batch.embedded.done() else "embedding")
        self._flying.popleft()
        batch.stored.result()
        for draft, rejected in batch.failed:
            self._failed(draft, rejected)
        self._drafts.stored(batch.drafts)
        self._stored(batch.drafts)

    def _prepared(self, drafts: list[Draft], failed: list[tuple[Draft, Rejected]]) -> list[PreparedPaper]:
        """Drafts with their vectors; those that cannot be embedded go to `failed` and are left out."""
        fresh = [draft for draft in drafts if not draft.keeps_vectors]
        made: dict[Draft, PaperVectors] = {}
        try:
            vectors = prepare([draft.paper for draft in fresh], self._index.encoder) if fresh else []
            made = dict(zip(fresh, vectors, strict=True))
        except AbstractQAError:
            raise
        except Exception:  # noqa: BLE001 - one text that the embedder cannot take must not cost the others
            for draft in fresh:
                try:
                    made[draft] = prepare([draft.paper], self._index.encoder)[0]
                except Exception as error:  # noqa: BLE001 - as above
                    failed += _rejections(draft, error)
        return [
            PreparedPaper(
                draft.paper,
                made.get(draft),
                draft.row,
                tuple(draft.entries),
                tuple(draft.dropped),
                tuple(draft.absorbs),
            )
            for draft in drafts
            if draft in made or draft.keeps_vectors
        ]

    def _store(self, embedded: Future[list[PreparedPaper]], removals: list[int], notes: list[Note]) -> None:
        if self._broken:
            # What a note says of a file holds only once all that came before is stored.
            raise LibraryError("An earlier batch could not be stored.")
        try:
            self._index.put(embedded.result(), removals)
            if notes:
                with self._index.records.transaction() as connection:
                    writing = Writing(connection)
                    for note in notes:
                        note(writing)
        except BaseException:
            self._broken = True
            raise

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in (self._embedder, self._store_keeper):
            pool.shutdown(wait=True, cancel_futures=True)


def _rejections(draft: Draft, error: Exception) -> list[tuple[Draft, Rejected]]:
    found = []
    for entry in draft.entries:
        source = entry.record.source
        reason = f"entry {source.position} could not be embedded ({' '.join(str(error).split())})"
        found.append((draft, Rejected(source.path, None, reason)))
    return found
