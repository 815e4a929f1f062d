"""Citation numbers: given in order of first use, so that they count from 1 without a gap wherever they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag.types import AnswerSentence, Citation, Evidence, Paper


class Numbering:
    """Turns the numbers of one answer's sources into citation numbers.

    `papers` maps each number that a sentence may use (a source's rank) to its paper; another number is a KeyError,
    because a citation to a paper that was not retrieved must not come about.
    """

    def __init__(self, papers: Mapping[int, Paper]) -> None:
        self._papers = papers
        self._given: dict[int, int] = {}

    @property
    def given(self) -> Mapping[int, int]:
        """The citation number of each source cited so far."""
        return self._given

    def number(self, sentence: AnswerSentence) -> AnswerSentence:
        """The sentence with its citations and evidence renumbered; citations in ascending order, each once."""
        citations = tuple(sorted({self._number(n) for n in sentence.citations}))
        evidence = tuple(self._evidence(piece) for piece in sentence.evidence if piece.n in sentence.citations)
        return replace(sentence, citations=citations, evidence=evidence)

    def citations(self, sentences: Sequence[AnswerSentence]) -> tuple[Citation, ...]:
        """The papers cited by `sentences` (already numbered), in order of number, each with its first quote."""
        papers = {given: self._papers[source] for source, given in self._given.items()}
        quotes: dict[int, str] = {}
        for sentence in sentences:
            for piece in sentence.evidence:
                quotes.setdefault(piece.n, piece.span.text)
        used = sorted({n for sentence in sentences for n in sentence.citations})
        return tuple(Citation(n, papers[n], quotes.get(n, papers[n].title)) for n in used)

    def _number(self, source: int) -> int:
        if source not in self._papers:
            raise KeyError(f"source {source} is not among {sorted(self._papers)}")
        return self._given.setdefault(source, len(self._given) + 1)

    def _evidence(self, piece: Evidence) -> Evidence:
        return replace(piece, n=self._number(piece.n))
