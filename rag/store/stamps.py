"""What the files of a derived index looked like when they were last known to be whole.

A vector file cut short by a kill crashes the process that loads it, so files are compared before they are loaded:
by size and time of change, and where these differ by content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[str, int, int, str]  # name within the folder, bytes, time of change in ns, SHA-256


def stamp(folder: Path, names: Iterable[str], known: Iterable[Stamp] = ()) -> list[Stamp]:
    """Stamps of the files `names` of `folder`. The content of those that `known` has unchanged is not read again."""
    before = {item[0]: item for item in known}
    found: list[Stamp] = []
    for name in names:
        path = folder / name
        state = path.stat()
        last = before.get(name)
        if last is not None and last[1:3] == (state.st_size, state.st_mtime_ns):
            found.append(last)
        else:
            found.append((name, state.st_size, state.st_mtime_ns, _digest(path)))
    return found


def differing(folder: Path, known: Iterable[Stamp], *, thorough: bool = False) -> list[str]:
    """Names of the files that are not what they were: missing, of another size, or changed in content.

    `thorough` reads every file, else only those whose time of change differs.
    """
    return [item[0] for item in known if not _same(folder / item[0], item, thorough)]


def _same(path: Path, known: Stamp, thorough: bool) -> bool:
    try:
        state = path.stat()
        if state.st_size != known[1]:
            return False
        return (state.st_mtime_ns == known[2] and not thorough) or _digest(path) == known[3]
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
