"""Files into the library: read, matched with what is known, embedded, stored; in batches, resumable, with progress."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from rag.ingest.ahead import ReadAhead
from rag.ingest.report import FileReport, IngestOptions, IngestProgress, IngestReport, Progress, Stage, unchanged_report
from rag.ingest.storing import Pipeline
from rag.papers.identity import Conflict, is_sure, keys, paper_from
from rag.papers.matching import Draft, Drafts
from rag.readers import FileRead, read
from rag.readers.expand import walk
from rag.store.index import Index
from rag.store.records import Entry, Known, record_hash
from rag.store.writing import Writing
from rag.types import Paper, Record, Rejected

__all__ = ["FileReport", "IngestOptions", "IngestProgress", "IngestReport", "ingest"]

# Raised when readers or text cleaning change so that files known as unchanged should be read again.
VERSION = 2
PROGRESS_S = 0.2
# An edited entry of a file read before still shares this share of its words with what it was.
EDITED = 0.5


def ingest(
    paths: Sequence[str | Path], index: Index, options: IngestOptions, progress: Progress = lambda _: None
) -> IngestReport:
    """Read files, folders, archives and `-` into the library.

    Nothing changes for what is known as it is. When it returns, all that the report counts is stored. Killed at any
    moment, the same call later finishes the work. `progress` is called from this thread a few times a second.

    Raises InputError for a path that is missing, LibraryBusy while another process writes, StorageError when the disk
    refuses, EmbedderMismatch.
    """
    with index.locked(), index.one_ingest():
        return _Run(index, options, progress).over(paths)


class _Run:
    """One call of `ingest`."""

    def __init__(self, index: Index, options: IngestOptions, progress: Progress) -> None:
        self.index = index
        self.records = index.records
        self.options = options
        self.drafts = Drafts(index.records)
        self.files: dict[str, FileReport] = {}
        self.of_draft: dict[Draft, list[tuple[FileReport, str]]] = {}
        self._tell = progress
        self._start = self._began = time.monotonic()
        self._told = 0.0
        self._taken = 0
        self._skipped = 0
        self._removed = 0

    def over(self, paths: Sequence[str | Path]) -> IngestReport:
        """All of it."""
        places = [_place(path) for path in paths]
        stamps = {place: _content_stamp(place, self.options) for place in places}
        fresh = [place for place in places if not self._skip(place, stamps[place])]
        for place in fresh:
            self._must_be_there(place)
        self._began = time.monotonic()
        with (
            ReadAhead(fresh, [_size(place) for place in fresh], self.options.read) as self._ahead,
            Pipeline(self.index, self.drafts, self._failed, self._stored, self._stage) as self.pipeline,
        ):
            for place in fresh:
                self._read(place, stamps[place])
            self.pipeline.flush()
            self.pipeline.settle()
        self._stage("done")
        seconds = time.monotonic() - self._start
        return IngestReport(tuple(self.files.values()), len(self.index), seconds, self._removed)

    def _must_be_there(self, place: str) -> None:
        """Raises the reader's own InputError for a path that is missing."""
        if place != "-" and not Path(place).exists():
            next(read(place, self.options.read))

    # One file or folder

    def _skip(self, place: str, stamp: str | None) -> bool:
        """Whether a file or folder is as it was when it was last read to its end; its report is then kept."""
        known = self.records.reading(place) if stamp else None
        if known is None or known[0] != stamp or (self.options.prune and self.records.holds_gone(place)):
            return False
        for stored in known[1]:
            self.files[stored["file"]] = unchanged_report(stored)
            self._skipped += stored["read"]
        return True

    def _read(self, place: str, stamp: str | None) -> None:
        reports: list[FileReport] = []
        open_files: dict[str, _File] = {}
        for item in self._ahead.items():
            if isinstance(item, Record):
                file = open_files.get(item.source.path)
                if file is None:
                    file = open_files[item.source.path] = _File(self, item.source.path)
                file.take(item)
                self._taken += 1
                self.pipeline.flush_when_full()
                self._stage("reading", file.report.file)
            elif isinstance(item, Rejected):
                self._report(item.file).rejected.append(item)
            else:
                report = self._close(item, open_files.pop(item.path, None))
                reports.append(report)
        if place != "-" and Path(place).is_dir():
            self._missing(place, {report.file for report in reports})
        if stamp:
            kept = [report.stored() for report in reports]
            self.pipeline.note(lambda writing: writing.finish_reading(place, stamp, kept))

    def _close(self, item: FileRead, file: _File | None) -> FileReport:
        report = self._report(item.path)
        report.format, report.note = item.format, item.note
        report.read, report.without_abstract = item.read, item.without_abstract
        if file is not None:
            file.finish(whole=not item.rejected)
        return report

    def _report(self, path: str) -> FileReport:
        return self.files.setdefault(path, FileReport(path))

    def _missing(self, folder: str, seen: set[str]) -> None:
        """Entries of files that were in the folder and are gone."""
        for path in self.records.paths_under(folder):
            if path not in seen:
                self._report(path).note = "no longer there"
                _File(self, path).finish(whole=True)

    # What becomes of an entry

    def place(self, entry: Entry, report: FileReport) -> None:
        """Store an entry that is not known: as a paper of its own, or as part of the paper it is of."""
        matches = self.drafts.matching(entry.record)
        if any(isinstance(match, Draft) and match.frozen for match in matches):
            self.pipeline.settle()
            matches = self.drafts.matching(entry.record)
        if not matches:
            draft = self.drafts.add(paper_from(entry.record), entry)
            report.added += 1
            self._owe(draft, report, "added")
        else:
            first = matches[0]
            draft = first if isinstance(first, Draft) else self.drafts.of_row(first)
            conflicts = self.drafts.join(draft, entry)
            for other in matches[1:]:
                row = other.row if isinstance(other, Draft) else other
                if row is not None and not (isinstance(other, Draft) and (other.entries or other.dropped)):
                    self.drafts.absorb(draft, row)
            report.merged += 1
            self._owe(draft, report, "merged")
            self._conflicts(draft, report, conflicts)
        self.pipeline.add(draft)

    def replace(self, known: Known, entry: Entry, report: FileReport) -> None:
        """Put an entry in the place of what it was."""
        self._settled(known.row)
        draft = self.drafts.swap(known.row, known.number, entry)
        if draft is not None:
            report.replaced += 1
            self._owe(draft, report, "replaced")
            self.pipeline.add(draft)

    def prune(self, known: Known, report: FileReport) -> None:
        """Take out an entry that its file no longer has."""
        self._settled(known.row)
        draft = self.drafts.swap(known.row, known.number, None)
        report.pruned += 1
        if draft is None:
            self._removed += 1
            self.pipeline.remove(known.row)
        else:
            self.pipeline.add(draft)

    def _settled(self, row: int) -> None:
        """Wait for a paper that is on its way to the database."""
        if self.drafts.is_frozen(row):
            self.pipeline.settle()

    def _owe(self, draft: Draft, report: FileReport, count: str) -> None:
        self.of_draft.setdefault(draft, []).append((report, count))

    def _failed(self, draft: Draft, rejected: Rejected) -> None:
        """A paper could not be embedded: its entries count as rejected."""
        for report, count in self.of_draft.pop(draft, ()):
            setattr(report, count, getattr(report, count) - 1)
        self._report(rejected.file).rejected.append(rejected)

    def _stored(self, drafts: Sequence[Draft]) -> None:
        for draft in drafts:
            self.of_draft.pop(draft, None)

    def _conflicts(self, draft: Draft, report: FileReport, conflicts: Iterable[Conflict]) -> None:
        report.conflicts += [(draft.paper.paper_id, conflict) for conflict in conflicts]

    # Progress

    def _stage(self, stage: Stage, file: str = "") -> None:
        now = time.monotonic()
        if stage == "reading" and now - self._told < PROGRESS_S:
            return
        self._told = now
        done = self._taken - self.pipeline.left
        rate = done / max(now - self._began, 1e-9)
        all_done = self._skipped + done
        to_come = self._ahead.total
        total = None if to_come is None else max(all_done, self._skipped + to_come)
        remaining = None if total is None or not rate else (total - all_done) / rate
        self._tell(IngestProgress(stage, all_done, total, rate, remaining, file))


