"""What reading files into the library takes, tells on the way, and reports at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from rag.papers.identity import Conflict
from rag.readers.options import ReadOptions
from rag.types import Rejected

Stage = Literal["reading", "embedding", "storing", "done"]


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """`prune` removes what a file (or a folder) held before and no longer holds, unless another source has it."""

    read: ReadOptions = field(default_factory=ReadOptions)
    prune: bool = False


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """Where it stands: entries done of `total` (None: not known; an estimate until all files are read), entries a
    second so far, seconds left (None: not known), and the file being read."""

    stage: Stage
    done: int
    total: int | None
    rate: float
    remaining_s: float | None
    file: str


@dataclass(slots=True)
class FileReport:
    """What became of one file. Each entry read is added, unchanged, replaced, merged or failed (then in `rejected`).

    `format` is None for a file that was passed over as no literature; `note` says why. `pruned` counts entries that the
    file held before and that were removed.
    """

    file: str
    format: str | None = None
    read: int = 0
    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    merged: int = 0
    pruned: int = 0
    without_abstract: int = 0
    note: str = ""
    rejected: list[Rejected] = field(default_factory=list)
    conflicts: list[tuple[str, Conflict]] = field(default_factory=list)

    def stored(self) -> dict[str, Any]:
        """What is kept of it, to report the file again while it does not change."""
        return {
            "file": self.file,
            "format": self.format,
            "read": self.read,
            "without_abstract": self.without_abstract,
            "note": self.note,
            "rejected": [[item.file, item.line, item.reason] for item in self.rejected],
        }


def unchanged_report(stored: dict[str, Any]) -> FileReport:
    """The report of a file that has not changed since `stored` was kept."""
    rejected = [Rejected(*item) for item in stored["rejected"]]
    return FileReport(**{**stored, "rejected": rejected, "unchanged": stored["read"]})


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of all files. `papers` is how many the library holds now."""

    files: tuple[FileReport, ...]
    papers: int
    seconds: float
    removed: int = 0

    def _sum(self, name: str) -> int:
        return sum(getattr(file, name) for file in self.files)

    @property
    def added(self) -> int:
        """Entries that are new papers."""
        return self._sum("added")

    @property
    def unchanged(self) -> int:
        """Entries that were known as they are."""
        return self._sum("unchanged")

    @property
    def replaced(self) -> int:
        """Entries that took the place of what they were before."""
        return self._sum("replaced")

    @property
    def merged(self) -> int:
        """Entries that joined a paper which another entry had brought."""
        return self._sum("merged")

    @property
    def without_abstract(self) -> int:
        """Entries that have only a title."""
        return self._sum("without_abstract")

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """Entries and files that could not be read or stored, with the reason."""
        return tuple(item for file in self.files for item in file.rejected)

    def to_json(self) -> dict[str, Any]:
        """As `ingest --json` prints it, with a part for each file added."""
        counts = ("added", "unchanged", "replaced", "merged")
        return {
            **{name: self._sum(name) for name in counts},
            "rejected": [_rejection(item) for item in self.rejected],
            "papers": self.papers,
            "seconds": round(self.seconds, 3),
            "removed": self.removed,
            "without_abstract": self.without_abstract,
            "files": [
                {
                    item.name: getattr(file, item.name)
                    for item in fields(file)
                    if item.name not in ("rejected", "conflicts")
                }
                | {
                    "rejected": len(file.rejected),
                    "conflicts": [
                        {"paper_id": paper_id, "field": one.field, "kept": one.kept, "other": one.other}
                        for paper_id, one in file.conflicts
                    ],
                }
                for file in self.files
            ],
        }


def _rejection(item: Rejected) -> dict[str, Any]:
    return {"file": item.file, "line": item.line, "reason": item.reason}


Progress = Callable[[IngestProgress], None]
