"""What happens while a question is answered, in order. Everything that shows an answer consumes this stream.

    Stage* (Understood Sources?)? Understood Sources EvidenceFound? (Token* SentenceChecked*)* Abstained? Done

A second `Understood` with its `Sources` takes the place of the first, which was made without the model. `Stage` may
come at any point. `Done` is always last and carries the whole answer; `Token`s are a draft as the model writes it,
`SentenceChecked` is what stands of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag.types import Answer, AnswerSentence, Evidence, Question, RankedPaper

StageName = Literal["understanding", "searching", "listing", "waiting", "reading", "writing"]


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done now. While "waiting", `ahead` questions are answered by the model before this one."""

    name: StageName
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Understood:
    """The question as it will be searched."""

    question: Question


@dataclass(frozen=True, slots=True)
class Sources:
    """The papers found, best first."""

    passages: tuple[RankedPaper, ...]


@dataclass(frozen=True, slots=True)
class EvidenceFound:
    """The sentences the answer will be made from; their `n` is the paper's rank in `Sources`."""

    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the model's draft."""

    text: str


@dataclass(frozen=True, slots=True)
class SentenceChecked:
    """A sentence that stays in the answer, with its final citation numbers."""

    sentence: AnswerSentence


@dataclass(frozen=True, slots=True)
class Abstained:
    """The library does not hold the answer. `reason` is a sentence for the user; `nearest` may be of use to them."""

    reason: str
    nearest: tuple[RankedPaper, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The whole answer."""

    answer: Answer


Event = Stage | Understood | Sources | EvidenceFound | Token | SentenceChecked | Abstained | Done
