"""Who may use the server: users with passwords, and keys for programs, in a file that only its owner can read.

Passwords are kept as Argon2id hashes (RFC 9106). A key is 256 random bits, so its SHA-256 is enough to know it again.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import argon2
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from rag.errors import InputError, SettingsError, StorageError

NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1024
KEY_PREFIX = "aqa_"
# An Argon2 hash takes 64 MiB while it is computed: so many at once, whoever asks.
_HASHING = threading.BoundedSemaphore(2)


class User(BaseModel):
    """A person. An admin may also change the library, the model and what is evaluated; others read and ask."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    password: str
    admin: bool = False
    created: float = 0.0

    @property
    def stamp(self) -> str:
        """Changes with the password, so that sessions from before a change can be told."""
        return hashlib.sha256(self.password.encode()).hexdigest()[:16]


class Key(BaseModel):
    """A key for a program. Without `user` it is a user of its own, named `key:NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    digest: str
    user: str | None = None
    admin: bool = False
    created: float = 0.0


class Book(BaseModel):
    """What the file holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    users: tuple[User, ...] = ()
    keys: tuple[Key, ...] = ()

    def user(self, name: str) -> User | None:
        """The user of that name."""
        return next((user for user in self.users if user.name == name), None)


class Accounts:
    """The users and keys in `home/access.json`. Other processes' changes are seen at the next call."""

    def __init__(self, home: Path) -> None:
        self.path = home / "access.json"
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._book = Book()

    @cached_property
    def _hasher(self) -> argon2.PasswordHasher:
        return argon2.PasswordHasher()

    @cached_property
    def _nobody(self) -> str:
        """The hash that an unknown name is checked against, so that it takes as long as a known one."""
        return self._hasher.hash(secrets.token_urlsafe())

    def book(self) -> Book:
        """All users and keys. Raises SettingsError for a file that is not what this program wrote."""
        with self._lock:
            try:
                now = self.path.stat()
            except FileNotFoundError:
                self._seen, self._book = None, Book()
                return self._book
            seen = (now.st_mtime_ns, now.st_size, now.st_ino)
            if seen != self._seen:
                try:
                    self._book = Book.model_validate_json(self.path.read_bytes())
                except (ValidationError, OSError):
                    raise SettingsError(
                        f"{self.path} cannot be read; put back a copy of it, or remove it and add users again."
                    ) from None
                self._seen = seen
            return self._book

    def add_user(self, name: str, password: str, *, admin: bool = False) -> User:
        """Raises InputError for a name that is taken or not allowed, and for a password too short or too long."""
        name = _name(name)
        user = User(name=name, password=self._hashed(password), admin=admin, created=time.time())
        with self._changing() as book:
            if book.user(name) is not None:
                raise InputError(f"There is a user {name} already; change the password with `users passwd {name}`.")
            self._write(Book(users=(*book.users, user), keys=book.keys))
        return user

    def remove_user(self, name: str) -> None:
        """Remove a user and the keys that belong to them. Raises InputError for an unknown name."""
        with self._changing() as book:
            known = self._known(book, name)
            users = tuple(user for user in book.users if user.name != known.name)
            self._write(Book(users=users, keys=tuple(key for key in book.keys if key.user != known.name)))

    def set_password(self, name: str, password: str) -> None:
        """Give a user another password, which ends their sessions. Raises InputError as `add_user`."""
        hashed = self._hashed(password)
        with self._changing() as book:
            known = self._known(book, name)
            users = tuple(
                known.model_copy(update={"password": hashed}) if user.name == known.name else user
                for user in book.users
            )
            self._write(Book(users=users, keys=book.keys))

    def check(self, name: str, password: str) -> User | None:
        """The user whose password this is; None, after the same time, for a wrong password or an unknown name."""
        user = self.book().user(name.strip().lower())
        if len(password) > LONGEST_PASSWORD:
            return None
        try:
            with _HASHING:
                self._hasher.verify(user.password if user else self._nobody, password)
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return None
        return user

    def add_key(self, name: str, *, user: str | None = None, admin: bool = False) -> str:
        """A new key, to be shown once: only its hash is kept. Raises InputError for a taken name or an unknown user."""
        name = _name(name)
        text = KEY_PREFIX + secrets.token_urlsafe(32)
        with self._changing() as book:
            if any(key.name == name for key in book.keys):
                raise InputError(f"There is a key {name} already; remove it first, or choose another name.")
            owner = self._known(book, user).name if user else None
            key = Key(name=name, digest=_digest(text), user=owner, admin=admin, created=time.time())
            self._write(Book(users=book.users, keys=(*book.keys, key)))
        return text

    def remove_key(self, name: str) -> None:
        """Raises InputError for an unknown name."""
        with self._changing() as book:
            keys = tuple(key for key in book.keys if key.name != name)
            if len(keys) == len(book.keys):
                raise InputError(f"There is no key {name}; `keys list` shows those there are.")
            self._write(Book(users=book.users, keys=keys))

    def key(self, text: str) -> Key | None:
        """The key that `text` is."""
        digest = _digest(text)
        return next((key for key in self.book().keys if secrets.compare_digest(key.digest, digest)), None)

    def _hashed(self, password: str) -> str:
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise InputError(
                f"The password has {len(password)} characters; take {SHORTEST_PASSWORD} to {LONGEST_PASSWORD}."
            )
        with _HASHING:
            return self._hasher.hash(password)

    def _known(self, book: Book, name: str) -> User:
        user = book.user(name.strip().lower())
        if user is None:
            raise InputError(f"There is no user {name}; `users list` shows those there are.")
        return user

    @contextmanager
    def _changing(self) -> Iterator[Book]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock"), mode=0o600):
                yield self.book()
        except OSError as error:
            raise StorageError(f"{self.path} could not be written ({error.strerror}).") from None

    def _write(self, book: Book) -> None:
        """All or nothing, never readable by others: a new file is made beside the old one and takes its name."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".access-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(book.model_dump_json(indent=1))
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _name(name: str) -> str:
    name = name.strip().lower()
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be a name; use up to 64 letters, digits and . _ @ -, a letter or digit first."
        )
    return name
