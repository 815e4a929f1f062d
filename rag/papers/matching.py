"""Which paper an entry belongs to, before it is stored: in the database, or among those about to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from rag.papers.finding import near_keys
from rag.papers.identity import Conflict, keys, merge, paper_from, plain, same
from rag.store.records import Entry, Records, embedded_hash
from rag.types import Paper, Record

# A key that proposes many papers tells nothing; the same paper shares others too.
MOST_CANDIDATES = 50


@dataclass(slots=True, eq=False)
class Draft:
    """A paper as it will be stored. `row` is None for a new one; `embedded` is what its stored vectors are of.

    `frozen` says that it is on its way to the database and must not change any more.
    """

    paper: Paper
    row: int | None = None
    embedded: bytes | None = None
    entries: list[Entry] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    absorbs: list[int] = field(default_factory=list)
    frozen: bool = False

    @property
    def keeps_vectors(self) -> bool:
        """Whether the stored vectors are still those of its title and abstract."""
        return self.embedded == embedded_hash(self.paper)


def fold(entries: Sequence[Entry]) -> Paper:
    """The paper that these entries make, first one first."""
    paper = paper_from(entries[0].record)
    for entry in entries[1:]:
        paper, _ = merge(paper, entry.record)
    return paper


class Drafts:
    """The papers about to be stored, found by their keys together with those that are stored."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._by_key: dict[str, list[Draft]] = {}
        self._by_row: dict[int, Draft] = {}
        self._ids: dict[str, Draft] = {}

    def add(self, paper: Paper, entry: Entry) -> Draft:
        """A new paper of one entry."""
        draft = Draft(self._with_own_id(paper, None), entries=[entry])
        self._know(draft)
        return draft

    def of_row(self, row: int) -> Draft:
        """The draft of a stored paper, made from it if there is none yet."""
        draft = self._by_row.get(row)
        if draft is None:
            paper = self._records.papers([row])[row]
            draft = Draft(paper, row, self._records.embedded(row))
            self._know(draft)
        return draft

    def is_frozen(self, row: int) -> bool:
        """Whether a stored paper has a draft that is on its way to the database."""
        draft = self._by_row.get(row)
        return draft is not None and draft.frozen

    def matching(self, record: Record) -> list[Draft | int]:
        """The papers that `record` is of, the surest first: drafts, and rows of stored papers without a draft."""
        found: dict[Draft | int, Paper] = {}
        wanted = (*keys(record), *near_keys(record.abstract))
        stored = self._records.rows_of_keys(wanted)
        for key in wanted:
            candidates: list[Draft | int] = [*self._by_key.get(key, ())]
            candidates += [self._by_row.get(row, row) for row in stored.get(key, ())]
            candidates = candidates[:MOST_CANDIDATES]
            loaded = self._records.papers([item for item in candidates if isinstance(item, int) and item not in found])
            for item in candidates:
                paper = item.paper if isinstance(item, Draft) else loaded.get(item)
                if item not in found and paper is not None and same(record, paper):
                    found[item] = paper
        # Papers of a supplement share its DOI: of those, the one that has the title comes first.
        title = plain(record.title or "")
        return sorted(found, key=lambda item: plain(found[item].title) != title) if len(found) > 1 else list(found)

    def join(self, draft: Draft, entry: Entry) -> tuple[Conflict, ...]:
        """Make an entry part of a paper; returns where they differ."""
        merged, conflicts = merge(draft.paper, entry.record)
        draft.entries.append(entry)
        self._change(draft, merged)
        return conflicts

    def absorb(self, draft: Draft, row: int) -> None:
        """Make the stored paper `row` part of another stored one, where nothing speaks against it."""
        other = self._records.papers([row]).get(row)
        if other is None or draft.row is None or not same(other, draft.paper):
            return
        paper = draft.paper
        for entry in self._records.entries(row):
            paper, _ = merge(paper, entry.record)
        known = (paper.paper_id, *paper.aliases)
        aliases = [name for name in (other.paper_id, *other.aliases) if name not in known]
        draft.absorbs.append(row)
        self._change(draft, replace(paper, aliases=(*paper.aliases, *aliases)))

    def swap(self, row: int, gone: int, entry: Entry | None) -> Draft | None:
        """Take the entry numbered `gone` out of the stored paper `row` and put `entry` in, if there is one.

        None where the paper has no entry left; it is then to be removed.
        """
        draft = self.of_row(row)
        draft.dropped.append(gone)
        if entry is not None:
            draft.entries.append(entry)
        left = [one for one in self._records.entries(row) if one.number not in draft.dropped] + draft.entries
        for row in draft.absorbs:
            left += self._records.entries(row)
        if not left:
            return None
        paper = fold(left)
        former = draft.paper.paper_id
        if former not in (paper.paper_id, *paper.aliases):
            paper = replace(paper, aliases=(*paper.aliases, former))
        self._change(draft, paper)
        return draft

    def stored(self, drafts: Sequence[Draft]) -> None:
        """Forget drafts that are now in the database."""
        gone = set(drafts)
        for draft in drafts:
            self._forget(draft)
            if draft.row is not None:
                self._by_row.pop(draft.row, None)
        self._by_row = {row: draft for row, draft in self._by_row.items() if draft not in gone}

    def _change(self, draft: Draft, paper: Paper) -> None:
        self._forget(draft)
        draft.paper = self._with_own_id(paper, draft)
        self._know(draft)

    def _know(self, draft: Draft) -> None:
        for key in (*keys(draft.paper), *near_keys(draft.paper.abstract)):
            self._by_key.setdefault(key, []).append(draft)
        self._ids[draft.paper.paper_id] = draft
        if draft.row is not None:
            self._by_row[draft.row] = draft

    def _forget(self, draft: Draft) -> None:
        for key in (*keys(draft.paper), *near_keys(draft.paper.abstract)):
            held = self._by_key.get(key, [])
            if draft in held:
                held.remove(draft)
                if not held:
                    del self._by_key[key]
        self._ids.pop(draft.paper.paper_id, None)

    def _with_own_id(self, paper: Paper, draft: Draft | None) -> Paper:
        """`paper` with an id that no other paper has: namesakes without other data would share one."""
        taken = self._ids.get(paper.paper_id)
        rows = set(self._records.rows_of_ids([paper.paper_id]))
        if draft is not None:
            rows -= {draft.row, *draft.absorbs}
        if (taken is None or taken is draft) and not rows:
            return paper
        digest = blake2b(f"{paper.abstract}\n{paper.sources[:1]}".encode(), digest_size=4).hexdigest()
        return replace(paper, paper_id=f"{paper.paper_id}:{digest}")
