"""The dense and the lexical index of a library, kept in step with its database.

Each lives in a numbered folder of its own (`chroma/3`, `lexical/1`), or for a Chroma server in a numbered collection;
one that is made anew gets the next number, so that whoever still reads the old one is not disturbed.
`index.lock` is shared by those who ask and held alone by who writes: nobody loads files that are half written.
"""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path

from rag.errors import LibraryDamaged, StorageError
from rag.ingest.chunking import stored_chunks
from rag.store.dense import COLLECTION, DATABASE, SYNCED, Dense, DenseItem, chunk_id, sound
from rag.store.lexical import Lexical
from rag.store.locks import Gate, SharedLock
from rag.store.records import LEAVING, PENDING, STORED, FloatArray, PaperVectors, Records
from rag.store.stamps import differing, stamp
from rag.store.writing import Writing
from rag.texts.analysis import ANALYSIS
from rag.types import Paper

DENSE, LEXICAL = "chroma", "lexical"
PORTION = 1000  # papers at a time while an index is made anew
# Files of tantivy that change in place; the others are written once.
_CHANGING = {"meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock"}


def silent(done: int, total: int) -> None:
    """Progress for nobody."""


class Derived:
    """Both indexes. They are opened when first asked; safe to use from several threads."""

    def __init__(self, records: Records, home: Path, store: str) -> None:
        """`store` is the address of a Chroma server, empty for the embedded one."""
        self._records = records
        self._home = home
        self._store = store
        self._lock = SharedLock(home / "index.lock")
        self._gate = Gate()
        self._opening = threading.RLock()
        self._dense: Dense | None = None
        self._lexical: Lexical | None = None
        self._dense_seen = self._lexical_seen = records.generation

    # Reading

    def query(self, vector: FloatArray, n: int) -> list[tuple[int, float]] | None:
        """As `Dense.query`; None while an embedded index is being written.

        An embedded Chroma that meets entries another process has written takes them into its own copy and may write
        that to the same files; so it is asked only while nobody writes, and opened anew when somebody has. A server
        sees to that itself.
        """
        if self._store:
            return self._query_server(vector, n)
        with self._lock.shared() as free:
            if not free:
                return None
            self._refresh()
            with self._gate.passing():
                if not self._store and not self._dense_folder().is_dir():
                    return []
                return self.dense().query(vector, n)

    def _query_server(self, vector: FloatArray, n: int) -> list[tuple[int, float]]:
        with self._gate.passing():
            generation = self._records.generation
            if self._dense_seen != generation:
                self._must_be_sound()
                self._dense_seen = generation
            dense = self.dense()
            try:
                return dense.query(vector, n)
            except StorageError:
                if dense.name == self._collection():
                    raise
        # Another process has made the index anew, in another collection.
        with self._gate.alone():
            self._drop_handle()
        with self._gate.passing():
            return self.dense().query(vector, n)

    def search(
        self, text: str, n: int, venues: Sequence[str] | None, years: tuple[int | None, int | None]
    ) -> list[tuple[int, float]]:
        """As `Lexical.search`. Tantivy lets others read while one writes."""
        if self._lexical_seen != self._records.generation:
            with self._gate.alone():
                seen = self._records.generation
                if self._lexical is not None and self._lexical.folder == self._lexical_folder():
                    self._lexical.reload()
                else:
                    self._lexical = None
                self._lexical_seen = seen
        with self._gate.passing():
            return self.lexical().search(text, n, venues, years)

    def _refresh(self) -> None:
        """Let go of a dense index that another process has changed."""
        if self._dense_seen != self._records.generation:
            with self._gate.alone():
                generation = self._records.generation
                if self._dense_seen != generation:
                    self._drop_handle()
                    self._dense_seen = generation

    def dense(self) -> Dense:
        """The dense index, opened. Raises LibraryDamaged where its files are not what they were."""
        with self._opening:
            if self._dense is None:
                self._must_be_sound()
                dense = Dense(self._dense_place(), self._collection())
                try:
                    self._must_be_own(dense)
                    # The files are read at the first question; that has to happen while nobody writes them.
                    dense.load()
                except BaseException:
                    dense.close()
                    raise
                self._dense = dense
            return self._dense

    def _must_be_sound(self) -> None:
        problem = self.dense_problem()
        if problem:
            raise LibraryDamaged(f"The vector index is damaged: {problem}; `abstract-qa doctor --repair` mends it.")

    def _must_be_own(self, dense: Dense) -> None:
        """Raises LibraryDamaged for a collection on a server that is not what this library wrote there."""
        manifest = self._records.manifest()
        if not self._store or f"{self._dense_part} at" not in manifest or dense.made_by == manifest.get("fingerprint"):
            return
        what = "holds vectors of another embedder" if dense.made_by else "is not there any more"
        raise LibraryDamaged(
            f"The collection {dense.name} on the Chroma server at {self._store} {what}; "
            "`abstract-qa doctor --repair` makes a new one from the library."
        )

    def lexical(self) -> Lexical:
        """The lexical index, opened. Raises LibraryDamaged where its files are not what they were."""
        with self._opening:
            if self._lexical is None:
                problem = self.lexical_problem()
                if problem:
                    raise LibraryDamaged(
                        f"The lexical index is damaged: {problem}; `abstract-qa doctor --repair` mends it."
                    )
                self._lexical = Lexical(self._lexical_folder())
            return self._lexical

    def close(self) -> None:
        """Let go of all files."""
        with self._gate.alone():
            self._let_go()

    def _let_go(self) -> None:
        self._drop_handle()
        self._lexical = None

    def _drop_handle(self) -> None:
        if self._dense is not None:
            self._dense.close()
        self._dense = None

    # Places

    def _number(self, part: str) -> int:
        return int(self._records.manifest().get(part, "0"))

    @property
    def _dense_part(self) -> str:
        """The dense index's key in the manifest: each Chroma server has its own."""
        return f"{DENSE} {self._store}" if self._store else DENSE

    def _dense_folder(self, number: int | None = None) -> Path:
        return self._home / DENSE / str(self._number(DENSE) if number is None else number)

    def _lexical_folder(self, number: int | None = None) -> Path:
        return self._home / LEXICAL / str(self._number(LEXICAL) if number is None else number)

    def _dense_place(self, number: int | None = None) -> Path | str:
        return self._store or self._dense_folder(number)

    def _collection(self, number: int | None = None) -> str:
        if not self._store:
            return COLLECTION
        library = self._records.manifest()["library"]
        return f"{COLLECTION}-{library}-{self._number(self._dense_part) if number is None else number}"

    # Soundness

    def dense_problem(self, *, thorough: bool = False) -> str | None:
        """What speaks against loading the dense index, in words; None for nothing. `thorough` reads every file."""
        if not self._in_step(self._dense_part):
            return "it does not hold what the library holds"
        if self._store:
            return None
        folder, stamps = self._dense_folder(), self._records.stamps(DENSE)
        vectors = [item for item in stamps if item[0] != DATABASE]
        for name in differing(folder, vectors, thorough=thorough):
            return f"{name} is not what it was"
        known = {item[0] for item in vectors}
        for path in folder.glob(f"*/{SYNCED}"):
            if path.relative_to(folder).as_posix() not in known:
                return "it was being written when the program ended"
        # Opening alone changes the time of Chroma's own database; its size changes only when it is written.
        resized = any(not _has_size(folder / DATABASE, item[1]) for item in stamps if item[0] == DATABASE)
        if (resized or (thorough and stamps)) and not sound(folder):
            return "its database is torn"
        return None

    def lexical_problem(self, *, thorough: bool = False) -> str | None:
        """What speaks against loading the lexical index, in words; None for nothing. `thorough` reads every file."""
        if not self._in_step(LEXICAL):
            return "it does not hold what the library holds"
        folder, stamps = self._lexical_folder(), self._records.stamps(LEXICAL)
        if stamps and self._records.manifest().get("analysis") != ANALYSIS:
            return "its terms are made in another way now"
        if stamps and not (folder / "meta.json").is_file():
            return "meta.json is missing"
        for name in differing(folder, stamps, thorough=thorough):
            # A commit that was not stamped any more may have merged a file away; what is there never changes.
            if (folder / name).exists():
                return f"{name} is not what it was"
        return None

    def _in_step(self, part: str) -> bool:
        manifest = self._records.manifest()
        return manifest.get(f"{part} at", "0") == manifest.get("generation", "0")

    # Writing. The caller holds the library's write lock.

    def carry(self) -> tuple[int, int]:
        """Bring what the database has as pending or leaving into both indexes; returns how many papers of each.

        Until the end of it the database says pending or leaving; a kill in between leaves work for the next call.
        """
        pending, leaving = self._records.by_state(PENDING), self._records.by_state(LEAVING)
        if not pending and not leaving:
            return 0, 0
        with self._lock.exclusive():
            dense, lexical = self.dense(), self.lexical()
            self._claim(dense)
            for start in range(0, max(1, len(pending)), PORTION):
                rows = pending[start : start + PORTION]
                first = start == 0
                papers, indexed = (
                    self._records.papers(rows),
                    self._records.indexed([*rows, *(leaving if first else [])]),
                )
                vectors = self._records.vectors(rows)
                held = {row: len(vectors[row].chunks) for row in rows}
                dense.delete(
                    chunk_id(row, ordinal)
                    for row, count in indexed.items()
                    for ordinal in range(held.get(row, 0), count)
                )
                dense.upsert([item for row in rows for item in _items(row, papers[row], vectors[row])])
                lexical.update(papers, leaving if first else ())
                with self._records.transaction() as connection:
                    writing = Writing(connection)
                    writing.indexed(held)
                    writing.state(rows, STORED)
                    if first:
                        writing.forget(leaving)
                    generation = self._settle(writing)
                self._dense_seen = self._lexical_seen = generation
        return len(pending), len(leaving)

    def _claim(self, dense: Dense) -> None:
        """An embedded index lies with its library; a collection on a server says itself what made it."""
        if self._store:
            dense.claim(self._records.manifest().get("fingerprint", ""))

    def _settle(self, writing: Writing) -> int:
        """Say in the database that both indexes are in step with it, and what their files look like.

        Returns the library's new generation.
        """
        generation = writing.grow()
        writing.set(**{f"{self._dense_part} at": generation, f"{LEXICAL} at": generation}, analysis=ANALYSIS)
        if not self._store:
            folder = self._dense_folder()
            writing.stamps(DENSE, stamp(folder, _dense_names(folder), self._records.stamps(DENSE)))
        folder = self._lexical_folder()
        writing.stamps(LEXICAL, stamp(folder, _lexical_names(folder), self._records.stamps(LEXICAL)))
        return generation

    def rebuild_dense(self, progress: Callable[[int, int], None] = silent, was: str = "") -> None:
        """Make the dense index anew from the stored vectors. `progress` gets papers done and to do.

        `was` is the fingerprint of the embedder that the old index was made with, where that was another.
        """
        own = {was, self._records.manifest().get("fingerprint", "")}
        old = self._number(self._dense_part)
        with self._lock.exclusive(), self._gate.alone():
            self._let_go()
            # What an earlier try left behind goes; what a copy of this library has on the same server stays.
            number = next(number for number in itertools.count(old + 1) if self._drop_dense(number, own))
            dense = Dense(self._dense_place(number), self._collection(number))
            try:
                self._claim(dense)
                rows = self._records.rows()
                counts: dict[int, int] = {}
                for part in _portions(rows):
                    papers, vectors = self._records.papers(part), self._records.vectors(part)
                    dense.upsert([item for row in part for item in _items(row, papers[row], vectors[row])])
                    counts |= {row: len(vectors[row].chunks) for row in part}
                    progress(len(counts), len(rows))
            finally:
                dense.close()
            with self._records.transaction() as connection:
                writing = Writing(connection)
                writing.indexed(counts)
                self._replace(writing, self._dense_part, number)
                if not self._store:
                    folder = self._dense_folder(number)
                    writing.stamps(DENSE, stamp(folder, _dense_names(folder)))
            self._drop_dense(old, own)

    def rebuild_lexical(self) -> None:
        """Make the lexical index anew from the stored papers."""
        number = self._number(LEXICAL) + 1
        with self._lock.exclusive(), self._gate.alone():
            self._let_go()
            folder = self._lexical_folder(number)
            _remove(folder)
            lexical = Lexical(folder)
            for part in _portions(self._records.rows()):
                lexical.update(self._records.papers(part))
            with self._records.transaction() as connection:
                writing = Writing(connection)
                self._replace(writing, LEXICAL, number)
                writing.set(analysis=ANALYSIS)
                writing.stamps(LEXICAL, stamp(folder, _lexical_names(folder)))
            _remove(self._lexical_folder(number - 1))

    def _replace(self, writing: Writing, part: str, number: int) -> None:
        """Point to the new index. Other parts that were in step stay so."""
        manifest = self._records.manifest()
        known = manifest.get("generation", "0")
        generation = writing.grow()
        in_step = {key: generation for key, value in manifest.items() if key.endswith(" at") and value == known}
        writing.set(**(in_step | {part: number, f"{part} at": generation}))

    def _drop_dense(self, number: int, own: Container[str]) -> bool:
        """Remove a dense index; False where it is not this library's. `own` are fingerprints of its embedders."""
        if not self._store:
            _remove(self._dense_folder(number))
            return True
        return Dense.drop(self._store, self._collection(number), own)


def _items(row: int, paper: Paper, vectors: PaperVectors) -> list[DenseItem]:
    chunks = stored_chunks(paper, vectors.chunk_spans)
    return [DenseItem(row, paper, chunk, vector) for chunk, vector in zip(chunks, vectors.chunks, strict=True)]


def _portions(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(rows), PORTION):
        yield rows[start : start + PORTION]


def _dense_names(folder: Path) -> list[str]:
    """Chroma's database, and the vector files where it reads them from the disk."""
    names = _names(folder)
    return names if any(name.endswith(SYNCED) for name in names) else [name for name in names if "/" not in name]


def _lexical_names(folder: Path) -> list[str]:
    return [name for name in _names(folder) if name not in _CHANGING]


def _names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _remove(folder: Path) -> None:
    # What cannot be removed now is in nobody's way: the manifest names another folder.
    shutil.rmtree(folder, ignore_errors=True)
