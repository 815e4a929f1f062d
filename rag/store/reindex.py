"""A library embedded anew: for another embedder, or another way of cutting."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from rag.ingest.prepare import prepare
from rag.store.database import VECTORS
from rag.store.derived import DENSE, Derived
from rag.store.manifest import made_by
from rag.store.records import Records
from rag.store.writing import Writing

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder

PORTION = 256  # papers embedded and committed at a time
NEXT = "_next"


def embed_anew(records: Records, derived: Derived, encoder: Encoder, progress: Callable[[int, int], None]) -> None:
    """New vectors go to tables of their own, which take the old ones' place in one step when all are there.

    The caller holds the library's write lock. Killed at any moment, the library serves the old vectors, or the new.
    """
    was = records.manifest().get("fingerprint", "")
    target = orjson.dumps(made_by(encoder)).decode()
    with records.transaction() as connection:
        if records.manifest().get("next") != target:
            _drop(connection, NEXT)
        for statement in VECTORS.format(NEXT).split(";"):
            connection.execute(statement)
        Writing(connection).set(next=target)
    rows = records.rows()
    done = records.embedded_anew()
    left = [row for row in rows if row not in done]
    for start in range(0, len(left), PORTION):
        part = left[start : start + PORTION]
        papers = records.papers(part)
        vectors = prepare([papers[row] for row in part], encoder)
        with records.transaction() as connection:
            writing = Writing(connection, NEXT)
            for row, made in zip(part, vectors, strict=True):
                writing.vectors(row, made)
        progress(len(rows) - len(left) + start + len(part), len(rows))
    with records.transaction() as connection:
        _drop(connection, "")
        for table in ("chunks", "sentences"):
            connection.execute(f"ALTER TABLE {table}{NEXT} RENAME TO {table}")
        connection.execute("DELETE FROM manifest WHERE key = 'next'")
        writing = Writing(connection)
        writing.set(**made_by(encoder))
        # Every vector index, on whatever server, now holds what is no longer so.
        connection.execute("UPDATE manifest SET value = '-1' WHERE key LIKE ?", [f"{DENSE}% at"])
        connection.execute("INSERT OR IGNORE INTO manifest VALUES (?, '-1')", [f"{DENSE} at"])
    derived.rebuild_dense(was=was)


def _drop(connection: sqlite3.Connection, ending: str) -> None:
    for table in ("chunks", "sentences"):
        connection.execute(f"DROP TABLE IF EXISTS {table}{ending}")
