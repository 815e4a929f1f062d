"""Who may do what at once: between processes by lock files, between threads of one process by a gate."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from rag.errors import LibraryBusy, StorageError

# A second writer waits this long for the first before it says that it is busy.
WRITE_WAIT_S = 5.0
# The derived indexes are locked only while a batch is put into them or one is made anew, or while they are asked.
INDEX_WAIT_S = 600.0


class Lock:
    """A lock file that one process holds at a time; within the process it may be taken again, from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = filelock.FileLock(path, thread_local=False)
        self._mutex = threading.Lock()
        self._holders = 0

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold it. Raises LibraryBusy after `wait_s` seconds, StorageError where the file cannot be made."""
        with self._mutex:
            if not self._holders:
                self._acquire(wait_s)
            self._holders += 1
        try:
            yield
        finally:
            with self._mutex:
                self._holders -= 1
                if not self._holders:
                    self._lock.release()

    def _acquire(self, wait_s: float) -> None:
        try:
            self._lock.acquire(timeout=wait_s, poll_interval=0.05)
        except filelock.Timeout:
            raise LibraryBusy(
                f"Another process is writing to the library in {self._path.parent}; try again when it has finished."
            ) from None
        except OSError as error:
            raise StorageError(
                f"{self._path.parent} cannot be written ({error.strerror or error}); check its rights and the disk."
            ) from error


class SharedLock:
    """A lock file that any number of readers hold together, or one writer alone, among all threads and processes.

    A second file beside it is the writer's turn: once a writer waits, no further reader comes in.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = path.with_name(f"{path.name}.turn")

    @contextmanager
    def shared(self) -> Iterator[bool]:
        """Hold it with other readers; False, and nothing held, where a writer has it or waits for it."""
        with _file(self._path) as file:
            with _file(self._turn) as turn:
                free = _flocked(turn, fcntl.LOCK_SH) and _flocked(file, fcntl.LOCK_SH)
            yield free

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait for all others and hold it alone. Raises LibraryBusy when one of them does not end."""
        until = time.monotonic() + INDEX_WAIT_S
        with _file(self._turn) as turn, _file(self._path) as file:
            for wanted in (turn, file):
                while not _flocked(wanted, fcntl.LOCK_EX):
                    if time.monotonic() > until:
                        raise LibraryBusy(
                            f"Another process does not let go of the index in {self._path.parent}; end it."
                        )
                    time.sleep(0.001)
            yield


@contextmanager
def _file(path: Path) -> Iterator[int]:
    """A lock file, opened; closing it lets go of the lock."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(f"{path} cannot be opened ({error.strerror or error}).") from error
    try:
        yield file
    finally:
        os.close(file)


def _flocked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Gate:
    """Many threads pass at once, or one alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._passing = 0
        self._owner: int | None = None

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Pass together with others. The thread that is alone inside may pass too."""
        own = self._owner == threading.get_ident()
        if not own:
            with self._condition:
                self._condition.wait_for(lambda: self._owner is None)
                self._passing += 1
        try:
            yield
        finally:
            if not own:
                with self._condition:
                    self._passing -= 1
                    self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody passes, and keep others out. Not to be called while passing."""
        own = self._owner == threading.get_ident()
        if not own:
            with self._condition:
                self._condition.wait_for(lambda: self._owner is None)
                self._owner = threading.get_ident()
                self._condition.wait_for(lambda: self._passing == 0)
        try:
            yield
        finally:
            if not own:
                with self._condition:
                    self._owner = None
                    self._condition.notify_all()
