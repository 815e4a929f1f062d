"""Chunk vectors in Chroma: embedded in a folder, or on a Chroma server. The only module that imports chromadb.

One collection, cosine space; a chunk's id is `ROW:ORDINAL`. Everything in it can be made again from the database.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rag.errors import LibraryDamaged, SettingsError, StorageError
from rag.store import chroma_server as store
from rag.types import Chunk, Paper

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from langchain_core.vectorstores import VectorStore

    from rag.models.embeddings import Encoder

FloatArray = NDArray[np.float32]
COLLECTION = "abstract-qa"
# docs/decisions/0009: recall of the exact first 200 is 0.997 with these, on 39,510 vectors.
HNSW: CreateHNSWConfiguration = {
    "space": "cosine",
    "max_neighbors": 24,
    "ef_construction": 200,
    "ef_search": 400,
    "sync_threshold": 1000,
    "batch_size": 100,
}
# The key of a collection's metadata under which the embedder's fingerprint stands, once it holds vectors.
MADE_BY = "fingerprint"
# Components of vectors that differ by less are the same: vectors are stored in half precision.
SAME = 1e-3
DATABASE = "chroma.sqlite3"
# Written with the vector files once there are as many entries as the sync threshold; without it Chroma makes the vector
# files anew whenever it opens a folder, from its database.
SYNCED = "index_metadata.pickle"


@dataclass(frozen=True, slots=True)
class DenseItem:
    """A chunk as the index holds it."""

    row: int
    paper: Paper
    chunk: Chunk
    vector: FloatArray

    @property
    def id(self) -> str:
        """The chunk's id in the index."""
        return chunk_id(self.row, self.chunk.ordinal)

    def is_like(self, text: str, vector: FloatArray) -> bool:
        """Whether the chunk has this text and, to the precision of storage, this vector."""
        return self.chunk.embed_text == text and np.allclose(self.vector, vector, atol=SAME)

    @property
    def metadata(self) -> dict[str, str | int]:
        """What LangChain's Documents carry of the paper; Chroma holds no None."""
        known = {"venue": self.paper.venue, "year": self.paper.year, "url": self.paper.url}
        fixed: dict[str, str | int] = {
            "row": self.row,
            "paper_id": self.paper.paper_id,
            "title": self.paper.title,
            "start": self.chunk.span.start,
            "end": self.chunk.span.end,
        }
        return fixed | {key: value for key, value in known.items() if value is not None}


def chunk_id(row: int, ordinal: int) -> str:
    """Id of a chunk in the index."""
    return f"{row}:{ordinal}"


