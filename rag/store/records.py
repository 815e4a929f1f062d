"""What the library knows, on top of `rag.store.database`: papers, keys, entries of files, vectors, manifest.

Reading is safe from every thread. Writing happens inside `Records.transaction`.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from rag.store.database import Database
from rag.store.vectors import Packed, VectorTable, side_by_side, unpacked_spans
from rag.types import Filters, Paper, Record, Source

FloatArray = NDArray[np.float32]
Order = Literal["added", "title", "authors", "venue", "year"]
_FIELDS = {
    "title": "folded(json_extract(data, '$.title'))",
    "authors": "nullif(folded(json_extract(data, '$.authors[0]')), '')",
    "venue": "nullif(folded(venue), '')",
    "year": "year",
}
STORED, PENDING, LEAVING = 0, 1, 2
NOWHERE = Source("", 0)
_MANY = 500  # values in one IN (…)


@dataclass(frozen=True, slots=True)
class PaperVectors:
    """The vectors of one paper, unit length, float32; `d` is the embedder's dimension.

    title (d,), chunks (c, d), sentences (s, d). `chunk_spans` and `spans` are the character offsets (start, end) of
    the chunks and the sentences in the abstract. A paper without an abstract has one chunk (0, 0) and no sentence.
    """

    title: FloatArray
    chunks: FloatArray
    sentences: FloatArray
    chunk_spans: tuple[tuple[int, int], ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a file as it was read. `number` is its own in the database, None for one not yet there."""

    record: Record
    hash: bytes
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is compared when a file is read again: an entry's number, position, hash, and its paper's row."""

    number: int
    position: int
    hash: bytes
    row: int


def record_hash(record: Record) -> bytes:
    """Sixteen bytes that change when anything in the record changes except its place."""
    anywhere = replace(record, source=NOWHERE)
    return blake2b(orjson.dumps(anywhere, option=orjson.OPT_SORT_KEYS, default=dict), digest_size=16).digest()


def embedded_hash(paper: Paper) -> bytes:
    """Sixteen bytes that change when what is embedded of the paper changes."""
    return blake2b(orjson.dumps([paper.titled, paper.title, paper.abstract]), digest_size=16).digest()


def paper_json(paper: Paper) -> str:
    """The paper as it is stored."""
    return orjson.dumps(paper, default=dict).decode()


def paper_from_json(data: str | bytes) -> Paper:
    """The paper that `paper_json` wrote."""
    fields = orjson.loads(data)
    for name in ("authors", "keywords", "aliases"):
        fields[name] = tuple(fields[name])
    fields["sources"] = tuple(Source(**source) for source in fields["sources"])
    return Paper(**fields)


def packed_record(record: Record) -> bytes:
    """A record without its place, which the database holds beside it."""
    fields = orjson.loads(orjson.dumps(record, default=dict))
    del fields["source"]
    return zlib.compress(orjson.dumps(fields), 1)


def _record(packed: bytes, source: Source) -> Record:
    fields = orjson.loads(zlib.decompress(packed))
    for name in ("authors", "keywords"):
        fields[name] = tuple(fields[name])
    return Record(source=source, **fields)


def packed(vectors: FloatArray) -> bytes:
    """Vectors as they are stored: float16, row after row."""
    return vectors.astype(np.float16).tobytes()


def packed_spans(spans: Sequence[tuple[int, int]]) -> bytes:
    """Spans as they are stored: int32 pairs."""
    return np.array(spans, dtype=np.int32).tobytes()


def batches(values: Iterable[Any]) -> Iterator[tuple[list[Any], str]]:
    """Values in portions with the question marks for an IN (…)."""
    listed = list(values)
    for start in range(0, len(listed), _MANY):
        part = listed[start : start + _MANY]
        yield part, ",".join("?" * len(part))


class Records:
    """Typed access to one library's database."""

    def __init__(self, home: Path) -> None:
        """Opens or makes the database under `home`; errors as of `Database`."""
        self.database = Database(home)

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """All that is written inside is committed together or not at all."""
        return self.database.transaction()

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.database.reading() as connection:
            return connection.execute(query, values).fetchall()

    def _one(self, query: str, values: Sequence[Any] = ()) -> Any:
        with self.database.reading() as connection:
            return connection.execute(query, values).fetchone()

    def close(self) -> None:
        """Close all connections. Twice is once."""
        self.database.close()

    # Manifest

    def manifest(self) -> dict[str, str]:
        """All keys of the manifest."""
        return dict(self._all("SELECT key, value FROM manifest"))

    @property
    def generation(self) -> int:
        """Grows with every change of the library; 0 for a new one."""
        found = self._one("SELECT value FROM manifest WHERE key = 'generation'")
        return int(found[0]) if found else 0

    # Papers

    def papers(self, rows: Sequence[int]) -> dict[int, Paper]:
        """The papers of those rows that exist."""
        found: dict[int, Paper] = {}
        for part, marks in batches(rows):
            for row, data in self._all(f"SELECT row, data FROM papers WHERE state != 2 AND row IN ({marks})", part):
                found[row] = paper_from_json(data)
        return found

    def count(self) -> int:
        """Papers in the library."""
        return int(self._one("SELECT count(*) FROM papers WHERE state != 2")[0])

    def rows(
        self,
        filters: Filters = Filters(),  # noqa: B008 - frozen
        text: str | None = None,
        source: str | None = None,
        order: Order = "added",
        descending: bool = False,
    ) -> list[int]:
        """Rows of the papers that match, in the order they came in or by another field; those without it are last.

        `text` is looked for, without case, in everything stored of a paper; `source` is a file's path or name.
        """
        clauses, values = ["state != 2"], list[Any]()
        if filters.venue is not None:
            venues = self.venues(filters.venue)
            clauses.append(f"venue IN ({','.join('?' * len(venues))})")
            values += venues
        if filters.year_from is not None:
            clauses.append("year >= ?")
            values.append(filters.year_from)
        if filters.year_to is not None:
            clauses.append("year <= ?")
            values.append(filters.year_to)
        if text:
            clauses.append("instr(folded(data), ?)")
            values.append(orjson.dumps(text).decode()[1:-1].casefold())
        if source is not None:
            clauses.append("row IN (SELECT row FROM entries JOIN files USING (file) WHERE path = ? OR name = ?)")
            values += [source, source]
        way = "DESC" if descending else "ASC"
        by = f"{_FIELDS[order]} IS NULL, {_FIELDS[order]} {way}, " if order != "added" else ""
        query = f"SELECT row FROM papers WHERE {' AND '.join(clauses)} ORDER BY {by}row {way}"
        return [row for (row,) in self._all(query, values)]

    def venue_counts(self) -> list[tuple[str, int]]:
        """Papers of each venue, most first; papers without a venue are not counted."""
        return self._all(
            "SELECT venue, count(*) AS n FROM papers WHERE state != 2 AND venue IS NOT NULL AND venue != '' "
            "GROUP BY venue ORDER BY n DESC, venue"
        )

    def year_counts(self) -> list[tuple[int, int]]:
        """Papers of each year, earliest first; papers without a year are not counted."""
        return self._all(
            "SELECT year, count(*) FROM papers WHERE state != 2 AND year IS NOT NULL GROUP BY year ORDER BY year"
        )

    def venues(self, part: str) -> list[str]:
        """The venues, as written, that contain `part` without regard to case."""
        wanted = part.casefold()
        all_of_them = self._all("SELECT DISTINCT venue FROM papers WHERE venue IS NOT NULL")
        return [venue for (venue,) in all_of_them if wanted in venue.casefold()]

    def rows_of_keys(self, keys: Iterable[str]) -> dict[str, list[int]]:
        """For each of the keys that some paper has: the rows, first come first."""
        found: dict[str, list[int]] = {}
        for part, marks in batches(keys):
            for key, row in self._all(f"SELECT key, row FROM keys WHERE key IN ({marks}) ORDER BY row", part):
                found.setdefault(key, []).append(row)
        return found

    def rows_of_ids(self, paper_ids: Iterable[str]) -> list[int]:
        """Rows of the papers with these ids that are there."""
        found: list[int] = []
        for part, marks in batches(paper_ids):
            query = f"SELECT row FROM papers WHERE state != 2 AND paper_id IN ({marks})"
            found += [row for (row,) in self._all(query, part)]
        return found

    def at(self, name: str, position: int) -> int | None:
        """Row of the paper at `position` (from 1) of a file of that name; the file read first where several have it."""
        found = self._one(
            "SELECT row FROM entries JOIN files USING (file) WHERE name = ? AND position = ? ORDER BY file",
            [name, position],
        )
        return None if found is None else int(found[0])

    def by_state(self, state: int) -> list[int]:
        """Rows of papers in that state."""
        return [row for (row,) in self._all("SELECT row FROM papers WHERE state = ?", [state])]

    def indexed(self, rows: Sequence[int]) -> dict[int, int]:
        """How many chunks the dense index may hold of each row."""
        found: dict[int, int] = {}
        for part, marks in batches(rows):
            found.update(self._all(f"SELECT row, indexed FROM papers WHERE row IN ({marks})", part))
        return found

    def stamps(self, part: str) -> list[tuple[str, int, int, str]]:
        """Stamps of a derived index's files, see `rag.store.stamps`."""
        return self._all("SELECT name, size, mtime, digest FROM stamps WHERE part = ? ORDER BY name", [part])

    def embedded(self, row: int) -> bytes | None:
        """`embedded_hash` of what the stored vectors of a row were made from."""
        found = self._one("SELECT embedded FROM papers WHERE row = ?", [row])
        return None if found is None else bytes(found[0])

    # Entries and files

    def paths_under(self, folder: str) -> list[str]:
        """Files below `folder` from which entries were read."""
        query = "SELECT path FROM files WHERE substr(path, 1, ?) = ? AND file IN (SELECT file FROM entries)"
        return [path for (path,) in self._all(query, [len(folder) + 1, f"{folder}/"])]

    def reading(self, path: str) -> tuple[str, Any] | None:
        """Content stamp and kept report of a file or folder that was read to its end; None where that is not so."""
        found = self._one("SELECT stamp, report FROM files WHERE path = ? AND stamp IS NOT NULL", [path])
        return None if found is None else (found[0], orjson.loads(found[1]))

    def holds_gone(self, place: str) -> bool:
        """Whether a file, or a file below a folder, had entries that it no longer has and that were not pruned."""
        query = (
            "SELECT 1 FROM entries JOIN files USING (file) WHERE position < 0 AND (path = ? OR substr(path, 1, ?) = ?)"
        )
        return self._one(query, [place, len(place) + 1, f"{place}/"]) is not None

    def known_entries(self, path: str) -> list[Known]:
        """What is known of a file's entries, in the order of their positions."""
        return [
            Known(*found)
            for found in self._all(
                "SELECT entry, position, hash, row FROM entries JOIN files USING (file) WHERE path = ?"
                " ORDER BY position",
                [path],
            )
        ]

    def entries(self, row: int) -> list[Entry]:
        """All entries that make up a paper, in the order in which they came in."""
        return [
            Entry(_record(record, Source(path, abs(position))), digest, number)
            for number, path, position, record, digest in self._all(
                "SELECT entry, path, position, record, hash FROM entries JOIN files USING (file) WHERE row = ?"
                " ORDER BY entry",
                [row],
            )
        ]

    # Vectors

    def vectors(self, rows: Sequence[int]) -> dict[int, PaperVectors]:
        """Vectors of those rows that exist."""
        found: dict[int, PaperVectors] = {}
        for part, marks in batches(rows):
            query = (
                "SELECT c.row, c.title, c.spans, c.vectors, s.spans, s.vectors"
                f" FROM chunks c JOIN sentences s USING (row) WHERE c.row IN ({marks})"
            )
            for row, title, chunk_spans, chunks, spans, sentences in self._all(query, part):
                flat = np.frombuffer(title + chunks + sentences, dtype=np.float16).astype(np.float32)
                matrix = flat.reshape(-1, len(title) // 2)
                cut = 1 + len(chunk_spans) // 8
                found[row] = PaperVectors(
                    matrix[0], matrix[1:cut], matrix[cut:], unpacked_spans(chunk_spans), unpacked_spans(spans)
                )
        return found

    def vector_table(self, rows: Sequence[int]) -> VectorTable:
        """Vectors of those rows that exist, in their order; for many papers far cheaper than `vectors`."""
        found: dict[int, Packed] = {}
        for part, marks in batches(rows):
            query = (
                "SELECT c.row, c.title, c.vectors, s.vectors, s.spans"
                f" FROM chunks c JOIN sentences s USING (row) WHERE c.row IN ({marks})"
            )
            found |= {row: Packed(*blobs) for row, *blobs in self._all(query, part)}
        return side_by_side(rows, found)

    def embedded_anew(self) -> set[int]:
        """Rows whose new vectors are there already, while a library is embedded anew."""
        return {row for (row,) in self._all("SELECT row FROM chunks_next")}

    def chunk_counts(self) -> dict[int, int]:
        """How many chunks each row has."""
        return {row: size // 8 for row, size in self._all("SELECT row, length(spans) FROM chunks")}

    def chunk_matrix(self) -> tuple[NDArray[np.int64], FloatArray]:
        """(chunks,) rows and (chunks, d) vectors of the whole library."""
        rows: list[int] = []
        parts: list[bytes] = []
        width = 0
        for row, spans, title, vectors in self._all("SELECT row, spans, title, vectors FROM chunks ORDER BY row"):
            rows += [row] * (len(spans) // 8)
            parts.append(vectors)
            width = len(title) // 2
        matrix = np.frombuffer(b"".join(parts), dtype=np.float16).reshape(len(rows), width).astype(np.float32)
        return np.array(rows, dtype=np.int64), matrix
