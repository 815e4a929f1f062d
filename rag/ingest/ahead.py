"""Entries read ahead of where they are needed, in a thread of their own: reading goes on while others are embedded,
and how many are to come is known early."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from rag.readers import FileRead, ReadOptions, read
from rag.types import Record, Rejected

Item = Record | Rejected | FileRead
MOST = 10_000  # entries held; some 50 MB
_LOOK_S = 0.2  # how often a reader that waits for room looks whether it is still wanted


class ReadAhead:
    """What is in `places` (files, folders, `-`), in their order. A context manager; for one thread to ask."""

    def __init__(self, places: Sequence[str], sizes: Sequence[int], options: ReadOptions) -> None:
        """`sizes` are the places' bytes on the disk, 0 where not known."""
        self._places = places
        self._options = options
        self._queue: queue.Queue[Item | Exception | None] = queue.Queue(MOST)
        self._unwanted = threading.Event()
        self._bytes = sum(sizes) if all(sizes) else 0
        self._read = 0
        self._passed = 0  # bytes of files that were read before the one open now
        self._files: list[BinaryIO] = []  # that are open, all of `_path`
        self._path: Path | None = None
        self._complete = not places
        self._thread = threading.Thread(target=self._run, name="read", daemon=True)

    def items(self) -> Iterator[Item]:
        """What the next place holds, as `rag.readers.read` gives it. Raises what that raises."""
        while (item := self._queue.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    @property
    def total(self) -> int | None:
        """Entries in all places: exact once all are read, before that by the bytes read; None where nothing tells."""
        if self._complete:
            return self._read
        at = self._passed + self._position()
        # The start of a file is read before its first entry comes; from too little nothing follows.
        return None if not self._bytes or not self._read or at < self._bytes / 100 else self._read * self._bytes // at

    def _position(self) -> int:
        try:
            return max((file.tell() for file in self._files if not file.closed), default=0)
        except (ValueError, OSError):  # closed meanwhile
            return 0

    def _opened(self, path: Path) -> BinaryIO:
        """A file is opened several times, to tell its format and encoding and to read it."""
        if self._path is not None and path != self._path:
            self._passed += self._path.stat().st_size
        self._path = path
        self._files = [*(file for file in self._files if not file.closed), path.open("rb")]
        return self._files[-1]

    def _run(self) -> None:
        try:
            for number, place in enumerate(self._places, start=1):
                for item in read(place, self._options, self._opened):
                    self._read += isinstance(item, Record)
                    self._put(item)
                self._complete = number == len(self._places)
                self._put(None)
        except _Unwanted:
            pass
        except Exception as error:  # noqa: BLE001 - raised where the entries are wanted
            with suppress(_Unwanted):
                self._put(error)

    def _put(self, item: Item | Exception | None) -> None:
        while True:
            if self._unwanted.is_set():
                raise _Unwanted
            with suppress(queue.Full):
                self._queue.put(item, timeout=_LOOK_S)
                return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not joined: it may be waiting for standard input, and it holds nothing but files open for reading.
        self._unwanted.set()


class _Unwanted(Exception):
    """Nobody wants what is read."""
