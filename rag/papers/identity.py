"""Which entries are one paper, and what a paper knows from all of them.

Keys find candidates; `same` decides. A shared identifier (own id, DOI, arXiv id, PubMed id, OpenReview id) decides,
unless it is one of a whole supplement, or was mistyped: title and abstract then both say otherwise. A shared title
decides where authors, years and abstracts do not speak against it, so that different papers with one title stay two. A
near-identical abstract decides where authors do not speak against it. Entries to which a file of this project gave
different ids are told apart by all but a shared identifier.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rag.papers.identifiers import arxiv_of
from rag.texts.notices import says_nothing
from rag.texts.text import label_from
from rag.types import Paper, Record

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NO_LETTER_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())
_NO_LETTER = re.compile(r"[\W_]+")
_PREPRINT = re.compile(r"\b(?:arxiv|corr|biorxiv|medrxiv|ssrn|preprints?|openreview|techrxiv|osf)\b", re.IGNORECASE)
_PREPRINT_DOIS = ("10.48550/", "10.1101/", "10.2139/", "10.21203/", "10.31234/", "10.20944/", "10.36227/", "10.5281/")
_MADE = ("doi:", "arxiv:", "pmid:", "openreview:", "title:", "abs:")
_SHORT_TITLE = 20  # letters and digits; "Introduction" and "Editorial" say nothing alone
_SHORT_ABSTRACT = 15  # words; "This paper has been withdrawn." says nothing
_BANDS, _ROWS = 8, 4  # near-duplicates of similarity 0.8 share a band with probability 0.985, of 0.9 with 0.9999
_NEAR = 0.7
# Of entries with one identifier: share of words from which titles are one title, abstracts forms of one abstract.
_ALIKE, _REVISED = 0.75, 0.5


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field in which a merged entry differs from its paper: what is kept, and what went to `extra`."""

    field: str
    kept: str
    other: str


def keys(entry: Record | Paper) -> tuple[str, ...]:
    """Keys under which the paper of `entry` may be known, the surest first; never empty for an entry with text.

    "id:…", "doi:…", "arxiv:…", "pmid:…" and "openreview:…" identify it; "title:…" and "abs:…" only propose.
    """
    found: list[str] = []
    if isinstance(entry, Paper):
        found.extend(f"id:{name}" for name in (entry.paper_id, *entry.aliases))
    elif entry.own_id:
        found.append(f"id:{entry.own_id}")
    arxiv = entry.arxiv_id or arxiv_of(entry.doi)
    if entry.doi and not arxiv_of(entry.doi):
        found.append(f"doi:{entry.doi.lower()}")
    if arxiv:
        found.append(f"arxiv:{arxiv.lower()}")
    if entry.pmid:
        found.append(f"pmid:{entry.pmid}")
    if entry.openreview_id:
        found.append(f"openreview:{entry.openreview_id}")
    title = _title(entry)
    if title:
        found.append(f"title:{title}")
    if entry.abstract and (not title or _telling(entry.abstract)):
        found.append(f"abs:{_digest(plain(entry.abstract))}")
    return tuple(dict.fromkeys(found))


def is_sure(key: str) -> bool:
    """Whether `key` identifies a paper, rather than only proposing it."""
    return not key.startswith(("title:", "abs:", "near:"))


def paper_id_of(record: Record) -> str:
    """The record's own id, else its surest key; of a title, with first author and year, so that namesakes differ."""
    if record.own_id:
        return record.own_id
    best = keys(record)[0] if keys(record) else f"title:{_digest(record.source.locator)}"
    if not best.startswith("title:"):
        return best
    author = " ".join(sorted(_names(record.authors[0]))) if record.authors else ""
    return f"title:{_digest('|'.join((best, author, str(record.year or ''))))}"


