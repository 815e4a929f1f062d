"""What users have beside the library, as it goes into a backup and comes back: conversations, feedback, preferences.

Users, keys, sessions and settings stay out: a backup is a file that is sent about, and they hold or may hold secrets.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

BELONGINGS = ("conversations.sqlite", "feedback.jsonl", "preferences.json")
_TABLE = "belongings"
_SQLITE = b"SQLite format 3\0"


def pack(home: Path, file: Path) -> tuple[str, ...]:
    """Put what is in `home` into a table of its own in the database `file`; returns the names.

    Raises sqlite3.Error, naming the file where one of them is damaged, and OSError.
    """
    packed: list[str] = []
    with closing(sqlite3.connect(file)) as target, target:
        target.execute(f"CREATE TABLE {_TABLE} (name TEXT PRIMARY KEY, content BLOB NOT NULL)")
        for name in BELONGINGS:
            path = home / name
            if not path.is_file():
                continue
            content = _copied(path, file.parent) if path.suffix == ".sqlite" else path.read_bytes()
            target.execute(f"INSERT INTO {_TABLE} VALUES (?, ?)", [name, content])
            packed.append(name)
    return tuple(packed)


def unpacked(file: Path) -> dict[str, bytes]:
    """What `pack` has put into `file`; nothing where it was written before there was a table for it.

    Raises sqlite3.DatabaseError where a name is none of BELONGINGS or a database is damaged or holds what could act by
    itself.
    """
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source:
        if not source.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [_TABLE]).fetchone():
            return {}
        found = source.execute(f"SELECT name, CAST(content AS BLOB) FROM {_TABLE}").fetchall()
    for name, content in found:
        if name not in BELONGINGS:
            raise sqlite3.DatabaseError(f"it holds a file that is not the library's, {str(name)[:80]!r}")
        if name.endswith(".sqlite"):
            _check(name, content)
    return dict(found)


def put_back(home: Path, found: dict[str, bytes]) -> tuple[str, ...]:
    """Write the files that are not in `home` yet; returns their names. One that is there is left as it is."""
    written: list[str] = []
    for name, content in found.items():
        path = home / name
        if path.exists():
            continue
        partial = path.with_name(f"{name}.part")
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        written.append(name)
    return tuple(written)


def drop(target: sqlite3.Connection) -> None:
    """Take the table out of a copy of the backup that becomes the library."""
    target.execute(f"DROP TABLE IF EXISTS {_TABLE}")


def check_sound(database: sqlite3.Connection, before: str = "") -> None:
    """sqlite3.DatabaseError where SQLite finds something wrong, which follows the words `before`."""
    found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"{before}{found}")


def check_inert(database: sqlite3.Connection, holder: str = "it") -> None:
    """sqlite3.DatabaseError where there is more than tables and indexes: triggers and views could act by themselves."""
    for kind, name in database.execute("SELECT type, name FROM sqlite_master"):
        if kind not in ("table", "index"):
            raise sqlite3.DatabaseError(f"{holder} holds a {kind}, {name}")


def _copied(path: Path, folder: Path) -> bytes:
    """A consistent copy of a database that may be in use, as one file without a write-ahead log."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".abstract-qa-") as place:
        copy = Path(place, path.name)
        try:
            with closing(sqlite3.connect(path, timeout=20)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.DatabaseError as error:
            raise sqlite3.DatabaseError(f"{path}: {error}") from error
        return copy.read_bytes()


def _check(name: str, content: bytes) -> None:
    if not content.startswith(_SQLITE):
        raise sqlite3.DatabaseError(f"{name} in it is no database")
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        check_sound(database, f"{name} in it: ")
        check_inert(database, f"{name} in it")
