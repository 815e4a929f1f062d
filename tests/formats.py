"""Reading from a string, for tests of the format modules."""

from __future__ import annotations

import io
from types import ModuleType

from rag.readers.opened import Opened
from rag.readers.options import ReadOptions
from rag.types import Record, Rejected


def opened(text: str | bytes, name: str = "file") -> Opened:
    data = text.encode() if isinstance(text, str) else text
    return Opened(name, lambda: io.BytesIO(data))


def items(module: ModuleType, text: str | bytes) -> list[Record | Rejected]:
    """Everything that a format module makes of `text`."""
    return list(module.read(opened(text), ReadOptions()))


def records(module: ModuleType, text: str | bytes) -> list[Record]:
    """Its records; a rejection fails the test."""
    found = items(module, text)
    assert not [item for item in found if isinstance(item, Rejected)]
    return [item for item in found if isinstance(item, Record)]


def only(module: ModuleType, text: str | bytes) -> Record:
    """Its single record."""
    [record] = records(module, text)
    return record
