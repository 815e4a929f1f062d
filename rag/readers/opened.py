"""One file made ready for a reader: decompressed, decoded, its newlines all `\\n`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import PurePath
from typing import Protocol

from rag.readers.encoding import MIXED, SAMPLE, detect, is_binary
from rag.readers.options import Unreadable
from rag.types import Rejected, Source

LONGEST_LINE = 1 << 26  # characters
LARGEST_TEXT = 1 << 28  # bytes that .text() will hold in memory
_BLOCK = 1 << 20


class Stream(Protocol):
    """Bytes to read once, from the start."""

    def read(self, size: int = ..., /) -> bytes: ...

    def close(self) -> None: ...


class Opened:
    """A file for a reader. `path` is what the user is shown: for a member of an archive, `archive.zip/member`.

    `problems` gathers rejections met on the way (a line too long to hold); `rag.readers.read` passes them on.
    """

    def __init__(self, path: str, opener: Callable[[], Stream]) -> None:
        """`opener` gives the decompressed bytes from their start, each time it is called."""
        self.path = path
        self.problems: list[Rejected] = []
        self._opener = opener
        self._encoding: str | None = None
        with closing(opener()) as stream:
            self._start = stream.read(SAMPLE)
        self.head = "" if self.is_binary else _universal(self._start.decode(detect(self._start), MIXED))

    @property
    def name(self) -> str:
        """The file's name, or the member's in an archive, without a closing `.gz`."""
        return PurePath(self.path).name.removesuffix(".gz")

    @property
    def is_empty(self) -> bool:
        return not self._start

    @property
    def is_binary(self) -> bool:
        """Whether it starts with bytes that are no text."""
        return is_binary(self._start)

    @property
    def start(self) -> bytes:
        """The first 64 KiB as they are."""
        return self._start

    @property
    def encoding(self) -> str:
        """The encoding, found at the first bytes above 127, wherever in the file they are."""
        if self._encoding is None:
            self._encoding = self._find_encoding()
        return self._encoding

    def binary(self) -> Stream:
        """The decompressed bytes from their start. To be closed by the caller."""
        return self._opener()

    def text(self) -> str:
        """The whole file. Raises Unreadable beyond 256 MiB: formats whose files grow large use `lines`."""
        with closing(self.binary()) as stream:
            data = stream.read(LARGEST_TEXT + 1)
        if len(data) > LARGEST_TEXT:
            raise Unreadable(f"larger than {LARGEST_TEXT >> 20} MiB; split it and read the parts")
        return _universal(data.decode(self.encoding, MIXED))

    def lines(self) -> Iterator[tuple[int, str]]:
        """(1-based number, text without its newline) of each line, streamed.

        A line longer than 64 Mi characters is left out and noted in `problems`.
        """
        with self._decoded() as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE and not line.endswith("\n"):
                    while len(line) == LONGEST_LINE and not line.endswith("\n"):
                        line = stream.readline(LONGEST_LINE)
                    self.problems.append(
                        Rejected(self.path, number, f"line of more than {LONGEST_LINE >> 20} Mi characters; left out")
                    )
                    continue
                yield number, line[:-1] if line.endswith("\n") else line

    def pieces(self) -> Iterator[str]:
        """The decoded text in pieces of about a million characters, streamed."""
        with self._decoded() as stream:
            while piece := stream.read(_BLOCK):
                yield piece

    def source(self, position: int) -> Source:
        """Where the entry at 1-based `position` of this file is."""
        return Source(self.path, position)

    def rejected(self, reason: str, line: int | None = None) -> Rejected:
        """A rejection of an entry of this file."""
        return Rejected(self.path, line, reason)

    def _decoded(self) -> io.TextIOWrapper:
        raw = io.BufferedReader(_Raw(self.binary()), _BLOCK)
        return io.TextIOWrapper(raw, encoding=self.encoding, errors=MIXED, newline=None)

    def _find_encoding(self) -> str:
        with closing(self.binary()) as stream:
            block = stream.read(SAMPLE)
            first = block
            while block.isascii() and block:
                block = stream.read(_BLOCK)
        if not block or block is first or b"\0" in first:
            return detect(first)
        at = next(i for i, byte in enumerate(block) if byte > 0x7F)
        return detect(block[at : at + SAMPLE])


class _Raw(io.RawIOBase):
    """Gives any readable object the raw interface that buffering wants, and closes it."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _universal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
