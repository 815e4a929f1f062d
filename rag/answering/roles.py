"""What a number counts, which side of a relation a name is on, and whether two halves belong together.

A small model copies the right words and puts them together wrongly: the number of videos as that of clips, a data set
created for a method as a method created for the data set, the reason in one sentence as that of another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answering.claims import Number, names, numbers
from rag.texts.terms import content, stems, words

# A noun phrase after its number is at most so long, and what is counted stands at most so far behind it.
_PHRASE, _REACH = 3, 8
_JOINED = re.compile(r"^\s*(?:(?:out )?of|to|and|or|,|/|-|–|—|&)(?:\s+(?:the|all|only))?\s*$", re.I)
_REASON = re.compile(r"\b(?:when|whenever|because|since|by|if|unless|due to|leading to|resulting in|so that)\b", re.I)
# A half is in a sentence with this share of its words, and is not with that.
_IN, _OUT = 0.75, 0.5
_LONG_HALF = 3


def counts_other(claim: str, source: str) -> Number | None:
    """A number of `claim` said of what another number of `source` counts: 7M clips, of 7M videos and 234M clips."""
    held = numbers(source)
    for number in numbers(claim):
        phrase = _phrase(claim, number, numbers(claim))
        own = [other for other in held if number.equals(other)]
        if number.unit or not phrase or not own:
            continue
        head = phrase[-1]
        rivals = [o for o in held if not o.unit and not number.equals(o) and head in _phrase(source, o, held)]
        if rivals and not any(_about(source, mine, head, held, rivals) for mine in own):
            return number
    return None


def _phrase(text: str, number: Number, every: Sequence[Number]) -> list[str]:
    """Stems of the words right after a number up to a function word, a verb's ending, a mark or another number."""
    stop = min((other.start for other in every if other.start >= number.end), default=len(text))
    taken: list[str] = []
    last = number.end
    for word in words(text):
        if word.start < number.end or word.end > stop:
            continue
        between = text[last : word.start]
        if (
            word.weight == 0
            or between.strip(" -")
            or len(taken) == _PHRASE
            or (taken and word.text.endswith(("ing", "ed")))
        ):
            break
        taken.append(word.stem)
        last = word.end
    return taken


def _about(source: str, own: Number, head: str, every: Sequence[Number], rivals: Sequence[Number]) -> bool:
    """Whether the head noun belongs to `own` too: behind it before the next number, or shared with a joined rival."""
    stop = min((other.start for other in every if other.start >= own.end), default=len(source))
    behind = [word.stem for word in words(source) if own.end <= word.start and word.end <= stop][:_REACH]
    joined = any(rival.start >= own.end and _JOINED.match(source[own.end : rival.start]) for rival in rivals)
    # In "234M kettle lids" kettles are not what is counted.
    phrase = _phrase(source, own, every)
    return joined or (head in behind and head not in phrase[:-1])


def converse(claim: str, question: str, source: str) -> bool:
    """Whether `claim` turns the relation in `question` round: asked "created for A", it says "A was created for B"."""
    for name in names(question):
        if not name.sure:
            continue
        before = [word for word in words(question) if word.end <= name.start][-2:]
        if not before or (before[-1].weight == 0 and len(before) < 2) or not any(word.weight for word in before):
            continue
        relation = before if before[-1].weight == 0 else before[-1:]
        said = r"\s+".join(re.escape(word.text) for word in relation)
        for found in re.finditer(rf"\b{said}\s+(?:the\s+)?", claim, re.I):
            other = next((each for each in names(claim) if each.start == found.end()), None)
            turned = any(each.key == name.key and each.end <= found.start() for each in names(claim))
            if (
                other is not None
                and other.key != name.key
                and turned
                and found.group().casefold() not in source.casefold()
            ):
                return True
    return False


def spliced(claim: str, one: str, other: str) -> bool:
    """Whether `claim` joins half of `one` and half of `other` as a reason, a means or a condition."""
    for mark in _REASON.finditer(claim):
        # "obtained by" of one of the sentences joins what it joined there.
        run = claim[: mark.end()].split()[-2:]
        if run[0] in ("and", "or") or any(" ".join(run).casefold() in text.casefold() for text in (one, other)):
            continue
        left, right = ({word.stem for word in content(half)} for half in (claim[: mark.start()], claim[mark.end() :]))
        if min(len(left), len(right)) < _LONG_HALF:
            continue
        for first, second in ((one, other), (other, one)):
            here, there = stems(first), stems(second)
            if (
                len(right & there) >= _IN * len(right)
                and len(right & here) < _OUT * len(right)
                and len(left & here) > len(left & there)
                and len(left & there) < _OUT * len(left)
            ):
                return True
    return False