class _File:
    """One file while it is read: what was known of it, and what of that has been seen again."""

    def __init__(self, run: _Run, path: str) -> None:
        self.report = run._report(path)
        self._run = run
        self._path = path
        self._known = run.records.known_entries(path)
        self._by_hash: dict[bytes, list[Known]] = {}
        for known in reversed(self._known):
            self._by_hash.setdefault(known.hash, []).append(known)
        self._seen: dict[int, int] = {}  # number of a known entry -> its position now
        self._fresh: list[Entry] = []
        self._moves: list[tuple[int, int]] = []

    def take(self, record: Record) -> None:
        """The next entry."""
        digest = record_hash(record)
        same = self._by_hash.get(digest)
        if same:
            known = same.pop()
            self._seen[known.number] = record.source.position
            self.report.unchanged += 1
            if known.position != record.source.position:
                self._moves.append((known.number, record.source.position))
        elif self._known:
            # Whether it is new or an edited one shows when it is known which are gone.
            self._fresh.append(Entry(record, digest))
        else:
            self._run.place(Entry(record, digest), self.report)

    def finish(self, *, whole: bool) -> None:
        """The file has been read to its end; `whole` says that no entry of it was rejected."""
        gone = [known for known in self._known if known.number not in self._seen]
        pairs = self._pairs(gone) if gone and self._fresh else {}
        for number, entry in enumerate(self._fresh):
            if number in pairs:
                self._run.replace(pairs[number], entry, self.report)
            else:
                self._run.place(entry, self.report)
            self._run.pipeline.flush_when_full()
        replaced = {known.number for known in pairs.values()}
        left = [known for known in gone if known.number not in replaced]
        if self._run.options.prune and whole:
            for known in left:
                self._run.prune(known, self.report)
        else:
            # They stay with their papers, but no longer stand at a place of the file.
            self._moves += [(known.number, -abs(known.position)) for known in left]
        if self._moves:
            moves = self._moves
            self._run.pipeline.note(lambda writing: _move(writing, moves))

    def _pairs(self, gone: Sequence[Known]) -> dict[int, Known]:
        """Which fresh entries (by their place in the list) are edited forms of which gone ones."""
        run = self._run
        by_row = {known.row: known for known in reversed(gone)}
        pairs: dict[int, Known] = {}
        taken: set[int] = set()
        for number, entry in enumerate(self._fresh):
            for match in run.drafts.matching(entry.record):
                row = match.row if isinstance(match, Draft) else match
                known = by_row.get(row) if row is not None else None
                if known is not None and known.number not in taken:
                    pairs[number] = known
                    taken.add(known.number)
                    break
        return pairs | self._aligned([known for known in gone if known.number not in taken], set(pairs))

    def _aligned(self, gone: Sequence[Known], paired: set[int]) -> dict[int, Known]:
        """Entries without a common key that stand between the same unchanged entries as a gone one, and share words."""
        starts = sorted(self._seen.values())
        before: dict[int, list[Known]] = {}
        waiting = {known.number: known for known in gone}
        anchor = 0
        for known in self._known:
            anchor = self._seen.get(known.number, anchor)
            if known.number in waiting:
                before.setdefault(anchor, []).append(known)
        papers = self._run.records.papers([known.row for known in gone])
        pairs: dict[int, Known] = {}
        place = 0
        for number, entry in enumerate(self._fresh):
            while place < len(starts) and starts[place] < entry.record.source.position:
                place += 1
            anchor = starts[place - 1] if place else 0
            if number in paired:
                continue
            for known in before.get(anchor, ()):
                paper = papers.get(known.row)
                if paper is not None and _may_be_edited(entry.record, paper):
                    pairs[number] = known
                    before[anchor].remove(known)
                    break
        return pairs


