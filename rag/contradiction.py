"""Signs that a sentence says other than its source though it uses the same words: a number that belongs to something
else, a negation put in or left out, a comparison turned round, two names in each other's place.

Each check compares what stands next to the word in both texts, so that a sentence about another part of the source is
not blamed for what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.claims import Number, names, numbers
from rag.terms import Word, stem, words

_NEGATOR = re.compile(
    r"\b(?:not(?! only)|never|no(?! longer)|without|neither|nor|cannot|none|unable|fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|"
    r"hardly|rarely|impossible)\b|n['’]t\b",
    re.I,
)
# Words that can stand for a negation in the source: "label-free" is without labels.
_LIKE_NEGATOR = re.compile(
    r"\b(?:free|rather|instead|eliminat\w+|avoid\w*|prevent\w*|unlike|independent\w*|remov\w+|only|less|few|little|"
    r"absence|limited|non|un(?!der|i)\w{4,}|in(?:sufficien|complet|dependen|abilit|capab|consisten|stab|feasib|efficien|"
    r"accura|correct|comparab|adequa|significan|varian)\w*|difficult\w*|obviat\w+|beyond|scarce\w*|unclear|remains?)\b",
    re.I,
)
_AXES: tuple[tuple[str, str], ...] = (
    (
        "increase increases increased increasing increasingly raise raises raised rise rises rising rose grow grows grew "
        "growing grown growth higher more larger greater longer above bigger enlarge boost boosts boosted boosting "
        "augment augments gain gains gained elevated elevate maximize maximizes maximizing upper",
        "decrease decreases decreased decreasing reduce reduces reduced reducing reduction reductions lower lowers "
        "lowered lowering drop drops dropped decline declines declined fewer less smaller shorter below shrink shrinks "
        "minimize minimizes minimizing diminish diminishes diminished fall falls fell",
    ),
    (
        "improve improves improved improving improvement improvements better enhance enhances enhanced enhancing outperform "
        "outperforms outperformed outperforming surpass surpasses surpassed surpassing exceed exceeds exceeded superior "
        "beat beats stronger best strengthen strengthens benefit benefits beneficial advantage positive positively "
        "protective",
        "degrade degrades degraded degrading degradation worse worsen worsens worsened deteriorate deteriorates "
        "underperform underperforms underperformed underperforming inferior hurt hurts harm harms harmful impair impairs "
        "impaired weaker worst weaken weakens detrimental disadvantage negative negatively",
    ),
    (
        "faster accelerate accelerates accelerated accelerating quicker quickly rapid rapidly fast speedup",
        "slower slow slowly decelerate decelerates slows",
    ),
    ("easy easier easily simple simpler", "hard harder difficult challenging"),
    ("cheap cheaper inexpensive", "expensive costly"),
    ("first earliest initial", "last latest final"),
    ("always", "never"),
    ("before", "after"),
    ("maximum most", "minimum least"),
)
_COMPARE = re.compile(
    r"\b(?:outperform\w*|underperform\w*|surpass\w*|exceed\w*|beat\w*|than|superior to|inferior to|"
    r"improv\w+ (?:on|upon|over)|better|worse|faster|slower)\b",
    re.I,
)
_PREFIXES = ("un", "in", "im", "non", "dis", "ir", "de", "under", "mis")
_WINDOW = 4


def _directions() -> dict[str, tuple[int, int]]:
    table: dict[str, tuple[int, int]] = {}
    for axis, poles in enumerate(_AXES):
        for pole, listed in enumerate(poles):
            for word in listed.split():
                table.setdefault(stem(word), (axis, pole))
    return table


_DIRECTION = _directions()


def misplaced_number(claim: str, source: str) -> Number | None:
    """A number of `claim` whose neighbours stand next to a different number of the same unit in `source`."""
    source_numbers = numbers(source)
    claim_numbers = numbers(claim)
    for number in claim_numbers:
        own = [other for other in source_numbers if number.equals(other)]
        rivals = [o for o in source_numbers if not number.equals(o) and (o.unit == number.unit)]
        if not own or not rivals:
            continue
        beside = _sides(claim, number, claim_numbers)
        best_own = max(_agree(beside, _sides(source, other, source_numbers)) for other in own)
        best_rival = max(_agree(beside, _sides(source, other, source_numbers)) for other in rivals)
        if best_rival >= best_own + 1.0 and best_rival >= 1.5 * best_own:
            return number
    return None


def _sides(text: str, number: Number, every: Sequence[Number]) -> tuple[set[str], set[str]]:
    """Stems to the left and to the right of a number, up to the next number and `_WINDOW` + 1 words."""
    low = max((other.end for other in every if other.end <= number.start), default=0)
    high = min((other.start for other in every if other.start >= number.end), default=len(text))
    telling = [word for word in words(text) if word.weight > 0 and not word.text[0].isdigit()]
    left = [word.stem for word in telling if low <= word.start and word.end <= number.start]
    right = [word.stem for word in telling if number.end <= word.start and word.end <= high]
    return set(left[-_WINDOW - 1 :]), set(right[: _WINDOW + 1])


def _agree(one: tuple[set[str], set[str]], other: tuple[set[str], set[str]]) -> float:
    same = len(one[0] & other[0]) + len(one[1] & other[1])
    across = len((one[0] & other[1]) | (one[1] & other[0]))
    return same + 0.5 * across


def negation_differs(claim: str, source: str) -> bool:
    """Whether one text denies what the other states of the same words."""
    source_negations = list(_negated(source))
    claim_negations = list(_negated(claim))
    source_stems = {word.stem for word in words(source)}
    claim_stems = {word.stem for word in words(claim)}
    for after in claim_negations:
        if not after or len(after & source_stems) < max(1, len(after) - 1):
            continue
        if any(after & other for other in source_negations):
            continue
        if not any(_near(source, mark.start(), mark.end(), after) for mark in _LIKE_NEGATOR.finditer(source)):
            return True
    for after in source_negations:
        if len(after) < 2 or not after <= claim_stems:
            continue
        if any(after & other for other in claim_negations):
            continue
        if not any(_near(claim, mark.start(), mark.end(), after) for mark in _LIKE_NEGATOR.finditer(claim)):
            return True
    return False


def _negated(text: str) -> Iterator[set[str]]:
    """For each negation of `text` the stems of the three telling words after it, within its clause."""
    for mark in _NEGATOR.finditer(text):
        stop = re.search(r"[,;:.()]", text[mark.end() :])
        end = mark.end() + stop.start() if stop else len(text)
        yield {w.stem for w in [w for w in words(text) if mark.end() <= w.start and w.end <= end and w.weight > 0][:3]}


def _near(text: str, start: int, end: int, stems: set[str]) -> bool:
    """Whether one of `stems` stands within four telling words of `text[start:end]`, or in it."""
    telling = [word for word in words(text) if word.weight > 0]
    left = [word.stem for word in telling if word.end <= start][-_WINDOW:]
    right = [word.stem for word in telling if word.start >= end][:_WINDOW]
    inside = [word.stem for word in telling if start <= word.start < end]
    return bool(stems & {*left, *right, *inside})


def direction_differs(claim: str, source: str) -> bool:
    """Whether a comparison of `claim` points the other way in `source`: higher for lower, improve for degrade."""
    claim_words = [word for word in words(claim) if word.weight > 0 or word.stem in _DIRECTION]
    source_words = [word for word in words(source) if word.weight > 0 or word.stem in _DIRECTION]
    for place, word in enumerate(claim_words):
        if word.stem not in _DIRECTION:
            continue
        axis, pole = _DIRECTION[word.stem]
        around = _around(claim_words, place)
        best = {0: -1, 1: -1}
        for there, other in enumerate(source_words):
            if other.stem in _DIRECTION and _DIRECTION[other.stem][0] == axis:
                side = _DIRECTION[other.stem][1]
                best[side] = max(best[side], len(around & _around(source_words, there)))
        # Words of the same pole elsewhere in the source do not excuse it: what stands around decides.
        if best[1 - pole] >= 1 and best[1 - pole] > best[pole]:
            return True
    return False


def _around(found: Sequence[Word], place: int) -> set[str]:
    near = [*found[max(0, place - 3) : place], *found[place + 1 : place + 4]]
    return {word.stem for word in near if word.stem not in _DIRECTION}


def prefix_differs(claim: str, source: str) -> bool:
    """Whether a word of one text stands in the other only with a prefix that turns its meaning: stable, unstable."""
    one = {word.text.casefold() for word in words(claim) if word.weight > 0}
    other = {word.text.casefold() for word in words(source) if word.weight > 0}
    return any(
        prefix + word in there and prefix + word not in here and word not in there
        for here, there in ((one, other), (other, one))
        for word in here
        if len(word) > 3
        for prefix in _PREFIXES
    )


def names_change_places(claim: str, source: str) -> bool:
    """Whether two names stand on the other's side of the same comparison."""
    said = _compared(claim)
    return bool(said) and any(
        (right, verb, left) in list(_compared(source)) for left, verb, right in said if left != right
    )


def _compared(text: str) -> list[tuple[str, str, str]]:
    found = names(text)
    opening = re.match(r"[A-Z]\w+", text)
    keys = [(name.start, name.key) for name in found]
    if opening and not any(start == 0 for start, _ in keys):
        keys.insert(0, (0, opening.group().casefold()))
    result = []
    for mark in _COMPARE.finditer(text):
        before = [key for start, key in keys if start < mark.start()]
        after = [key for start, key in keys if start >= mark.end()]
        passive = re.search(r"\b(?:is|are|was|were|been)\s+\w*\s*$", text[: mark.start()]) and " by " in text[mark.end() :]
        if before and after and not passive:
            result.append((before[-1], stem(mark.group().split()[0]), after[0]))
    return result