def paper_from(record: Record) -> Paper:
    """The paper of one record. Without a title it is labelled from its abstract."""
    return Paper(
        paper_id=paper_id_of(record),
        title=record.title or label_from(record.abstract),
        abstract=record.abstract,
        titled=bool(record.title),
        authors=record.authors,
        venue=record.venue,
        year=record.year,
        url=record.url,
        doi=record.doi,
        arxiv_id=record.arxiv_id,
        pmid=record.pmid,
        openreview_id=record.openreview_id,
        keywords=record.keywords,
        sources=(record.source,),
        extra=record.extra,
    )


def same(record: Record | Paper, paper: Paper) -> bool:
    """Whether `record` is of `paper`, given that they share a key or a near key."""
    ours, theirs = set(keys(record)), set(keys(paper))
    if identifiers := {key.partition(":")[0] for key in ours & theirs if is_sure(key)}:
        return "id" in identifiers or len(identifiers) > 1 or not _are_two(record, paper)
    near = _telling(record.abstract) and _telling(paper.abstract) and near_identical(record.abstract, paper.abstract)
    one, two = _title(record), _title(paper)
    if _ids_differ(record, paper):
        return False
    if one and two and one != two:
        return near and not _authors_differ(record, paper)
    if not one or not two:
        return near or bool({key for key in ours & theirs if key.startswith("abs:")})
    if near:
        return True
    return _namesake_is_same(record, paper, one)


def merge(paper: Paper, record: Record) -> tuple[Paper, tuple[Conflict, ...]]:
    """`paper` with what `record` adds, and the fields in which the two differ.

    The richer value is kept and the other goes to `extra` under "FIELD (other)". Merging the same record again changes
    nothing and reports nothing.
    """
    return _Merger(paper, record).result()


def plain(text: str) -> str:
    """Letters and digits of `text` alone, without case and accents: what titles and abstracts are compared by."""
    folded = text.casefold()
    if folded.isascii():
        return folded.encode().translate(None, _NO_LETTER_ASCII).decode()
    return _NO_LETTER.sub("", unicodedata.normalize("NFKD", folded))


def near_keys(abstract: str) -> tuple[str, ...]:
    """Eight "near:…" keys of which near-identical abstracts share at least one; empty for a very short abstract.

    MinHash over word trigrams, banded (Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, ch. 3).
    """
    shingles = _shingles(abstract)
    if len(shingles) < _SHORT_ABSTRACT:
        return ()
    # Multiply-shift hashing (Dietzfelbinger and others 1997): products wrap at 64 bits, their upper halves are used.
    minima = ((shingles[None, :] * _FACTORS + _OFFSETS) >> np.uint64(32)).min(axis=1)
    bands = minima.reshape(_BANDS, _ROWS)
    return tuple(f"near:{number}{zlib.crc32(band.tobytes()):08x}" for number, band in enumerate(bands))


def near_identical(one: str, two: str) -> bool:
    """Whether 70% of the word trigrams of the shorter abstract are in the other, which is at most twice as long."""
    first, second = set(_shingles(one).tolist()), set(_shingles(two).tolist())
    small, large = sorted((len(first), len(second)))
    return small > 0 and large <= 2 * small + 2 and len(first & second) >= _NEAR * small