def _move(writing: Writing, moves: Sequence[tuple[int, int]]) -> None:
    """Note where entries stand now; places below 0 are for those that stand nowhere any more."""
    for number, position in moves:
        writing.place_entry(number, position)
    writing.refresh_sources(writing.rows_of_entries([number for number, _ in moves]))


def _may_be_edited(record: Record, paper: Paper) -> bool:
    """Whether an entry at the place of the paper's may be what that was edited into."""
    sure = [{key for key in keys(one) if is_sure(key)} for one in (record, paper)]
    # One identifier at one place is one paper, however much was rewritten.
    if sure[0] & sure[1]:
        return True
    # Identifiers of one kind that differ tell papers apart, however alike they are.
    kinds = [{key.partition(":")[0] for key in each} for each in sure]
    return not kinds[0] & kinds[1] and _shared(record, f"{paper.title} {paper.abstract}") >= EDITED


def _shared(record: Record, text: str) -> float:
    """Share of the words of the smaller of two texts that the other has too."""
    one = set(f"{record.title or ''} {record.abstract}".casefold().split())
    two = set(text.casefold().split())
    smaller = min(len(one), len(two))
    return len(one & two) / smaller if smaller else 0.0


def _place(path: str | Path) -> str:
    """What the database calls a file or folder: its full path, links not followed; `-` stays."""
    return "-" if str(path) == "-" else os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - links are kept


def _content_stamp(place: str, options: IngestOptions) -> str | None:
    """Changes when the content of a file or folder, or the way it is read, changes; None where that cannot be told."""
    path = Path(place)
    digest = hashlib.sha256()
    try:
        if path.is_dir():
            for found in walk(path):
                if isinstance(found, Path):
                    digest.update(os.fsencode(found) + b"\0" + _file_digest(found))
        elif path.is_file():
            digest.update(_file_digest(path))
        else:
            return None
    except OSError:
        return None
    way = options.read
    digest.update(orjson.dumps([VERSION, dict(way.columns), way.format, way.venue, way.year]))
    return digest.hexdigest()


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _size(place: str) -> int:
    """Bytes of a file, or of all files in a folder; 0 for what is no file."""
    path = Path(place)
    if path.is_dir():
        return sum(found.stat().st_size for found in walk(path) if isinstance(found, Path))
    return path.stat().st_size if path.exists() else 0
