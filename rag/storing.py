"""Papers on their way into the library: collected, embedded a few hundred at a time, stored while the next are read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from rag.errors import LibraryError
from rag.index import Index, PreparedPaper
from rag.matching import Draft, Drafts
from rag.prepare import prepare
from rag.records import PaperVectors
from rag.report import Stage
from rag.types import Rejected
from rag.writing import Writing

# Enough for batches of like length; few enough that a kill costs seconds of work.
BATCH = 512
Note = Callable[[Writing], None]


class Pipeline:
    """Collects drafts and notes and stores them batch by batch; one batch is being stored while the next is embedded.

    `failed` is called for an entry whose paper could not be embedded. Use as a context manager, from one thread.
    """

    def __init__(
        self, index: Index, drafts: Drafts, failed: Callable[[Draft, Rejected], None], stage: Callable[[Stage], None]
    ) -> None:
        self._index = index
        self._drafts = drafts
        self._failed = failed
        self._stage = stage
        self._waiting: dict[Draft, None] = {}
        self._embedding = 0
        self._removals: list[int] = []
        self._notes: list[Note] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._flying: tuple[Future[None], list[Draft]] | None = None

    @property
    def left(self) -> int:
        """Papers that were added and are not yet embedded."""
        return len(self._waiting) + self._embedding

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
        """Embed what waits and hand it on to be stored."""
        drafts, removals, notes = list(self._waiting), self._removals, self._notes
        self._waiting, self._removals, self._notes = {}, [], []
        if not (drafts or removals or notes):
            return
        for draft in drafts:
            draft.frozen = True
        self._embedding = len(drafts)
        self._stage("embedding")
        prepared = self._prepared(drafts)
        self._embedding = 0
        self.settle()
        self._stage("storing")
        self._flying = (self._pool.submit(self._store, prepared, removals, notes), drafts)

    def settle(self) -> None:
        """Wait until what was handed on is stored. Raises what went wrong with it."""
        if self._flying is not None:
            future, drafts = self._flying
            self._flying = None
            future.result()
            self._drafts.stored(drafts)

    def _prepared(self, drafts: list[Draft]) -> list[PreparedPaper]:
        """Drafts with their vectors; those that cannot be embedded are reported and left out."""
        fresh = [draft for draft in drafts if not draft.keeps_vectors]
        made: dict[Draft, PaperVectors] = {}
        try:
            vectors = prepare([draft.paper for draft in fresh], self._index.encoder) if fresh else []
            made = dict(zip(fresh, vectors, strict=True))
        except LibraryError:
            raise
        except Exception:  # noqa: BLE001 - one text that the embedder cannot take must not cost the others
            for draft in fresh:
                try:
                    made[draft] = prepare([draft.paper], self._index.encoder)[0]
                except Exception as error:  # noqa: BLE001 - as above
                    self._reject(draft, error)
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

    def _reject(self, draft: Draft, error: Exception) -> None:
        for entry in draft.entries:
            source = entry.record.source
            reason = f"entry {source.position} could not be embedded ({' '.join(str(error).split())})"
            self._failed(draft, Rejected(source.path, None, reason))

    def _store(self, prepared: list[PreparedPaper], removals: list[int], notes: list[Note]) -> None:
        self._index.put(prepared, removals)
        if notes:
            with self._index.records.transaction() as connection:
                writing = Writing(connection)
                for note in notes:
                    note(writing)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)
