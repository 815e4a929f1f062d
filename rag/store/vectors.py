"""The vectors of many papers side by side, as a search compares them with a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Packed:
    """The vectors of one paper as they are stored: float16, row after row; the spans of its sentences int32 pairs."""

    title: bytes
    chunks: bytes
    sentences: bytes
    spans: bytes


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Vectors of unit length, float32; `d` is the embedder's dimension.

    `rows` are the papers'. titles (len(rows), d); chunks (c, d) and sentences (s, d) paper after paper, as many of each
    as `chunk_counts` and `sentence_counts` say.
    """

    rows: tuple[int, ...]
    titles: FloatArray
    chunks: FloatArray
    chunk_counts: NDArray[np.int64]
    sentences: FloatArray
    sentence_counts: NDArray[np.int64]
    packed_spans: tuple[bytes, ...]

    def spans(self, place: int) -> tuple[tuple[int, int], ...]:
        """The character offsets of the sentences of the paper at `place`."""
        return unpacked_spans(self.packed_spans[place])


def unpacked_spans(data: bytes) -> tuple[tuple[int, int], ...]:
    """Spans from how they are stored."""
    flat = np.frombuffer(data, dtype=np.int32).tolist()
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def side_by_side(rows: Sequence[int], found: Mapping[int, Packed]) -> VectorTable:
    """The table of those of `rows` that were found, in their order. All numbers are made float32 in one go."""
    kept = tuple(row for row in rows if row in found)
    papers = [found[row] for row in kept]
    width = len(papers[0].title) if papers else 2  # bytes of one vector
    chunks, sentences = [paper.chunks for paper in papers], [paper.sentences for paper in papers]
    whole = b"".join([*(paper.title for paper in papers), *chunks, *sentences])
    matrix = np.frombuffer(whole, dtype=np.float16).reshape(-1, width // 2).astype(np.float32)
    counts = [np.array([len(blob) // width for blob in blobs], dtype=np.int64) for blobs in (chunks, sentences)]
    first, second = len(kept), len(kept) + int(counts[0].sum())
    return VectorTable(
        rows=kept,
        titles=matrix[:first],
        chunks=matrix[first:second],
        chunk_counts=counts[0],
        sentences=matrix[second:],
        sentence_counts=counts[1],
        packed_spans=tuple(paper.spans for paper in papers),
    )
