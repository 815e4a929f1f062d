"""A library in one file, and back, with what users have beside it.

Of the library only the database is kept: both indexes can be made again from it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from rag.errors import InputError, LibraryDamaged, LibraryEmpty, StorageError
from rag.settings import Settings
from rag.store.belongings import check_inert, check_sound, drop, pack, put_back, unpacked
from rag.store.database import FILE_NAME, SCHEMA, SCHEMA_VERSION, Database, new_id
from rag.store.locks import WRITE_WAIT_S, Lock

TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", SCHEMA))


@dataclass(frozen=True, slots=True)
class Kept:
    """What a backup holds, or what a restore brought back: a number of papers, and the files of users by name."""

    papers: int
    files: tuple[str, ...]
    left: tuple[str, ...] = ()  # files in the backup that the home had already and that were left as they are


def backup(settings: Settings, file: Path) -> Kept:
    """Write the library under `settings.home`, with conversations, feedback and preferences, into `file`.

    The library may be in use.

    The file appears under its name only when it is complete. Raises LibraryEmpty, LibraryDamaged, StorageError.
    """
    if not (settings.home / FILE_NAME).is_file():
        raise LibraryEmpty(f"There is no library in {settings.home}; `abstract-qa ingest PATH` makes one.")
    database = Database(settings.home)
    partial = file.with_name(f"{file.name}.part")
    try:
        problem = database.check()
        if problem:
            raise LibraryDamaged(f"{database.path} is damaged ({problem}); a backup of it would be too.")
        partial.unlink(missing_ok=True)
        database.copy_to(partial)
        files = pack(settings.home, partial)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(file)
    except OSError as error:
        raise StorageError(f"{file} cannot be written ({error.strerror or error}).") from error
    except sqlite3.DatabaseError as error:
        raise StorageError(f"The backup could not be made ({error}).") from error
    finally:
        database.close()
        with suppress(OSError):  # a disk that is read-only refuses even for what is not there
            partial.unlink(missing_ok=True)
    return Kept(_count(file), files)


def restore(settings: Settings, file: Path) -> Kept:
    """Make the library under `settings.home` what `file`, written by `backup`, holds.

    A damaged library that is there is moved aside; conversations, feedback and preferences that are there are left as
    they are. Raises InputError where `file` is no backup or where the home
    holds papers already, LibraryBusy, StorageError.
    """
    try:
        count = _count(file)
        _check_layout(file)
        belongings = unpacked(file)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"{file} is no backup of a library ({error}); `abstract-qa backup FILE` writes one.") from None
    home = settings.home
    try:
        home.mkdir(parents=True, exist_ok=True)
        with Lock(home / "write.lock").held(WRITE_WAIT_S):
            _make_way(home)
            # Before the library: what is broken off in between can be done again, which papers would prevent.
            written = put_back(home, belongings)
            partial = home / f"{FILE_NAME}.part"
            with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(partial)) as target:
                source.backup(target)
                drop(target)
                # The indexes beside it are of another library, or not there.
                target.execute("DELETE FROM stamps")
                # A library of its own: on one Chroma server the two do not share a collection.
                target.execute("UPDATE manifest SET value = ? WHERE key = 'library'", [new_id()])
                target.execute("DELETE FROM manifest WHERE key LIKE '% at'")
                target.execute("INSERT OR REPLACE INTO manifest VALUES ('generation', '1')")
                target.execute("UPDATE papers SET state = 0 WHERE state = 1")
                target.commit()
                target.execute("PRAGMA journal_mode = WAL")
            partial.replace(home / FILE_NAME)
    except OSError as error:
        raise StorageError(f"{home} cannot be written ({error.strerror or error}).") from error
    except sqlite3.Error as error:
        raise StorageError(f"{home} cannot be written ({error}).") from error
    return Kept(count, written, tuple(name for name in belongings if name not in written))


def _count(file: Path) -> int:
    """Papers in a backup; sqlite3.DatabaseError where it is none or damaged."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        check_sound(connection)
        return int(connection.execute("SELECT count(*) FROM papers WHERE state != 2").fetchone()[0])


def _check_layout(file: Path) -> None:
    """sqlite3.DatabaseError where `file` lacks what a library has, or has what could act by itself."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        check_inert(connection)
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if missing := TABLES - found:
            raise sqlite3.DatabaseError(f"it has no {', '.join(sorted(missing))}")
        manifest = dict(connection.execute("SELECT key, value FROM manifest"))
        if manifest.get("schema") != SCHEMA_VERSION:
            raise sqlite3.DatabaseError(f"its layout is {manifest.get('schema', 'unknown')}, not {SCHEMA_VERSION}")


def _make_way(home: Path) -> None:
    """Move aside a library that is damaged; an empty one goes, one with papers is an InputError."""
    path = home / FILE_NAME
    if not path.exists():
        return
    try:
        held = _count(path)
    except sqlite3.Error:
        number = next(n for n in range(1, 1000) if not (home / f"{FILE_NAME}.damaged-{n}").exists())
        path.rename(home / f"{FILE_NAME}.damaged-{number}")
        held = 0
    if held:
        raise InputError(
            f"{home} holds a library of {held} papers already; restore into another --home, or move {path} away first."
        )
    for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
        (home / name).unlink(missing_ok=True)
