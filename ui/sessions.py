"""Who is signed in: sessions kept on disk under the home, only as hashes, so that reading the file signs nobody in."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from pathlib import Path

from rag.errors import StorageError
from ui.accounts import Accounts, User

COOKIE = "abstract_qa_session"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (
    token TEXT PRIMARY KEY, user TEXT NOT NULL, stamp TEXT NOT NULL, ends REAL NOT NULL);
"""


class Sessions:
    """The sessions in `home/sessions.sqlite`. Safe to use from several threads."""

    def __init__(self, home: Path, accounts: Accounts, hours: float) -> None:
        self._accounts = accounts
        self.seconds = hours * 3600
        self._lock = threading.Lock()
        path = home / "sessions.sqlite"
        try:
            home.mkdir(parents=True, exist_ok=True)
            # SQLite gives its journal the file's own mode.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            path.chmod(0o600)
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=20)
            self._db.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"{path} cannot be used ({error}); remove it, everybody then signs in again.") from None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def begin(self, user: User) -> str:
        """A new session; the text is what the browser's cookie holds."""
        text, now = secrets.token_urlsafe(32), time.time()
        with self._lock, self._db:
            self._db.execute("DELETE FROM session WHERE ends < ?", (now,))
            self._db.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?)", (_digest(text), user.name, user.stamp, now + self.seconds)
            )
        return text

    def user(self, text: str) -> User | None:
        """Whose session this is; None where it has ended, the user is gone or has another password since."""
        with self._lock:
            row = self._db.execute(
                "SELECT user, stamp FROM session WHERE token = ? AND ends > ?", (_digest(text), time.time())
            ).fetchone()
        user = self._accounts.book().user(row[0]) if row else None
        return user if user is not None and user.stamp == row[1] else None

    def end(self, text: str) -> None:
        """End a session."""
        with self._lock, self._db:
            self._db.execute("DELETE FROM session WHERE token = ?", (_digest(text),))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
