"""From what the user named to single files: folders walked, archives opened, within limits."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from rag.readers.opened import Opened, Stream
from rag.readers.options import FileRead, Unreadable
from rag.types import Rejected

MEMBERS = 20_000
DEPTH = 3
# Text and XML shrink to a thirtieth at best; a bomb to a thousandth.
RATIO = 200
FREE = 1 << 26  # bytes any archive may expand to, whatever its ratio
TROUBLES = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read. `listed` says that a folder or archive held it, rather than that the user named it."""

    file: Opened
    listed: bool


def walk(folder: Path) -> Iterator[Path | FileRead]:
    """Files below `folder`, sorted; a FileRead for each hidden file or folder, which is passed over."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.name == "__MACOSX":
            yield FileRead(entry.path, None, note="hidden, passed over")
        elif entry.is_dir(follow_symlinks=False):
            yield from walk(Path(entry.path))
        elif entry.is_dir():
            yield FileRead(entry.path, None, note="link to a folder, not followed")
        else:
            yield Path(entry.path)


def from_disk(path: Path, opened: Callable[[Path], BinaryIO], *, listed: bool) -> Iterator[Found | Rejected | FileRead]:
    """The files in `path`: itself, or the members of the archive it is. `opened` opens it."""
    shown = os.path.abspath(path)  # noqa: PTH100 - resolving links would rename what the user named
    if not stat.S_ISREG(path.stat().st_mode):
        yield Rejected(shown, None, "not a regular file; name a file, a folder or - for standard input")
        return
    yield from expand(shown, lambda: opened(path), path.stat().st_size, listed=listed)


def from_stdin() -> Iterator[Found | Rejected | FileRead]:
    """Standard input, kept in a temporary file, since formats are told by looking before reading."""
    with tempfile.SpooledTemporaryFile(max_size=FREE) as kept:
        while block := sys.stdin.buffer.read(1 << 20):
            kept.write(block)
        size = kept.tell()
        yield from expand("-", lambda: _Borrowed(cast(BinaryIO, kept)), size, listed=False)


def expand(
    shown: str, opener: Callable[[], Stream], size: int, *, listed: bool, depth: int = 0
) -> Iterator[Found | Rejected | FileRead]:
    """The files in the bytes that `opener` gives: one, or those of the gzip or zip archive they are."""
    try:
        with closing(opener()) as stream:
            magic = stream.read(4)
        if magic[:2] == b"\x1f\x8b":
            yield from _gunzipped(shown, opener, size, listed, depth)
        elif magic == b"PK\x03\x04":
            yield from _unzipped(shown, opener, size, listed, depth)
        else:
            yield Found(Opened(shown, opener), listed)
    except Unreadable as problem:
        yield Rejected(shown, problem.line, problem.reason)
    except TROUBLES as error:
        yield Rejected(shown, None, f"cannot be read ({said(error)})")


def _gunzipped(
    shown: str, opener: Callable[[], Stream], size: int, listed: bool, depth: int
) -> Iterator[Found | Rejected | FileRead]:
    if depth >= DEPTH:
        raise Unreadable(f"archives within archives more than {DEPTH} deep")

    def inner() -> Stream:
        packed = opener()
        return _Limited(gzip.GzipFile(fileobj=cast(BinaryIO, packed)), max(FREE, RATIO * size), packed)

    with closing(inner()) as stream:
        magic = stream.read(4)
    if magic == b"PK\x03\x04" or magic[:2] == b"\x1f\x8b":
        yield from expand(shown, inner, RATIO * size, listed=listed, depth=depth + 1)
    else:
        yield Found(Opened(shown, inner), listed)


def _unzipped(
    shown: str, opener: Callable[[], Stream], size: int, listed: bool, depth: int
) -> Iterator[Found | Rejected | FileRead]:
    if depth >= DEPTH:
        raise Unreadable(f"archives within archives more than {DEPTH} deep")
    with tempfile.TemporaryFile() as copy, closing(opener()) as stream:
        held = cast(BinaryIO, stream)
        if depth:  # seeking in a compressed member would unpack it again and again
            while block := stream.read(1 << 20):
                copy.write(block)
            held = cast(BinaryIO, copy)
        with zipfile.ZipFile(held) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            names = {member.filename for member in members}
            if "[Content_Types].xml" in names or "mimetype" in names:
                yield from _passed(shown, listed, "an office document or e-book; export the references from it")
                return
            if len(members) > MEMBERS:
                raise Unreadable(f"archive of {len(members)} files; at most {MEMBERS} are read")
            if sum(member.file_size for member in members) > max(FREE, RATIO * size):
                raise Unreadable(f"archive that expands more than {RATIO}-fold; unpack it yourself if you trust it")
            for member in sorted(members, key=lambda member: member.filename):
                yield from _member(shown, archive, member, depth)


def _member(
    shown: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, depth: int
) -> Iterator[Found | Rejected | FileRead]:
    inside = f"{shown}/{member.filename}"
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        yield Rejected(inside, None, "its path leads outside the archive")
    elif stat.S_ISLNK(member.external_attr >> 16):
        yield Rejected(inside, None, "a link, not followed")
    elif member.flag_bits & 1:
        yield Rejected(inside, None, "encrypted; unpack it first")
    elif any(part.startswith(".") or part == "__MACOSX" for part in path.parts):
        yield FileRead(inside, None, note="hidden, passed over")
    else:
        yield from expand(inside, lambda: archive.open(member), member.compress_size, listed=True, depth=depth + 1)


def _passed(shown: str, listed: bool, what: str) -> Iterator[Rejected | FileRead]:
    yield FileRead(shown, None, note=what) if listed else Rejected(shown, None, what)


def said(error: BaseException) -> str:
    """An exception of the system or of a decompressor in words."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__


class _Limited:
    """A stream that gives up once it has given more than `limit` bytes. Closes what it unpacks, `packed`, with it."""

    def __init__(self, stream: Stream, limit: int, packed: Stream) -> None:
        self._stream = stream
        self._packed = packed
        self._left = limit

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if 0 <= size <= self._left else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise Unreadable(f"compressed data that expands more than {RATIO}-fold; unpack it yourself if you trust it")
        return data

    def close(self) -> None:
        self._stream.close()
        self._packed.close()


class _Borrowed:
    """A view of a temporary file from its start; closing it leaves the file open."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.seek(0)