_random = np.random.default_rng(20130116)
_FACTORS = _random.integers(1, 1 << 63, size=(_BANDS * _ROWS, 1), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_OFFSETS = _random.integers(0, 1 << 63, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def _shingles(text: str) -> npt.NDArray[np.uint64]:
    """Hashes (n,) of the word trigrams of `text`."""
    words = _WORD.findall(text.casefold())
    hashes = np.fromiter((zlib.crc32(word.encode()) for word in words), dtype=np.uint64, count=len(words))
    if len(words) < 3:
        return hashes
    mixed: npt.NDArray[np.uint64] = hashes[:-2] * _MIX[0] + hashes[1:-1] * _MIX[1] + hashes[2:] * _MIX[2]
    return mixed


def _telling(abstract: str) -> bool:
    words = abstract.split() if abstract.isascii() else _WORD.findall(abstract)
    return len(words) >= _SHORT_ABSTRACT and not says_nothing(abstract)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _title(entry: Record | Paper) -> str:
    if isinstance(entry, Paper) and not entry.titled:
        return ""
    return plain(entry.title) if entry.title else ""


def _names(author: str) -> set[str]:
    """The parts of a name that tell people apart: not initials, unless there is nothing else."""
    parts = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKD", author).casefold().replace("\u0301", ""))
    letters = {plain(part) for part in parts}
    return {part for part in letters if len(part) > 1} or letters


def _authors_differ(one: Record | Paper, two: Record | Paper) -> bool:
    if not one.authors or not two.authors:
        return False
    return not (_names(one.authors[0]) & _names(two.authors[0]))


def _are_two(one: Record | Paper, two: Record | Paper) -> bool:
    """Whether title and abstract of entries with one identifier both say that they are two papers."""
    first, second = _title(one), _title(two)
    if not first or not second or first in second or second in first:
        return False
    alike = _share(one.title or "", two.title or "")
    if _CJK.search(first + second) and bool(_CJK.search(first)) != bool(_CJK.search(second)):
        return False  # one is a translation of the other
    if _telling(one.abstract) and _telling(two.abstract):
        revised = _share(one.abstract, two.abstract) >= _REVISED
        return alike < _ALIKE and not revised and not near_identical(one.abstract, two.abstract)
    apart = (
        one.authors
        and two.authors
        and not set().union(*map(_names, one.authors)) & set().union(*map(_names, two.authors))
    )
    return bool(apart) and alike < _ALIKE / 2


def _share(one: str, two: str) -> float:
    """The share of the words of the text with fewer of them that the other has too."""
    first, second = (set(_WORD.findall(unicodedata.normalize("NFKD", text.casefold()))) for text in (one, two))
    return len(first & second) / (min(len(first), len(second)) or 1)


def _ids_differ(one: Record | Paper, two: Record | Paper) -> bool:
    """Whether they have different identifiers of one kind; a preprint's DOI beside a publisher's is no difference."""
    ours, theirs = _stated_ids(one), _stated_ids(two)
    if ours and theirs and not ours & theirs:
        return True
    pairs = [(one.arxiv_id, two.arxiv_id), (one.pmid, two.pmid)]
    if not any(doi and doi.startswith(_PREPRINT_DOIS) for doi in (one.doi, two.doi)):
        pairs.append((one.doi, two.doi))
    return any(a and b and a.lower() != b.lower() for a, b in pairs)


def _stated_ids(entry: Record | Paper) -> set[str]:
    """Ids that a file gave, not those made here."""
    if isinstance(entry, Record):
        return {entry.own_id} if entry.own_id else set()
    return {name for name in (entry.paper_id, *entry.aliases) if not name.startswith(_MADE)}


def _namesake_is_same(one: Record | Paper, two: Record | Paper, title: str) -> bool:
    """Of two entries with one title, no common identifier, and abstracts that are not near-identical."""
    if _authors_differ(one, two) or (one.year and two.year and abs(one.year - two.year) > 1):
        return False
    agreed = bool(one.authors and two.authors) and bool(one.year and two.year)
    if one.abstract and two.abstract:
        # A revised abstract shares its words; another paper's does not.
        return agreed and _share(one.abstract, two.abstract) >= 0.35
    return agreed or len(title) >= _SHORT_TITLE


class _Merger:
    """One merge: each method settles some fields."""

    def __init__(self, paper: Paper, record: Record) -> None:
        self.paper = paper
        self.record = record
        self.extra = dict(paper.extra)
        self.conflicts: list[Conflict] = []
        for name, value in record.extra.items():
            if name not in self.extra:
                self.extra[name] = value
            elif value != self.extra[name]:
                self._put_aside(name, value)

    def result(self) -> tuple[Paper, tuple[Conflict, ...]]:
        paper, record = self.paper, self.record
        published = bool(record.venue and paper.venue and _PREPRINT.search(paper.venue)) and not (
            record.venue and _PREPRINT.search(record.venue)
        )
        title, titled = self._title()
        merged = replace(
            paper,
            title=title,
            titled=titled,
            abstract=self._text("abstract", paper.abstract, record.abstract) or "",
            authors=self._authors(),
            venue=self._text("venue", paper.venue, record.venue, take=published),
            year=self._year(take=published),
            url=self._value("url", paper.url, record.url),
            doi=self._doi(),
            arxiv_id=self._value("arxiv_id", paper.arxiv_id, record.arxiv_id),
            pmid=self._value("pmid", paper.pmid, record.pmid),
            openreview_id=self._value("openreview_id", paper.openreview_id, record.openreview_id),
            keywords=_union(paper.keywords, record.keywords),
            aliases=self._aliases(),
            sources=paper.sources if record.source in paper.sources else (*paper.sources, record.source),
            extra=self.extra,
        )
        return merged, tuple(self.conflicts)

    def _title(self) -> tuple[str, bool]:
        if not self.paper.titled:
            return (self.record.title, True) if self.record.title else (self.paper.title, False)
        return self._text("title", self.paper.title, self.record.title) or self.paper.title, True

    def _text(self, name: str, kept: str | None, new: str | None, *, take: bool = False) -> str | None:
        """The richer of two texts; they conflict unless they have the same letters or one holds the other."""
        if not kept or not new or kept == new:
            return kept or new
        one, two = plain(kept), plain(new)
        longer, shorter = (new, kept) if take or len(two) > len(one) else (kept, new)
        if not (one in two or two in one):
            if name != "abstract":
                longer, shorter = (new, kept) if take else (kept, new)
            self._differ(name, longer, shorter)
        return longer

    def _value(self, name: str, kept: str | None, new: str | None) -> str | None:
        if kept and new and kept.lower() != new.lower():
            if name == "url":
                self._put_aside(name, new)  # several addresses of one paper are no contradiction
            else:
                self._differ(name, kept, new)
        return kept or new

    def _doi(self) -> str | None:
        kept, new = self.paper.doi, self.record.doi
        if kept and new and kept != new and kept.startswith(_PREPRINT_DOIS) != new.startswith(_PREPRINT_DOIS):
            preprint, published = (kept, new) if kept.startswith(_PREPRINT_DOIS) else (new, kept)
            self._put_aside("doi", preprint)
            return published
        return self._value("doi", kept, new)

    def _year(self, *, take: bool) -> int | None:
        kept, new = self.paper.year, self.record.year
        if kept and new and kept != new:
            kept, new = (new, kept) if take else (kept, new)
            self._differ("year", str(kept), str(new))
        return kept or new

    def _authors(self) -> tuple[str, ...]:
        kept, new = self.paper.authors, self.record.authors
        if not kept or not new or kept == new:
            return kept or new
        richer, other = (new, kept) if _wealth(new) > _wealth(kept) else (kept, new)
        known = set().union(*(_names(name) for name in richer))
        if any(not _names(name) & known for name in other):
            self._differ("authors", "; ".join(richer), "; ".join(other))
        return richer

    def _aliases(self) -> tuple[str, ...]:
        own = self.record.own_id
        known = (self.paper.paper_id, *self.paper.aliases)
        return self.paper.aliases if own is None or own in known else (*self.paper.aliases, own)

    def _differ(self, name: str, kept: str, other: str) -> None:
        if self._put_aside(name, other):
            self.conflicts.append(Conflict(name, kept, other))

    def _put_aside(self, name: str, value: str) -> bool:
        """Keeps a value under "NAME (other)"; False where it is there already."""
        slot = f"{name} (other)"
        held = self.extra[slot].split("\n") if slot in self.extra else []
        if value in held:
            return False
        self.extra[slot] = "\n".join([*held, value])
        return True


def _wealth(authors: tuple[str, ...]) -> tuple[int, int]:
    return len(authors), sum(len(name) for name in authors)


def _union(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    known = {word.casefold() for word in one}
    return (*one, *(word for word in two if word.casefold() not in known))
