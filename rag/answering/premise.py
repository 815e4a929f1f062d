"""What a question takes for granted and the evidence says otherwise: another number, the other direction, a denial."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag.answering.claims import numbers
from rag.answering.contradiction import direction_differs, negation_differs
from rag.texts.terms import content, stems
from rag.types import Evidence, Question

_TAKES_FOR_GRANTED = re.compile(
    r"^\W*(?:why|how (?:do|does|did|is|are|was|were|can|could|come)\b|explain|given that|since|because|what makes|"
    r"is it true)",
    re.I,
)
# Share of the question's telling words that a sentence must have to speak of the same thing.
_SAME_THING = 0.5


@dataclass(frozen=True, slots=True)
class Mismatch:
    """`kind` of what the question has wrong, `said` the words where it is a number, and the evidence against it."""

    kind: Literal["number", "direction", "negation"]
    said: str
    evidence: Evidence


def premise_mismatch(question: Question, evidence: Sequence[Evidence]) -> Mismatch | None:
    """The first piece of evidence that contradicts what `question` takes for granted; None where nothing does.

    A direction or a denial counts only in a question that takes one for granted ("Why does it fall?"), a number in any.
    Only sentences of the paper of the first piece that share half of the question's words are held against it.
    """
    text = question.search_text
    wanted = {word.stem for word in content(text) if word.weight == 1.0}
    if not wanted or not evidence:
        return None
    first = evidence[0].n
    for piece in evidence:
        sentence = piece.span.text
        if piece.n != first or len(wanted & stems(sentence)) < _SAME_THING * len(wanted):
            continue
        said = numbers(text)
        held = [number for each in evidence if each.n == first for number in numbers(each.span.text)]
        here = numbers(sentence)
        for number in said:
            if any(number.equals(other) for other in held):
                continue
            if any(other.unit == number.unit for other in here):
                return Mismatch("number", text[number.start : number.end].strip(), piece)
        if not _TAKES_FOR_GRANTED.match(text):
            continue
        if direction_differs(text, sentence):
            return Mismatch("direction", "", piece)
        if negation_differs(text, sentence):
            return Mismatch("negation", "", piece)
    return None
