"""The library on disk as one thing: the database and the two indexes in step; opened, checked, mended, rebuilt.

The protocol that makes it safe to kill: `put` and `remove` first write to the database that papers are pending or
leaving, then bring both indexes up to it, then mark them done. Opening finishes what was begun.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag.errors import LibraryBusy, LibraryDamaged, LibraryError, StorageError
from rag.papers.finding import find_row, index_keys
from rag.settings import Settings
from rag.store.backup import backup, restore
from rag.store.derived import Derived, silent
from rag.store.health import Health, Repair, examine, mend
from rag.store.locks import WRITE_WAIT_S, Lock
from rag.store.manifest import Manifest, fits, made_by, mismatch, read_manifest
from rag.store.records import Entry, FloatArray, Order, PaperVectors, Records
from rag.store.reindex import embed_anew
from rag.store.vectors import VectorTable
from rag.store.writing import Writing
from rag.types import Filters, Paper

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

    from rag.models.embeddings import Encoder

__all__ = ["Health", "Index", "Manifest", "PaperVectors", "PreparedPaper", "Repair", "backup", "restore"]

T = TypeVar("T")
ALL = Filters()
FEW = 5  # up to a fifth of all vectors is picked out before it is compared
MOST_KEPT = 20_000  # words whose best paper is kept


@dataclass(frozen=True, slots=True)
class PreparedPaper:
    """A paper ready to be stored.

    `row` is that of the paper it replaces, None for a new one (or for one known by its `paper_id`). `vectors` None
    keeps those that are stored, for a paper whose title and abstract have not changed. `entries` are new entries of
    files that it was made from, `dropped` numbers of entries that no longer count. The papers in the rows `absorbs`
    turned out to be this one: they go, and their entries become this paper's.
    """

    paper: Paper
    vectors: PaperVectors | None
    row: int | None = None
    entries: tuple[Entry, ...] = ()
    dropped: tuple[int, ...] = ()
    absorbs: tuple[int, ...] = ()


class Index:
    """One library. Reading is safe from every thread; writing takes the library's lock by itself.

    `notes` says in plain sentences what opening had to mend; empty for nothing.
    """

    def __init__(self, settings: Settings, encoder: Encoder | None, records: Records) -> None:
        """Use `Index.open`."""
        self.settings = settings
        self.records = records
        self.notes: tuple[str, ...] = ()
        self._encoder = encoder
        self._lock = Lock(settings.home / "write.lock")
        self._derived = Derived(records, settings.home, settings.store)
        self._storing = threading.RLock()
        self._ingesting = threading.Lock()
        self._kept = ExitStack()
        self._bests: tuple[int, dict[str, list[tuple[int, float]]]] = (-1, {})
        self._exact: tuple[int, NDArray[np.int64], FloatArray] | None = None

    @classmethod
    def open(cls, settings: Settings, encoder: Encoder | None, *, write: bool = False, rebuild: bool = False) -> Self:
        """The library under `settings.home`, made if it is not there; what an interrupted run left is finished first.

        `write` keeps other writers out until it is closed. `encoder` None will do for what needs no vectors of new
        text. `rebuild` embeds everything anew with `encoder` before it returns. Raises EmbedderMismatch when the
        library was built with another embedder or chunking, LibraryBusy, LibraryDamaged, StorageError.
        """
        index = cls(settings, encoder, Records(settings.home))
        try:
            if write or rebuild:
                index._kept.enter_context(index.locked())
            if rebuild:
                index.rebuild()
            else:
                index._check_encoder()
                index.notes = index._recovered(write)
        except BaseException:
            index.close()
            raise
        return index

    def close(self) -> None:
        """Let go of all files. Twice is once."""
        self._derived.close()
        self.records.close()
        self._kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def encoder(self) -> Encoder:
        """What makes vectors of questions and papers. Raises LibraryError for an index opened without."""
        if self._encoder is None:
            raise LibraryError("This library was opened without an embedder, which is needed here; name one.")
        return self._encoder

    @property
    def manifest(self) -> Manifest:
        """What the library says of itself, as it is now."""
        return read_manifest(self.records)

    def _check_encoder(self) -> None:
        manifest = self.manifest
        if self._encoder is not None and not self._encoder.loaded:
            # The same weights may read fewer tokens; that is known once they are loaded.
            self._encoder.when_loaded = self._refuse_misfit
        if self._encoder is not None and manifest.fingerprint and not fits(manifest, self._encoder):
            if self.records.count():
                raise mismatch(manifest, self._encoder, str(self.settings.home))
            # Nothing is lost by embedding an empty library anew.
            self.rebuild()

    def _refuse_misfit(self) -> None:
        manifest = self.manifest
        if self._encoder is not None and manifest.fingerprint and not fits(manifest, self._encoder):
            raise mismatch(manifest, self._encoder, str(self.settings.home))

    def _recovered(self, write: bool) -> tuple[str, ...]:
        try:
            return mend(self.records, self._derived, self._lock)
        except LibraryBusy:
            # Another process is at work, and finishes what it has begun.
            return ()
        except StorageError as error:
            if write:
                raise
            return (f"What an interrupted run left could not be finished: {error}",)

    # Reading

    def __len__(self) -> int:
        return self.records.count()

    def papers(self, rows: Sequence[int]) -> dict[int, Paper]:
        """The papers of those rows that exist."""
        return self.records.papers(rows)

    def rows(
        self,
        filters: Filters = ALL,
        text: str | None = None,
        source: str | None = None,
        order: Order = "added",
        descending: bool = False,
    ) -> list[int]:
        """Rows of the papers that match, in the order they came in or another one; see `Records.rows`."""
        return self.records.rows(filters, text, source, order, descending)

    def vectors(self, rows: Sequence[int]) -> dict[int, PaperVectors]:
        """Vectors of those rows that exist."""
        return self.records.vectors(rows)

    def vector_table(self, rows: Sequence[int]) -> VectorTable:
        """Vectors of those rows that exist, side by side; see `Records.vector_table`."""
        return self.records.vector_table(rows)

    def find(self, reference: str) -> Paper | None:
        """The paper known by an id, alias, DOI, arXiv id, exact title or `FILE#POSITION`; None where there is none."""
        row = find_row(self.records, reference)
        return None if row is None else self.papers([row]).get(row)

    def dense(self, vector: FloatArray, n: int, filters: Filters = ALL) -> list[tuple[int, float]]:
        """The `n` rows whose nearest chunk has the greatest cosine with `vector` (d,), best first.

        Without filters from the index in Chroma (approximate). With filters, or while the index is being written, by
        comparing all that match (exact).
        """
        if not filters:
            found = self._mended(self._derived.rebuild_dense, lambda: self._derived.query(vector, n))
            if found is not None:
                return found
        rows, cosines = self.scan(vector, filters)
        best = np.argsort(-cosines, kind="stable")[:n]
        return [(int(rows[place]), float(cosines[place])) for place in best]

    def scan(self, vector: FloatArray, filters: Filters = ALL) -> tuple[NDArray[np.int64], FloatArray]:
        """All rows that match, ascending, and for each the greatest cosine of `vector` (d,) with one of its chunks."""
        chunk_rows, matrix = self._matrix()
        asked = vector.astype(np.float32)
        if filters:
            kept = np.flatnonzero(np.isin(chunk_rows, np.array(self.rows(filters), dtype=np.int64)))
            chunk_rows = chunk_rows[kept]
            # Picking out many vectors takes longer than comparing all.
            many = len(kept) * FEW > len(matrix)
            cosines = (matrix @ asked)[kept] if many else matrix[kept] @ asked
        else:
            cosines = matrix @ asked
        if not len(chunk_rows):
            return chunk_rows, np.zeros(0, np.float32)
        rows, first = np.unique(chunk_rows, return_index=True)
        return rows, np.maximum.reduceat(cosines, first)

    def _matrix(self) -> tuple[NDArray[np.int64], FloatArray]:
        held = self._exact
        generation = self.records.generation
        if held is None or held[0] != generation:
            held = self._exact = (generation, *self.records.chunk_matrix())
        return held[1], held[2]

    def lexical(self, text: str, n: int, filters: Filters = ALL) -> list[tuple[int, float]]:
        """The `n` best rows for the words of `text` with their BM25 scores, best first."""
        if n == 1 and not filters:
            return self._best(text)
        return self._lexical(text, n, filters)

    def _best(self, text: str) -> list[tuple[int, float]]:
        """The best row for a text, which is asked for every word of a question, and several times: it is kept."""
        generation = self.records.generation
        held = self._bests
        if held[0] != generation or len(held[1]) > MOST_KEPT:
            held = self._bests = (generation, {})
        if text not in held[1]:
            held[1][text] = self._lexical(text, 1, ALL)
        return list(held[1][text])

    def _lexical(self, text: str, n: int, filters: Filters) -> list[tuple[int, float]]:
        venues = None if filters.venue is None else self.records.venues(filters.venue)
        if venues == []:
            return []
        years = (filters.year_from, filters.year_to)
        return self._mended(self._derived.rebuild_lexical, lambda: self._derived.search(text, n, venues, years))

    def _mended(self, rebuild: Callable[[], None], ask: Callable[[], T]) -> T:
        """What `ask` gives; an index found to be damaged is made anew once."""
        try:
            return ask()
        except LibraryDamaged as damage:
            try:
                with self.locked():
                    rebuild()
            except LibraryBusy:
                raise damage from None
            return ask()

    def vector_store(self) -> VectorStore:
        """The chunks as LangChain's VectorStore, to read from; what is written to it directly, the library ignores."""
        return self._derived.dense().vector_store(self.encoder)

    # Writing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing. Raises LibraryBusy when one is at it for longer than a short while."""
        with self._lock.held(WRITE_WAIT_S):
            yield

    @contextmanager
    def one_ingest(self) -> Iterator[None]:
        """Let one thread of this process read files at a time; the next waits."""
        with self._ingesting:
            yield

    def put(self, batch: Sequence[PreparedPaper], leaving: Sequence[int] = ()) -> list[int]:
        """Store papers: new ones, or in place of those they replace; remove the rows `leaving`. Returns their rows.

        When it returns, they are in the database and in both indexes. Raises StorageError when the disk refuses, with
        the library as it was or, where only an index could not be written, with the papers waiting for it.
        """
        with self.locked(), self._storing:
            self._check_encoder()
            with self.records.transaction() as connection:
                writing = Writing(connection)
                if self._encoder is not None and any(item.vectors is not None for item in batch):
                    writing.set(**made_by(self._encoder))
                rows = [_write(writing, item) for item in batch]
                writing.leave(leaving)
            self._derived.carry()
        return rows

    def remove(self, paper_ids: Iterable[str]) -> int:
        """Remove papers from the library and both indexes; ids that are not there do not count.

        The files they came from count as unread, so that reading one again brings its papers back.
        """
        found = self.records.rows_of_ids(paper_ids)
        with self.locked(), self._storing:
            with self.records.transaction() as connection:
                writing = Writing(connection)
                writing.forget_reading()
                writing.leave(found)
            self._derived.carry()
        return len(found)

    # Keeping it well

    def verify(self) -> Health:
        """Compare the database and both indexes, paper by paper, and read every file. Changes nothing."""
        return examine(self.records, self._derived)

    def repair(self) -> Repair:
        """Mend what `verify` finds. Raises LibraryDamaged where the database itself is torn."""
        with self._storing:
            return Repair(mend(self.records, self._derived, self._lock, wait_s=WRITE_WAIT_S, thorough=True))

    def rebuild(self, progress: Callable[[int, int], None] = silent) -> None:
        """Embed all papers anew with the index's encoder and make the vector index from that.

        The old vectors serve until all new ones are there; one that was interrupted goes on where it stopped.
        `progress` gets papers done and papers in all.
        """
        with self.locked(), self._storing:
            embed_anew(self.records, self._derived, self.encoder, progress)


def _write(writing: Writing, item: PreparedPaper) -> int:
    """One paper of a batch, within the transaction."""
    writing.leave(item.absorbs, heir=item.row)
    row = item.row if item.row is not None else writing.row_of(item.paper.paper_id)
    if row is None and item.absorbs:
        raise ValueError("a paper that absorbs others takes the row of one that is there")
    row = writing.paper(row, item.paper, index_keys(item.paper))
    if item.vectors is not None:
        writing.vectors(row, item.vectors)
    writing.drop_entries(item.dropped)
    for entry in item.entries:
        writing.add_entry(entry, row)
    writing.refresh_sources([row])
    return row
