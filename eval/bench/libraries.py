"""Libraries of several sizes: given ones, parts of them, and small ones read anew. What is made here is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eval.bench.texts import SAMPLE, SEEDS, papers_of, write_papers
from rag.errors import InputError
from rag.library import Library
from rag.settings import load_settings
from rag.store.index import Index, PreparedPaper

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder

SIZES = (1_000, 10_000, 40_000, 150_000)
BATCH = 1_000
# A library counts as one of a wanted size when it holds at least this share of it.
NEAR = 0.9


@dataclass(frozen=True, slots=True)
class Sized:
    """A library under `home` with `papers` papers, measured as one of about `size`."""

    size: int
    papers: int
    home: Path


class Libraries:
    """Finds or makes a library for each size.

    `given` maps sizes to homes. A size that is not given is made of the first papers of a larger given one, whose
    vectors are copied; 1,000 papers are embedded where there is none; larger ones are then left out.
    """

    def __init__(self, folder: Path, given: Mapping[int, Path], papers: Path | None, encoder: Encoder) -> None:
        # Libraries of another embedder cannot be used with this one.
        self.folder = folder / re.sub(r"[^\w.-]+", "-", encoder.name)
        self._given = given
        self._papers = papers
        self._encoder = encoder

    def small(self) -> Sized:
        """The seed lists (57 papers), or the sample library where they are not at hand."""
        home = self.folder / ("seeds" if SEEDS.is_dir() else "sample")
        sources = sorted(SEEDS.glob("*.txt")) if SEEDS.is_dir() else [SAMPLE]
        with Library.open(home, encoder=self._encoder) as library:
            library.ingest(sources)
            count = library.count()
        return Sized(count, count, home)

    def all(self, sizes: Sequence[int] = SIZES) -> list[Sized]:
        """The small one and one of each of `sizes` that there can be, ascending."""
        found = [self.small()]
        for size in sizes:
            sized = self._of(size)
            if sized is not None:
                found.append(sized)
        return found

    def _of(self, size: int) -> Sized | None:
        if size in self._given:
            return self._checked(size, self._given[size])
        larger = sorted(other for other in self._given if other > size)
        if larger:
            return Sized(size, size, self._part(self._given[larger[0]], size))
        if size == SIZES[0]:
            return Sized(size, *self._read(size))
        return None

    def _checked(self, size: int, home: Path) -> Sized:
        if not (home / "library.sqlite").is_file():
            raise InputError(f"--library {size}={home}: no library is there; ingest papers with --home {home} first.")
        with Index.open(load_settings(home), None) as index:
            count = len(index)
        if count < NEAR * size:
            raise InputError(f"--library {size}={home}: it holds {count} papers; expected about {size}.")
        return Sized(size, count, home)

    def _part(self, source: Path, size: int) -> Path:
        """A library of the first `size` papers of another, made once; one broken off is carried on."""
        with Index.open(load_settings(source), self._encoder) as whole:
            home = self.folder / f"{whole.manifest.library}-{size}"
            rows = whole.rows()[:size]
            with Index.open(load_settings(home), self._encoder, write=True) as part:
                for start in range(len(part), len(rows), BATCH):
                    chosen = rows[start : start + BATCH]
                    papers, vectors = whole.papers(chosen), whole.vectors(chosen)
                    part.put([PreparedPaper(papers[row], vectors[row]) for row in chosen])
        return home

    def _read(self, size: int) -> tuple[int, Path]:
        home = self.folder / f"{self._papers.name if self._papers else 'made'}-{size}"
        home.mkdir(parents=True, exist_ok=True)
        source = write_papers(home / "papers.jsonl", papers_of(self._papers, size))
        with Library.open(home, encoder=self._encoder) as library:
            library.ingest([source])
            return library.count(), home
