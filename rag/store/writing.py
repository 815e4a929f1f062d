"""The statements of one transaction on a library's database; `rag.store.records` reads what they write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import orjson

from rag.store.records import (
    PENDING,
    Entry,
    PaperVectors,
    batches,
    embedded_hash,
    packed,
    packed_record,
    packed_spans,
    paper_from_json,
    paper_json,
)
from rag.types import Paper, Source


class Writing:
    """The statements of one transaction."""

    def __init__(self, connection: sqlite3.Connection, tables: str = "") -> None:
        """`tables` is the ending of the two vector tables' names: `_next` while a library is embedded anew."""
        self._connection = connection
        self._tables = tables

    def set(self, **values: str | int) -> None:
        """Set keys of the manifest."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO manifest VALUES (?, ?)", [(key, str(value)) for key, value in values.items()]
        )

    def grow(self) -> int:
        """Tell other processes that the library changed; returns the new generation."""
        found = self._connection.execute(
            "INSERT INTO manifest VALUES ('generation', '1') ON CONFLICT (key) DO UPDATE SET value = value + 1"
            " RETURNING value"
        ).fetchone()
        return int(found[0])

    def paper(self, row: int | None, paper: Paper, keys: Iterable[str], state: int = PENDING) -> int:
        """Add a paper (`row` None) or replace one; returns its row."""
        values = (
            paper.paper_id,
            state,
            paper.venue,
            paper.year,
            bool(paper.abstract),
            embedded_hash(paper),
            paper_json(paper),
        )
        if row is None:
            done = self._connection.execute(
                "INSERT INTO papers (paper_id, state, venue, year, abstract, embedded, data) VALUES (?,?,?,?,?,?,?)",
                values,
            )
            row = int(done.lastrowid or 0)
        else:
            self._connection.execute(
                "UPDATE papers SET paper_id=?, state=?, venue=?, year=?, abstract=?, embedded=?, data=? WHERE row=?",
                (*values, row),
            )
            self._connection.execute("DELETE FROM keys WHERE row = ?", [row])
        self._connection.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", [(key, row) for key in keys])
        return row

    def vectors(self, row: int, vectors: PaperVectors) -> None:
        """Store a paper's vectors in place of those it had."""
        self._connection.execute(
            f"INSERT OR REPLACE INTO chunks{self._tables} VALUES (?,?,?,?)",
            [row, packed(vectors.title), packed_spans(vectors.chunk_spans), packed(vectors.chunks)],
        )
        self._connection.execute(
            f"INSERT OR REPLACE INTO sentences{self._tables} VALUES (?,?,?)",
            [row, packed_spans(vectors.spans), packed(vectors.sentences)],
        )
        self._connection.execute(
            "UPDATE papers SET indexed = max(indexed, ?) WHERE row = ?", [len(vectors.chunks), row]
        )

    def indexed(self, counts: Mapping[int, int]) -> None:
        """Note how many chunks the dense index may hold of each row."""
        self._connection.executemany(
            "UPDATE papers SET indexed = ? WHERE row = ?", [(n, row) for row, n in counts.items()]
        )

    def state(self, rows: Iterable[int], state: int) -> None:
        """Set the state of papers."""
        self._connection.executemany("UPDATE papers SET state = ? WHERE row = ?", [(state, row) for row in rows])

    def row_of(self, paper_id: str) -> int | None:
        """Row of the paper with this id, as the transaction sees it."""
        found = self._connection.execute("SELECT row FROM papers WHERE paper_id = ?", [paper_id]).fetchone()
        return None if found is None else int(found[0])

    def leave(self, rows: Iterable[int], heir: int | None = None) -> None:
        """Take papers out of the library; the indexes follow. Their entries go to the paper `heir`, or go too."""
        for row in rows:
            if heir is not None:
                self._connection.execute("UPDATE entries SET row = ? WHERE row = ?", [heir, row])
            for table in ("keys", "entries", "chunks", "sentences"):
                self._connection.execute(f"DELETE FROM {table} WHERE row = ?", [row])
            # The id may be given to another paper at once.
            self._connection.execute("UPDATE papers SET state = 2, paper_id = 'leaving:' || row WHERE row = ?", [row])

    def forget(self, rows: Iterable[int]) -> None:
        """Forget papers that have left the indexes too."""
        self._connection.executemany("DELETE FROM papers WHERE row = ?", [(row,) for row in rows])

    def forget_reading(self) -> None:
        """Let all files count as unread, so that they are compared entry by entry when they are read again."""
        self._connection.execute("UPDATE files SET stamp = NULL")

    def file(self, path: str) -> int:
        """Number of a file, which is made known if it is not."""
        self._connection.execute("INSERT OR IGNORE INTO files (path, name) VALUES (?, ?)", [path, PurePath(path).name])
        return int(self._connection.execute("SELECT file FROM files WHERE path = ?", [path]).fetchone()[0])

    def finish_reading(self, path: str, stamp: str, report: Any) -> None:
        """Note that a file or folder with this content has been read to its end."""
        self._connection.execute(
            "UPDATE files SET stamp = ?, report = ? WHERE file = ?",
            [stamp, orjson.dumps(report).decode(), self.file(path)],
        )

    def add_entry(self, entry: Entry, row: int) -> None:
        """Store an entry of a file as part of the paper `row`."""
        source = entry.record.source
        self._connection.execute(
            "INSERT INTO entries (file, position, row, hash, record) VALUES (?,?,?,?,?)",
            [self.file(source.path), source.position, row, entry.hash, packed_record(entry.record)],
        )

    def place_entry(self, number: int, position: int) -> None:
        """Note that an entry is now at another position of its file; below 0 for one that is no longer in it."""
        self._connection.execute("UPDATE entries SET position = ? WHERE entry = ?", [position, number])

    def rows_of_entries(self, numbers: Iterable[int]) -> list[int]:
        """Rows of the papers that these entries are part of."""
        rows: set[int] = set()
        for part, marks in batches(numbers):
            found = self._connection.execute(f"SELECT DISTINCT row FROM entries WHERE entry IN ({marks})", part)
            rows.update(row for (row,) in found)
        return sorted(rows)

    def refresh_sources(self, rows: Iterable[int]) -> None:
        """Write into papers where their entries stand now; one without entries stays as it is."""
        for row in rows:
            found = self._connection.execute(
                "SELECT path, position FROM entries JOIN files USING (file) WHERE row = ? ORDER BY entry", [row]
            ).fetchall()
            if found:
                (data,) = self._connection.execute("SELECT data FROM papers WHERE row = ?", [row]).fetchone()
                sources = tuple(Source(path, position) for path, position in found if position > 0)
                changed = paper_json(replace(paper_from_json(data), sources=sources))
                self._connection.execute("UPDATE papers SET data = ? WHERE row = ?", [changed, row])

    def drop_entries(self, entries: Iterable[int]) -> None:
        """Forget entries, by their numbers."""
        self._connection.executemany("DELETE FROM entries WHERE entry = ?", [(number,) for number in entries])

    def stamps(self, part: str, stamps: Iterable[tuple[str, int, int, str]]) -> None:
        """The files of a derived index as they now are: name, bytes, time of change (ns), digest."""
        self._connection.execute("DELETE FROM stamps WHERE part = ?", [part])
        self._connection.executemany("INSERT INTO stamps VALUES (?,?,?,?,?)", [(part, *stamp) for stamp in stamps])
