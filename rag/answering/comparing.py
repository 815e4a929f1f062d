"""A comparison without a model: for each side its paper and up to two sentences, as cited sentences and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.answering.claims import key, names
from rag.search.owning import names_asked, owned
from rag.texts.terms import content, stems
from rag.types import AnswerSentence, Evidence, Paper, Question, RankedPaper

A_SIDE = 2


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: what it was called, the paper found for it, and its evidence in order of place."""

    name: str
    n: int
    paper: Paper
    evidence: tuple[Evidence, ...]


def sides(asked: Question, ranked: Sequence[RankedPaper], found: Sequence[Evidence]) -> tuple[Side, ...]:
    """For each part of `asked` the best paper that shares most with its words, no paper twice.

    `found` is evidence whose `n` is a rank in `ranked`. Fewer sides come back where papers are missing, and a side
    called by a name (see `missing`) is none where no paper is its own.
    """
    taken: set[int] = set()
    chosen: list[Side] = []
    absent = missing(asked, ranked)
    for part in asked.parts:
        if part in absent:
            continue
        wanted = {word.stem for word in content(part)}
        options = [hit for hit in ranked if hit.rank not in taken and any(piece.n == hit.rank for piece in found)]
        if not options:
            break
        best = max(
            options,
            key=lambda hit: (
                owned(hit.paper, part),
                len(wanted & stems(f"{hit.paper.title} {hit.paper.abstract}")),
                -hit.rank,
            ),
        )
        taken.add(best.rank)
        pieces = [piece for piece in found if piece.n == best.rank][:A_SIDE]
        pieces.sort(key=lambda piece: piece.span.start)
        chosen.append(Side(part, best.rank, best.paper, tuple(pieces)))
    return tuple(chosen)


def missing(asked: Question, ranked: Sequence[RankedPaper]) -> tuple[str, ...]:
    """The parts of `asked` called by names of which no paper in `ranked` owns one or has one in its title.

    A paper that only speaks of a system is not that system's side. Parts without such a name are never missing.
    """
    absent = []
    for part in asked.parts:
        wanted = names_asked(part)
        own = any(owned(hit.paper, part) or _titled(hit.paper, wanted) for hit in ranked)
        if wanted and not own:
            absent.append(part)
    return tuple(absent)


def _titled(paper: Paper, wanted: Sequence[str]) -> bool:
    held = {name.key for name in names(f"x {paper.title}")}
    return any(key(name) in held for name in wanted)


def without(asked: Question, absent: Sequence[str]) -> str:
    """What is said of sides that the library does not have; empty for none."""
    if not absent:
        return ""
    listed = "、".join(absent) if asked.language == "zh" else " or ".join(absent)
    if asked.language == "zh":
        return f"文库中没有关于 {listed} 的论文，因此无法比较。"
    return f"The library has no paper of {listed}, so that side of the comparison is missing."


def sentences(compared: Sequence[Side]) -> tuple[AnswerSentence, ...]:
    """One cited quotation for each piece of evidence, side by side in order."""
    return tuple(
        AnswerSentence(f"{side.name}: “{piece.span.text}”", (side.n,), "supported", (piece,))
        for side in compared
        for piece in side.evidence
    )


def table(compared: Sequence[Side], numbers: Mapping[int, int]) -> str:
    """A Markdown table with a column for each side. `numbers` gives the citation number for each rank."""
    if len(compared) < 2:
        return ""
    head = "| " + " | ".join(f"{_cell(side.name)} [{numbers[side.n]}]" for side in compared) + " |"
    rows = [
        "| "
        + " | ".join(_cell(side.evidence[row].span.text) if row < len(side.evidence) else "" for side in compared)
        + " |"
        for row in range(max(len(side.evidence) for side in compared))
    ]
    return "\n".join([head, "| " + " | ".join("---" for _ in compared) + " |", *rows])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
