"""The errors a user can meet, each one sentence: what was got, what was expected, what to do.

    AbstractQAError
    ├── InputError            a file, question or question set that cannot be used
    ├── SettingsError         a setting that is unknown or out of range
    ├── ModelError            a model that cannot be had or does not work
    │   ├── ModelMissing      known, but not on this machine: pull it
    │   ├── ModelUnreachable  no place that has it can be reached
    │   ├── ModelCorrupt      what arrived is not what was published
    │   └── GenerationError   the model failed while it wrote; asking again may help
    ├── LibraryError          the library on disk
    │   ├── LibraryBusy       another process writes to it; waiting helps
    │   ├── LibraryEmpty      nothing has been ingested yet
    │   ├── LibraryDamaged    a part of it is torn; `abstract-qa doctor --repair` mends it
    │   ├── EmbedderMismatch  built with another embedder: `abstract-qa reindex` mends it
    │   └── StorageError      the disk refused (full, read-only)
    └── Busy                  too many questions at once; waiting helps

Everything under AbstractQAError is shown as its message alone, without a traceback, with exit status 1.
Anything else that escapes is a defect of this program.
"""

from __future__ import annotations


class AbstractQAError(Exception):
    """Base of every error that is the user's to read. `retry` says whether asking again can help."""

    retry = False


class InputError(AbstractQAError):
    """What was given cannot be used: `file` and `line` (1-based) say where, None where there is no such place."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(where + message)
        self.file = file
        self.line = line


class SettingsError(AbstractQAError):
    """A setting is unknown or has a value outside its range."""


class ModelError(AbstractQAError):
    """A model cannot be had or does not work."""


class ModelMissing(ModelError):
    """The model is known but not on this machine."""


class ModelUnreachable(ModelError):
    """No place that has the model can be reached."""

    retry = True


class ModelCorrupt(ModelError):
    """What arrived does not have the published hash."""


class GenerationError(ModelError):
    """The model failed while it wrote."""

    retry = True


class LibraryError(AbstractQAError):
    """Something about the library on disk."""


class LibraryBusy(LibraryError):
    """Another process is writing to the library."""

    retry = True


class LibraryEmpty(LibraryError):
    """Nothing has been ingested yet."""


class LibraryDamaged(LibraryError):
    """A part of the library on disk is torn or unreadable."""


class EmbedderMismatch(LibraryError):
    """The library was built with another embedder or other chunking."""


class StorageError(LibraryError):
    """The disk refused to write."""


class Busy(AbstractQAError):
    """Too many questions at once."""

    retry = True
