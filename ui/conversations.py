"""Conversations kept on disk under the home, each belonging to one user. No method returns another user's."""

from __future__ import annotations

import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from rag.errors import StorageError
from ui.exchange import EXCHANGE, Conversation, Exchange

TITLE_LENGTH = 80
LISTED = 200
_LOG_STARTS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversation (
    id TEXT PRIMARY KEY, user TEXT NOT NULL, title TEXT NOT NULL, changed REAL NOT NULL);
CREATE INDEX IF NOT EXISTS conversation_user ON conversation (user, changed);
CREATE TABLE IF NOT EXISTS exchange (
    conversation TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    id TEXT NOT NULL, place INTEGER NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (conversation, id));
"""


@dataclass(frozen=True, slots=True)
class Summary:
    """A conversation in the list."""

    conversation_id: str
    title: str
    changed: float


class Conversations:
    """The conversations in `home/conversations.sqlite`. Safe to use from several threads."""

    def __init__(self, home: Path) -> None:
        path = home / "conversations.sqlite"
        self._lock = threading.RLock()
        # Exchanges that this process is answering now, perhaps for another tab than the one that looks.
        self.answering: set[str] = set()
        try:
            home.mkdir(parents=True, exist_ok=True)
            _check_log(path.with_name(f"{path.name}-wal"))
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=20)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            self._db.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise _refused(path, error, "move it away to start without it") from None
        self._path = path

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Alone, all of it or nothing. Raises StorageError."""
        try:
            with self._lock, self._db:
                yield
        except sqlite3.Error as error:
            raise _refused(self._path, error, "look after the disk and its rights") from error

    def listed(self, user: str, text: str = "") -> tuple[Summary, ...]:
        """The user's conversations, last changed first; `text` has to be in title, question or answer."""
        query = "SELECT c.id, c.title, c.changed FROM conversation c WHERE c.user = ?"
        values: list[str | int] = [user]
        if text.strip():
            pattern = "%" + text.strip().replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"
            query += (
                r" AND (c.title LIKE ? ESCAPE '\' OR EXISTS (SELECT 1 FROM exchange e WHERE e.conversation = c.id"
                r" AND (e.asked LIKE ? ESCAPE '\' OR e.answer LIKE ? ESCAPE '\')))"
            )
            values += [pattern] * 3
        with self._lock:
            rows = self._db.execute(query + " ORDER BY c.changed DESC LIMIT ?", [*values, LISTED]).fetchall()
        return tuple(Summary(*row) for row in rows)

    def load(self, user: str, conversation_id: str | None) -> Conversation | None:
        """The user's conversation; None where there is none of that id that is theirs."""
        with self._lock:
            row = self._db.execute(
                "SELECT title FROM conversation WHERE id = ? AND user = ?", (conversation_id, user)
            ).fetchone()
            if row is None or conversation_id is None:
                return None
            bodies = self._db.execute(
                "SELECT body FROM exchange WHERE conversation = ? ORDER BY place", (conversation_id,)
            ).fetchall()
        return Conversation(conversation_id, row[0], tuple(kept for (body,) in bodies if (kept := _read(body))))

    def begin(self, user: str, question: str) -> Conversation:
        """A new conversation named after its first question."""
        conversation = Conversation(uuid.uuid4().hex, _title(question))
        with self._written():
            self._db.execute(
                "INSERT INTO conversation VALUES (?, ?, ?, ?)",
                (conversation.conversation_id, user, conversation.title, time.time()),
            )
        return conversation

    def save(self, user: str, conversation: Conversation) -> None:
        """Keep the exchanges of the conversation as they are now; nothing happens when it is no longer the user's."""
        with self._written():
            changed = self._db.execute(
                "UPDATE conversation SET changed = ? WHERE id = ? AND user = ?",
                (time.time(), conversation.conversation_id, user),
            )
            if not changed.rowcount:
                return
            self._db.execute("DELETE FROM exchange WHERE conversation = ?", (conversation.conversation_id,))
            self._db.executemany(
                "INSERT INTO exchange VALUES (?, ?, ?, ?, ?, ?)",
                [_row(conversation.conversation_id, place, one) for place, one in enumerate(conversation.exchanges)],
            )

    def put(self, user: str, conversation_id: str, exchange: Exchange) -> None:
        """Keep one exchange of a conversation as it is now, in its place; nothing happens when it is not the user's."""
        with self._written():
            changed = self._db.execute(
                "UPDATE conversation SET changed = ? WHERE id = ? AND user = ?", (time.time(), conversation_id, user)
            )
            if changed.rowcount:
                self._db.execute(
                    "UPDATE exchange SET asked = ?, answer = ?, body = ? WHERE conversation = ? AND id = ?",
                    (*_row(conversation_id, 0, exchange)[3:], conversation_id, exchange.exchange_id),
                )

    def rename(self, user: str, conversation_id: str, title: str) -> bool:
        """Give the conversation another title; False where there is none of that id or the title is empty."""
        title = _title(title)
        if not title:
            return False
        with self._written():
            found = self._db.execute(
                "UPDATE conversation SET title = ? WHERE id = ? AND user = ?", (title, conversation_id, user)
            )
        return bool(found.rowcount)

    def delete(self, user: str, conversation_id: str) -> bool:
        """Delete the conversation and all in it; False where there is none of that id."""
        with self._written():
            found = self._db.execute("DELETE FROM conversation WHERE id = ? AND user = ?", (conversation_id, user))
        return bool(found.rowcount)

    def find(self, user: str, exchange_id: str) -> tuple[str, Exchange] | None:
        """The user's exchange of that id with its conversation's id."""
        with self._lock:
            row = self._db.execute(
                "SELECT e.conversation, e.body FROM exchange e JOIN conversation c ON c.id = e.conversation "
                "WHERE e.id = ? AND c.user = ?",
                (exchange_id, user),
            ).fetchone()
        if row is None:
            return None
        exchange = _read(row[1])
        return None if exchange is None else (row[0], exchange)


def _refused(path: Path, error: Exception, advice: str) -> StorageError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return StorageError(f"The disk that holds {path.parent} is full; make room.")
    return StorageError(f"{path} cannot be used ({error}); {advice}.")


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _check_log(log: Path) -> None:
    """SQLite passes over a write-ahead log that is none, and what was written last with it; so it is refused here."""
    if log.is_file() and log.stat().st_size and _start(log) not in _LOG_STARTS:
        raise StorageError(f"{log} is damaged; move it away to go on without what was kept last.")


def _row(conversation_id: str, place: int, exchange: Exchange) -> tuple[str, str, int, str, str, str]:
    answer = exchange.answer.text if exchange.answer else ""
    body = EXCHANGE.dump_json(exchange).decode()
    return conversation_id, exchange.exchange_id, place, exchange.text, answer, body


def _read(body: str) -> Exchange | None:
    """The exchange; None where a future version wrote it."""
    try:
        return EXCHANGE.validate_json(body)
    except ValidationError:
        return None


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
