"""Papers to vectors: cut, embedded in one call, and put together again. Used when papers come in and when a library is
embedded anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag.ingest.chunking import Plan, plan_chunks
from rag.store.records import FloatArray, PaperVectors
from rag.texts.text import split_sentences
from rag.types import Paper

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder


def prepare(papers: Sequence[Paper], encoder: Encoder) -> list[PaperVectors]:
    """The vectors of `papers`, in their order.

    All chunks and titles go to the encoder in one call, which sorts them by length. Sentence vectors are means of the
    token vectors of the chunk's own pass ("late" pooling), so they cost no pass of their own.
    """
    plans = [plan_chunks(paper, split_sentences(paper.abstract), encoder) for paper in papers]
    chunks = [chunk.embed_text for plan in plans for chunk in plan.chunks]
    spans = [[(part.start, part.end) for part in parts] for plan in plans for parts in plan.parts]
    titles = [paper.title for paper in papers]
    vectors, parts = encoder.encode_with_spans([*chunks, *titles], [*spans, *([()] * len(titles))])
    found: list[PaperVectors] = []
    place = 0
    for number, plan in enumerate(plans):
        end = place + len(plan.chunks)
        found.append(
            PaperVectors(
                title=vectors[len(chunks) + number],
                chunks=vectors[place:end],
                sentences=_sentences(plan, parts[place:end], encoder.dimension),
                chunk_spans=tuple((chunk.span.start, chunk.span.end) for chunk in plan.chunks),
                spans=tuple((sentence.start, sentence.end) for sentence in plan.sentences),
            )
        )
        place = end
    return found


def _sentences(plan: Plan, parts: Sequence[FloatArray], dimension: int) -> FloatArray:
    """(sentences, dimension); a sentence that was cut has the mean of its pieces, by their lengths."""
    total = np.zeros((len(plan.sentences), dimension), np.float32)
    for held, vectors in zip(plan.parts, parts, strict=True):
        for part, vector in zip(held, vectors, strict=True):
            total[part.sentence] += (part.end - part.start) * vector
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    unit: FloatArray = (total / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit
