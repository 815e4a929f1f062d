"""From a paper to chunks of whole sentences within the embedder's token limit.

A chunk is embedded with the title before it. Its span holds exact offsets into the abstract; the chunks of a paper
follow one another without overlap, and every character of every sentence is in one of them. A sentence longer than
the limit is cut at token borders.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rag.types import Chunk, Paper, Span

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder

# Changes whenever the same paper would be cut differently; the manifest of a library holds it.
CHUNKING = "whole sentences, title before, 1"
# A text cut at the end of a sentence has a token or two more than it had within the whole; with this much room left it
# need not be counted again.
SPARE = 16
# The start and end marks that an encoder adds to what it reads.
SPECIAL_TOKENS = 2


@dataclass(frozen=True, slots=True)
class Part:
    """Where (a piece of) sentence number `sentence` lies in a chunk's `embed_text`."""

    sentence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The chunks of a paper, its sentences (offsets into the abstract), and for each chunk the parts it holds."""

    chunks: tuple[Chunk, ...]
    sentences: tuple[Span, ...]
    parts: tuple[tuple[Part, ...], ...]


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is never cut: a sentence, or a piece of one that is too long. `size` is in tokens."""

    sentence: int
    start: int
    end: int
    size: int


def plan_chunks(paper: Paper, sentences: Sequence[Span], encoder: Encoder) -> Plan:
    """How `paper` is cut for `encoder`; `sentences` are those of its abstract, in order and without overlap.

    A paper without an abstract gets one chunk of its title, with an empty span. The title is left out where the paper
    has none of its own (`titled` False), and shortened where it would take more than half of the limit.
    """
    room = max(2, encoder.max_tokens - SPECIAL_TOKENS)
    if not sentences:
        title = _shortened(paper.title, room, encoder)
        return Plan((Chunk(paper.paper_id, 0, Span(0, 0, ""), title),), (), ((),))
    prefix = f"{_shortened(paper.title, room // 2, encoder)}. " if paper.titled and paper.title else ""
    starts = [start for start, _ in encoder.token_offsets(prefix + paper.abstract)]
    base = len(prefix)
    tokens = [start - base for start in starts[bisect_left(starts, base) :]]
    cap = max(1, room - (len(starts) - len(tokens)))
    while True:
        groups = _grouped(_units(sentences, tokens, cap), cap)
        plan = _plan(paper, prefix, sentences, groups)
        if len(groups) == 1 or cap <= 1:
            return plan
        fullest = len(starts) - len(tokens) + max(sum(unit.size for unit in group) for group in groups)
        whole = sum(map(len, groups)) == len(sentences)
        # A text cut out of its surroundings can have a few tokens more than it had within them.
        if (whole and fullest + SPARE <= room) or all(_size(c.embed_text, encoder) <= room for c in plan.chunks):
            return plan
        cap = min(cap - 1, cap * 9 // 10)


def _size(text: str, encoder: Encoder) -> int:
    return len(encoder.token_offsets(text))


def _shortened(title: str, room: int, encoder: Encoder) -> str:
    """The title, or as much of it as fits `room` tokens."""
    if len(title) <= room:
        return title  # a token has at least one character
    offsets = encoder.token_offsets(title)
    return title if len(offsets) <= room else title[: offsets[room - 1][1]]


def _units(sentences: Sequence[Span], tokens: Sequence[int], cap: int) -> list[_Unit]:
    """Sentences with their sizes; one of more than `cap` tokens is cut into pieces of at most `cap`."""
    units: list[_Unit] = []
    for number, sentence in enumerate(sentences):
        first, last = bisect_left(tokens, sentence.start), bisect_left(tokens, sentence.end)
        # The first border is the sentence's own start: a token may begin before it.
        borders = [sentence.start, *(tokens[index] for index in range(first + cap, last, cap)), sentence.end]
        for piece, (start, end) in enumerate(pairwise(borders)):
            size = min(cap, last - first - piece * cap)
            units.append(_Unit(number, start, end, size))
    return units


def _grouped(units: Sequence[_Unit], cap: int) -> list[list[_Unit]]:
    """Units in as few chunks as `cap` allows, made even by the smallest limit that needs no more chunks."""
    groups = _filled(units, cap)
    if len(groups) == 1:
        return groups
    total = sum(unit.size for unit in units)
    for limit in range(math.ceil(total / len(groups)), cap, max(1, cap // 32)):
        even = _filled(units, limit)
        if len(even) == len(groups):
            return even
    return groups


def _filled(units: Sequence[_Unit], cap: int) -> list[list[_Unit]]:
    groups: list[list[_Unit]] = []
    size = 0
    for unit in units:
        if not groups or size + unit.size > cap:
            groups.append([])
            size = 0
        groups[-1].append(unit)
        size += unit.size
    return groups


def _plan(paper: Paper, prefix: str, sentences: Sequence[Span], groups: Sequence[Sequence[_Unit]]) -> Plan:
    chunks: list[Chunk] = []
    parts: list[tuple[Part, ...]] = []
    for ordinal, group in enumerate(groups):
        start, end = group[0].start, group[-1].end
        text = paper.abstract[start:end]
        chunks.append(Chunk(paper.paper_id, ordinal, Span(start, end, text), prefix + text))
        shift = len(prefix) - start
        parts.append(tuple(Part(unit.sentence, unit.start + shift, unit.end + shift) for unit in group))
    return Plan(tuple(chunks), tuple(sentences), tuple(parts))


def stored_chunks(paper: Paper, spans: Sequence[tuple[int, int]]) -> tuple[Chunk, ...]:
    """The chunks of a paper whose spans are known; `embed_text` has the title in full."""
    prefix = f"{paper.title}. " if paper.titled and paper.title else ""
    return tuple(
        Chunk(
            paper.paper_id,
            ordinal,
            Span(start, end, paper.abstract[start:end]),
            prefix + paper.abstract[start:end] if end else paper.title,
        )
        for ordinal, (start, end) in enumerate(spans)
    )