class Dense:
    """The collection of one library. Safe to use from several threads; close it before its folder is removed."""

    def __init__(self, place: Path | str, collection: str = COLLECTION) -> None:
        """`place` is a folder, or the address of a Chroma server, where `collection` tells libraries apart.

        Raises StorageError when the server does not answer or the folder cannot be written, LibraryDamaged when
        what is there is no sound Chroma.
        """
        self.place = place
        self._client = _client(place)
        self._lock = threading.Lock()
        self._closed = False
        try:
            with _translated(place):
                self._collection = self._client.get_or_create_collection(
                    collection,
                    embedding_function=None,
                    configuration={"hnsw": HNSW},
                )
                self._batch = self._client.get_max_batch_size()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._collection.name

    @property
    def made_by(self) -> str:
        """Fingerprint of the embedder that the collection was claimed for; empty for a new one."""
        return str((self._collection.metadata or {}).get(MADE_BY, ""))

    def claim(self, fingerprint: str) -> None:
        """Say that the collection holds vectors of the embedder with that fingerprint."""
        if self.made_by != fingerprint:
            with _translated(self.place):
                self._collection.modify(metadata={MADE_BY: fingerprint})

    def count(self) -> int:
        """Chunks in the index."""
        with _translated(self.place):
            return self._collection.count()

    def ids(self) -> set[str]:
        """Ids of all chunks."""
        found: set[str] = set()
        with _translated(self.place):
            while page := self._collection.get(limit=5000, offset=len(found), include=[])["ids"]:
                found.update(page)
        return found

    def upsert(self, items: Sequence[DenseItem]) -> None:
        """Add chunks, or replace those with the same id."""
        with _translated(self.place):
            for start in range(0, len(items), self._batch):
                self._upsert(items[start : start + self._batch])

    def _upsert(self, items: Sequence[DenseItem]) -> None:
        # Giving an entry of an HNSW graph a vector costs 30 times as much as a new entry, even when it is the same one.
        held = self._held([item.id for item in items])
        kept = [item for item in items if item.id in held and item.is_like(*held[item.id])]
        if kept:
            self._collection.update(
                ids=[item.id for item in kept],
                # None takes away what the paper no longer states.
                metadatas=[dict.fromkeys(("venue", "year", "url")) | item.metadata for item in kept],
            )
        unchanged = {item.id for item in kept}
        changed = [name for name in held if name not in unchanged]
        if changed:
            self._collection.delete(ids=changed)
        fresh = [item for item in items if item.id not in unchanged]
        if fresh:
            self._collection.add(
                ids=[item.id for item in fresh],
                embeddings=np.stack([item.vector for item in fresh]),
                documents=[item.chunk.embed_text for item in fresh],
                metadatas=[item.metadata for item in fresh],
            )

    def _held(self, ids: list[str]) -> dict[str, tuple[str, FloatArray]]:
        """Text and vector of those of the chunks that are there."""
        found = self._collection.get(ids=ids, include=["documents", "embeddings"])
        vectors = np.asarray(found["embeddings"], dtype=np.float32)
        texts = found["documents"] or []
        return {name: (text, vector) for name, text, vector in zip(found["ids"], texts, vectors, strict=True)}

    def delete(self, ids: Iterable[str]) -> None:
        """Remove chunks; ids that are not there do not matter."""
        listed = list(ids)
        with _translated(self.place):
            for start in range(0, len(listed), self._batch):
                self._collection.delete(ids=listed[start : start + self._batch])

    def query(self, vector: FloatArray, n: int) -> list[tuple[int, float]]:
        """The `n` rows whose nearest chunk has the greatest cosine with `vector` (d,), best first."""
        wanted = n + n // 3 + 8
        with _translated(self.place):
            while True:
                # Chroma takes a number beyond what it holds; asking how many that are costs more than the search.
                found = self._collection.query(
                    query_embeddings=np.atleast_2d(vector), n_results=wanted, include=["distances"]
                )
                names = found["ids"][0]
                best: dict[int, float] = {}
                for name, distance in zip(names, (found["distances"] or [[]])[0], strict=True):
                    best.setdefault(int(name.partition(":")[0]), 1.0 - float(distance))
                if len(best) >= n or len(names) < wanted:
                    return list(best.items())[:n]
                wanted *= 2

    def load(self) -> None:
        """Read the vectors' files now, which happens otherwise at the first question."""
        with _translated(self.place):
            first = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
            if first is not None and len(first):
                self._collection.query(query_embeddings=np.asarray(first), n_results=1, include=[])

    @staticmethod
    def drop(address: str, collection: str, made_by: Container[str]) -> bool:
        """Remove a collection from a Chroma server, unless it was claimed for an embedder that is not in `made_by`.

        Returns whether the name is free now.
        """
        from chromadb.errors import NotFoundError

        client = _client(address)
        try:
            with _translated(address):
                try:
                    claimed = (client.get_collection(collection, embedding_function=None).metadata or {}).get(MADE_BY)
                except NotFoundError:
                    return True
                if claimed is not None and claimed not in made_by:
                    return False
                client.delete_collection(collection)
                return True
        finally:
            _close(client)

    def vector_store(self, encoder: Encoder) -> VectorStore:
        """The same collection as LangChain's VectorStore."""
        from langchain_chroma import Chroma

        return Chroma(collection_name=self._collection.name, embedding_function=encoder, client=self._client)

    def close(self) -> None:
        """Let go of the files or the connection. Twice is once."""
        with self._lock:
            if not self._closed:
                self._closed = True
                _close(self._client)


def _client(place: Path | str) -> Client:
    # Read when chromadb is imported; the setting alone leaves errors of the telemetry itself in the log.
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if isinstance(place, Path):
        with _translated(place):
            place.mkdir(parents=True, exist_ok=True)
            return cast("Client", chromadb.PersistentClient(str(place), settings=settings))
    address = store.parse(place)
    store.check(address)
    with _translated(place):
        client = chromadb.HttpClient(address.host, address.port, ssl=address.secure, settings=settings)
    # Chroma's own client waits for ever.
    _session(client).timeout = store.ANSWER_S
    return cast("Client", client)


def _session(part: Any) -> Any:
    """The connections of a client of a server; None for an embedded one."""
    return getattr(getattr(part, "_server", None), "_session", None)


def _close(client: Client) -> None:
    client.close()
    # Chroma 1.5 leaves the connections to a server open, its own and those of the client it makes for administration.
    for part in (client, client._admin_client):
        if (session := _session(part)) is not None:
            session.close()


@contextmanager
def _translated(place: Path | str) -> Iterator[None]:
    """Chroma's many kinds of errors as this program's."""
    try:
        yield
    except (StorageError, LibraryDamaged, SettingsError):
        raise
    except OSError as error:
        raise StorageError(f"{place} cannot be read or written ({error.strerror or error}).") from error
    except BaseException as error:
        # The Rust bindings raise many unrelated kinds, a panic even past Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(str(error).split())
        if isinstance(place, str):
            raise StorageError(
                f"The Chroma server at {place} did not answer as it should ({text}); is it running?"
            ) from error
        if "full" in text or "No space" in text or "readonly" in text:
            raise StorageError(
                f"{place} cannot be written ({text}); make room and run the same command again."
            ) from error
        raise LibraryDamaged(
            f"The vector index in {place} is damaged ({text}); `abstract-qa doctor --repair` makes it anew."
        ) from error


def sound(folder: Path) -> bool:
    """Whether Chroma's own database in `folder` is whole. Rolls back what a killed process left half done."""
    try:
        connection = sqlite3.connect(folder / DATABASE)
        try:
            # An emptied file is a sound database too, of nothing.
            connection.execute("SELECT id FROM collections LIMIT 1")
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        finally:
            connection.close()
    except sqlite3.Error:
        return False
