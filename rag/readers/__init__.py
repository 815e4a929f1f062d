"""Literature files of many formats, read into `Record`s.

Each format is one module here with

    NAME: str                                          what reports and `--format` call it
    def sniff(head: str, name: str) -> float           0..1: how surely a file that starts with `head` (decoded, up
                                                       to 64 KiB, newlines `\\n`) is of this format. Content decides
                                                       (at most 0.9); the ending of `name` only breaks ties (0.1)
    def read(file: Opened, options: ReadOptions) -> Iterator[Record | Rejected]
                                                       the entries of `file` in order. An entry that cannot be read
                                                       is a Rejected with its line, and reading goes on after it

and is named in FORMATS. `Opened` gives decoded text (`.text()`, `.lines()`) or bytes (`.binary()`). A reader makes
records with `fields.make_record`, which cleans text, normalises identifiers and sees to absent values; it counts
positions from 1 over all entries of the file, rejected ones too. It raises `Unreadable(reason, line)` when the rest of
the file cannot be read and `NotLiterature(reason)` when a sound file holds no papers. Entries with neither title nor
abstract are rejected here, defaults of venue and year are filled in here; a reader sees to neither.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import BinaryIO, Protocol, cast

from rag.errors import InputError
from rag.readers.expand import TROUBLES, Found, from_disk, from_stdin, said, walk
from rag.readers.opened import Opened
from rag.readers.options import FileRead, NotLiterature, ReadOptions, Unreadable
from rag.types import Record, Rejected

__all__ = ["FileRead", "Opened", "ReadOptions", "format_names", "formats", "read", "read_opened"]

FORMATS = (
    "plain",
    "markdown",
    "table",
    "json_lines",
    "json_whole",
    "bibtex",
    "ris",
    "medline",
    "pubmed_xml",
    "wos",
    "endnote_xml",
    "refworks",
    "refer",
    "acl_xml",
    "atom",
    "other_xml",
    "noteexpress",
    "pubmed_text",
    "arxiv_mail",
)
# Endings that promise literature: a file in a folder that has one and cannot be read is rejected, others passed over.
ENDINGS = frozenset(
    f".{ending}"
    for ending in (
        *(
            "bib",
            "bibtex",
            "ris",
            "nbib",
            "medline",
            "enw",
            "ciw",
            "cgi",
            "xml",
            "atom",
            "csv",
            "tsv",
            "tab",
            "rdf",
            "net",
        ),
        *("json", "jsonl", "ndjson", "txt", "md", "gz", "zip"),
    )
)
# Files that lie beside literature in a folder without being any.
BESIDE = ("readme", "license", "licence", "changelog", "contributing", "notice", "requirements", "authors")


class Format(Protocol):
    """What a format module offers."""

    NAME: str

    def sniff(self, head: str, name: str) -> float: ...

    def read(self, file: Opened, options: ReadOptions, /) -> Iterator[Record | Rejected]: ...


@functools.cache
def formats() -> tuple[Format, ...]:
    """The format modules, imported when first asked for."""
    return tuple(cast(Format, importlib.import_module(f"{__name__}.{name}")) for name in FORMATS)


def format_names() -> tuple[str, ...]:
    """What `ReadOptions.format` may be."""
    return tuple(module.NAME for module in formats())


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def read(
    path: Path | str, options: ReadOptions | None = None, opened: Callable[[Path], BinaryIO] = _opened
) -> Iterator[Record | Rejected | FileRead]:
    """The entries of a file, folder, archive or `-` (standard input), streamed; a FileRead closes each file.

    `opened` opens a file of the disk; each is opened several times.

    A folder is read recursively in sorted order; what is no literature in it is passed over with a FileRead that says
    so. Raises InputError for a missing path, an unknown format, and a folder with no file that can be read.
    """
    options = options or ReadOptions()
    if options.format is not None and options.format not in format_names():
        raise InputError(f"unknown format {options.format!r}; known are {', '.join(format_names())}.")
    if str(path) == "-":
        yield from _all(from_stdin(), options)
        return
    path = Path(path).expanduser()
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file, a folder or - for standard input.")
    if not path.is_dir():
        yield from _disk_file(path, options, opened, listed=False)
        return
    readable = False
    for entry in walk(path):
        if isinstance(entry, FileRead):
            yield entry
            continue
        for item in _disk_file(entry, options, opened, listed=True):
            readable = readable or isinstance(item, Record)
            yield item
    if not readable:
        raise InputError(f"{path} holds no file with papers that can be read.")


def _disk_file(
    path: Path, options: ReadOptions, opened: Callable[[Path], BinaryIO], *, listed: bool
) -> Iterator[Record | Rejected | FileRead]:
    try:
        before = _stamp(path)
        yield from _all(from_disk(path, opened, listed=listed), options, lambda: _stamp(path) != before)
    except OSError as error:
        yield Rejected(str(path), None, f"cannot be read ({error.strerror or error})")
        yield FileRead(str(path), None, rejected=1)


def _all(
    found: Iterable[Found | Rejected | FileRead], options: ReadOptions, changed: Callable[[], bool] = lambda: False
) -> Iterator[Record | Rejected | FileRead]:
    for item in found:
        if isinstance(item, Found):
            yield from read_opened(item.file, options, listed=item.listed, changed=changed)
        else:
            yield item
            if isinstance(item, Rejected):
                yield FileRead(item.file, None, rejected=1)


def _stamp(path: Path) -> tuple[int, int, int]:
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns


def read_opened(
    file: Opened, options: ReadOptions, *, listed: bool = False, changed: Callable[[], bool] = lambda: False
) -> Iterator[Record | Rejected | FileRead]:
    """The entries of one opened file, then its FileRead.

    `listed`: a folder or archive held it, so that what is no literature is passed over; else it is rejected.
    `changed` tells at the end whether the file was written to meanwhile.
    """
    name: str | None = None
    read = rejected = bare = 0
    try:
        module = _format_of(file, listed, options)
        name = module.NAME
        for item in _with_problems(file, module.read(file, options)):
            if isinstance(item, Record) and not item.title and not item.abstract:
                item = file.rejected(f"entry {item.source.position} has neither title nor abstract")
            if isinstance(item, Record):
                read += 1
                bare += not item.abstract
                yield _with_defaults(item, options)
            else:
                rejected += 1
                yield item
        if not read and not rejected:
            raise Unreadable(f"no papers found in it (read as {name})")
        if changed():
            raise Unreadable("changed while it was read; read it again")
    except NotLiterature as finding:
        if listed:
            yield FileRead(file.path, None, note=finding.reason)
            return
        rejected += 1
        yield Rejected(file.path, finding.line, finding.reason)
    except Unreadable as problem:
        rejected += 1
        yield Rejected(file.path, problem.line, problem.reason)
    except TROUBLES as error:
        rejected += 1
        yield Rejected(file.path, None, f"cannot be read on after {read} entries ({said(error)})")
    yield FileRead(file.path, name, read, rejected, bare)


def _with_problems(file: Opened, items: Iterator[Record | Rejected]) -> Iterator[Record | Rejected]:
    """`items`, with what the file itself found wrong put in as it is met."""
    for item in items:
        while file.problems:
            yield file.problems.pop(0)
        yield item
    yield from file.problems
    file.problems.clear()


def _with_defaults(record: Record, options: ReadOptions) -> Record:
    if (record.venue or not options.venue) and (record.year or not options.year):
        return record
    return replace(record, venue=record.venue or options.venue, year=record.year or options.year)


def _format_of(file: Opened, listed: bool, options: ReadOptions) -> Format:
    """The format the file's content speaks for. Raises NotLiterature or Unreadable where none does."""
    path = PurePath(file.name)
    promising = path.suffix.lower() in ENDINGS
    give_up = NotLiterature if listed and not promising else Unreadable
    if file.is_empty:
        raise give_up("the file is empty")
    if file.is_binary:
        raise give_up(f"{kind_of(file.start)}; give it a text export such as BibTeX, RIS, CSV or JSON")
    if options.format is not None:
        return next(module for module in formats() if options.format == module.NAME)
    scores = [(module.sniff(file.head, file.name), -order, module) for order, module in enumerate(formats())]
    best, _, module = max(scores, key=lambda score: score[:2])
    if listed and best < 0.5 and path.stem.lower().startswith(BESIDE):
        raise NotLiterature("a file that lies beside literature, and no list of papers")
    if best <= 0 or (listed and not (promising or path.suffix == "" or best >= 0.5)):
        raise give_up("its content is of no known format; --format names one")
    return module


def kind_of(start: bytes) -> str:
    """What a binary file is, in words."""
    known = (
        (b"%PDF", "a PDF document"),
        (b"\x89PNG", "a picture"),
        (b"\xff\xd8\xff", "a picture"),
        (b"GIF8", "a picture"),
        (b"SQLite format 3", "a database"),
        (b"\xd0\xcf\x11\xe0", "an office document"),
        (b"BZh", "a bzip2 archive"),
        (b"\xfd7zXZ", "an xz archive"),
        (b"Rar!", "a RAR archive"),
        (b"7z\xbc\xaf", "a 7z archive"),
    )
    return next((kind for mark, kind in known if start.startswith(mark)), "a binary file, not text")
