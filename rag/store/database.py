"""`library.sqlite`: its tables, its connections, and its errors as sentences.

SQLite in WAL mode with every commit flushed to disk: what was committed survives a kill and a power cut. One
connection writes, any number of them read.
"""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from rag.errors import LibraryBusy, LibraryDamaged, LibraryError, StorageError
from rag.store.locks import Gate

SCHEMA_VERSION = "1"
FILE_NAME = "library.sqlite"

# `state`: 0 stored, 1 pending (written here, perhaps not yet in the two indexes), 2 leaving (perhaps still in them).
# `indexed` is the number of chunks that the dense index may hold of the paper. Rows are never used again, so that an
# index that lags behind cannot name another paper. Vectors are float16, row after row; spans are int32 pairs.
SCHEMA = """
CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE papers (
    row INTEGER PRIMARY KEY AUTOINCREMENT, paper_id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL,
    venue TEXT, year INTEGER, abstract INTEGER NOT NULL, indexed INTEGER NOT NULL DEFAULT 0,
    embedded BLOB NOT NULL, data TEXT NOT NULL);
CREATE INDEX papers_venue ON papers (venue, year, state);
CREATE INDEX papers_state ON papers (state) WHERE state != 0;
CREATE TABLE keys (key TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) WITHOUT ROWID;
CREATE INDEX keys_row ON keys (row);
CREATE TABLE files (
    file INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, stamp TEXT, report TEXT);
CREATE INDEX files_name ON files (name);
CREATE TABLE entries (
    entry INTEGER PRIMARY KEY, file INTEGER NOT NULL, position INTEGER NOT NULL, row INTEGER NOT NULL,
    hash BLOB NOT NULL, record BLOB NOT NULL);
CREATE INDEX entries_place ON entries (file, position);
CREATE INDEX entries_row ON entries (row);
CREATE TABLE stamps (
    part TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (part, name)) WITHOUT ROWID;
"""
VECTORS = """
CREATE TABLE IF NOT EXISTS chunks{0} (
    row INTEGER PRIMARY KEY, title BLOB NOT NULL, spans BLOB NOT NULL, vectors BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sentences{0} (row INTEGER PRIMARY KEY, spans BLOB NOT NULL, vectors BLOB NOT NULL);
"""
# Keys of the manifest that are numbers; one that is not there counts as 0.
NUMBERS = ("dimension", "max_tokens", "generation", "chroma", "lexical")
_MEND = "restore a backup with `abstract-qa restore FILE`, or move the file away and run `abstract-qa ingest` again"


def new_id() -> str:
    """What tells a library from others."""
    return uuid.uuid4().hex[:12]


class Database:
    """Connections to one `library.sqlite`, made with its tables where it is missing."""

    def __init__(self, home: Path) -> None:
        """Opens or makes the file. Raises LibraryDamaged, StorageError, LibraryBusy."""
        self.path = home / FILE_NAME
        self.lock = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._gate = Gate()
        self._closed = False
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"The folder {home} cannot be made ({error.strerror}); choose another with --home."
            ) from None
        with self.translated():
            self._writer = self._connect()
            try:
                self._prepare()
            except BaseException:
                self._writer.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=10, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -16000")
        connection.create_function("folded", 1, lambda text: text.casefold() if text else "", deterministic=True)
        return connection

    def _prepare(self) -> None:
        found = self._writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not found:
            self._writer.execute("PRAGMA journal_mode = WAL")
            with self.transaction() as writer:
                if not writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    for statement in (SCHEMA + VECTORS.format("")).split(";"):
                        writer.execute(statement)
                    made = [("schema", SCHEMA_VERSION), ("library", new_id())]
                    writer.executemany("INSERT INTO manifest VALUES (?, ?)", made)
            return
        tables = {name for (name,) in self._writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "manifest" not in tables:
            raise LibraryDamaged(f"{self.path} is a database of another program; choose another folder with --home.")
        manifest: dict[str, str] = dict(self._writer.execute("SELECT key, value FROM manifest"))
        if manifest.get("schema") != SCHEMA_VERSION:
            raise LibraryDamaged(
                f"{self.path} has layout {manifest.get('schema', 'unknown')}, this program reads layout "
                f"{SCHEMA_VERSION}; update the program, or {_MEND}."
            )
        for key in NUMBERS:
            if not manifest.get(key, "0").isdecimal():
                raise self.damaged(f"its manifest has {manifest[key]!r} as {key}, not a number")
        if not manifest.get("library"):
            raise self.damaged("its manifest has no library")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, for this thread alone until the end of the block."""
        with self._gate.passing():
            if self._closed:
                raise LibraryError(f"The library in {self.path.parent} is closed.")
            with self.translated():
                try:
                    connection = self._idle.pop()
                except IndexError:
                    connection = self._connect()
                try:
                    yield connection
                finally:
                    self._idle.append(connection)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all of it or nothing. One at a time in this process; other processes are waited for."""
        with self.lock, self.translated():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has already rolled back
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def translated(self) -> Iterator[None]:
        """SQLite's errors as this program's."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> LibraryError:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return LibraryBusy(f"Another process is writing to {self.path.parent}; try again when it has finished.")
        if name.startswith("SQLITE_FULL"):
            return StorageError(
                f"The disk that holds {self.path.parent} is full; make room and run the same command again."
            )
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM")):
            return StorageError(
                f"{self.path} cannot be read or written ({error}); check the folder's rights and the disk."
            )
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return self.damaged(str(error))
        return LibraryDamaged(f"{self.path} does not hold what it should ({error}); {_MEND}.")

    def damaged(self, what: str) -> LibraryDamaged:
        """The error for a file in which SQLite found `what` to be wrong."""
        return LibraryDamaged(f"{self.path} is damaged ({what}); {_MEND}.")

    def check(self) -> str | None:
        """None where the whole file is sound, else what SQLite finds wrong with it. Reads all of it."""
        try:
            with self.reading() as connection:
                found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except LibraryDamaged as error:
            return str(error)
        return None if found == "ok" else str(found)

    def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole database in a new file, while others read and write."""
        with self.reading() as connection, closing(sqlite3.connect(path)) as target:
            connection.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        """Close all connections. Twice is once."""
        with self._gate.alone(), self.lock:
            self._closed = True
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()
