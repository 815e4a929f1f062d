"""Signs that a sentence says other than its source though it uses the same words: a number that belongs to something
else, a negation put in or left out, a comparison turned round, two names in each other's place.

Each check compares what stands next to the word in both texts, so that a sentence about another part of the source is
not blamed for what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from rag.answering.claims import Name, NameSource, Number, name_source, names, numbers
from rag.texts.terms import Word, stem, words

_NEGATOR = re.compile(
    r"\b(?:not(?! only)|never|no(?! longer)|without|neither|nor|cannot|none|unable|fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|"
    r"hardly|rarely|impossible)\b|n['’]t\b",
    re.I,
)
# Words that can stand for a negation in the source: "label-free" is without labels.
_LIKE_NEGATOR = re.compile(
    r"\b(?:free|rather|instead|eliminat\w+|avoid\w*|prevent\w*|unlike|independent\w*|remov\w+|only|less|few|little|"
    r"absence|limited|non|un(?!der|i)\w{4,}|in(?:sufficien|complet|dependen|abilit|capab|consisten|stab|feasib|"
    r"efficien|"
    r"accura|correct|comparab|adequa|significan|varian)\w*|difficult\w*|obviat\w+|beyond|scarce\w*|unclear|remains?)\b",
    re.I,
)
_AXES: tuple[tuple[str, str], ...] = (
    (
        "increase increases increased increasing increasingly raise raises raised rise rises rising rose grow grows "
        "grew "
        "growing grown growth higher more larger greater longer above bigger enlarge boost boosts boosted boosting "
        "augment augments gain gains gained elevated elevate maximize maximizes maximizing upper",
        "decrease decreases decreased decreasing reduce reduces reduced reducing reduction reductions lower lowers "
        "lowered lowering drop drops dropped decline declines declined fewer less smaller shorter below shrink shrinks "
        "minimize minimizes minimizing diminish diminishes diminished fall falls fell",
    ),
    (
        "improve improves improved improving improvement improvements better enhance enhances enhanced enhancing "
        "outperform "
        "outperforms outperformed outperforming surpass surpasses surpassed surpassing exceed exceeds exceeded "
        "superior "
        "beat beats stronger best strengthen strengthens benefit benefits beneficial advantage positive positively "
        "protective",
        "degrade degrades degraded degrading degradation worse worsen worsens worsened deteriorate deteriorates "
        "underperform underperforms underperformed underperforming inferior hurt hurts harm harms harmful impair "
        "impairs "
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
# Longest stretch of words that counts as standing in another's place.
_PARALLEL = 4
# Share of the claim's words that must stand in the source in order for the two to run in parallel.
_ALIKE = 0.5


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
        if not own or not rivals or _same_run(claim, source, number):
            continue
        beside = _sides(claim, number, claim_numbers)
        best_own = max(_agree(beside, _sides(source, other, source_numbers)) for other in own)
        best_rival = max(_agree(beside, _sides(source, other, source_numbers)) for other in rivals)
        if best_rival >= best_own + 1.0 and best_rival >= 1.5 * best_own:
            return number
    return None


def _same_run(claim: str, source: str, number: Number) -> bool:
    """Whether the six words that end or begin with the number stand in the source as they are."""
    before = [word.text for word in words(claim) if word.start < number.end][-6:]
    after = [word.text for word in words(claim) if word.start >= number.start][:6]
    held = " " + " ".join(word.text for word in words(source)) + " "
    return any(len(run) == 6 and f" {' '.join(run)} " in held for run in (before, after))


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


def exchanged(claim: str, source: str) -> str | None:
    """Where the texts run in parallel: "number", "name" or "direction" for one that stands in another's place.

    None for nothing of the kind. Longer rewordings are no parallel and are left to the other checks.
    """
    said, held = words(claim), words(source)
    if min(len(said), len(held)) < 4:
        return None
    matcher = SequenceMatcher(
        None, [w.text.casefold() for w in said], [w.text.casefold() for w in held], autojunk=False
    )
    if sum(block.size for block in matcher.get_matching_blocks()) < _ALIKE * len(said):
        return None
    here = name_source((source,))
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "delete" and c and (longer := _names_in(claim, said[a].start, said[b - 1].end)):
            shorter = _names_in(source, held[c - 1].start, held[c - 1].end)
            longer_of_it = bool(shorter) and shorter[0].key in longer[0].key
            if longer_of_it and not _written(longer[0], here) and _other_name(longer, shorter):
                return "name"
        if tag != "replace" or b - a > _PARALLEL or d - c > _PARALLEL:
            continue
        mine = claim[said[a].start : said[b - 1].end]
        theirs = source[held[c].start : held[d - 1].end]
        counts, others = numbers(mine), numbers(theirs)
        if counts and others and not any(n.equals(o) for n in counts for o in others):
            return "number"
        if others and not counts and _names_in(claim, said[a].start, said[b - 1].end):
            return "name"
        new = [name for name in _names_in(claim, said[a].start, said[b - 1].end) if not _written(name, here)]
        if new and _names_in(source, held[c].start, held[d - 1].end) and not _abbreviates(new[0], theirs):
            return "name"
        if b - a == d - c == 1 and _other_name(
            _names_in(claim, said[a].start, said[b - 1].end), _names_in(source, held[c].start, held[d - 1].end)
        ):
            return "name"
        if _opposed(said[a:b], held[c:d]):
            return "direction"
    return None


def _names_in(text: str, start: int, end: int) -> list[Name]:
    return [name for name in names(text) if name.sure and name.start < end and name.end > start]


def _other_name(mine: Sequence[Name], theirs: Sequence[Name]) -> bool:
    """Whether one name stands for another: AB for CD, AB-2 for AB; not AB for the narrower AB-2 or AB-based."""
    if len(mine) != 1 or len(theirs) != 1 or mine[0].key in theirs[0].key:
        return False
    rest = mine[0].text.casefold().replace(theirs[0].text.casefold(), "").strip("-")
    return theirs[0].key not in mine[0].key or not (rest.isalpha() and len(rest) > 2)


def _written(name: Name, source: NameSource) -> bool:
    """Whether the name itself stands in the source, not only words with its initials."""
    return name.key in source.tokens or (len(name.key) >= 5 and name.key in source.squeezed)


def _abbreviates(name: Name, text: str) -> bool:
    return name.text.rstrip("s").isupper() and name.key in name_source((text,)).initials


def _opposed(said: Sequence[Word], held: Sequence[Word]) -> bool:
    mine = {_DIRECTION[word.stem] for word in said if word.stem in _DIRECTION}
    theirs = {_DIRECTION[word.stem] for word in held if word.stem in _DIRECTION}
    return any((axis, 1 - pole) in theirs and (axis, pole) not in theirs for axis, pole in mine)


def negation_differs(claim: str, source: str) -> bool:
    """Whether one text denies what the other states of the same words."""
    return _denies(claim, source, loose=True) or _denies(source, claim, loose=False)


def _denies(text: str, other: str, loose: bool) -> bool:
    """Whether `text` has a negation where `other` has the same words and none.

    `loose`: a longer stretch may lack a word in `other`, as a claim is put in other words.
    """
    held = {word.stem for word in words(other)}
    denied = list(_negated(other))
    for before, after in _negated(text):
        wanted = after if len(after) > 1 else before | after
        if not after or len(wanted & held) < max(1, len(wanted) - (loose and len(wanted) > 2)) or not after & held:
            continue
        if any(after & there for _, there in denied):
            continue
        # The same words without the negation elsewhere in the text: it says both.
        if not loose and any(
            len(after & {word.stem for word in words(part)}) >= len(after) - 1 and not _NEGATOR.search(part)
            for part in re.split(r"(?<=[.;])\s", text)
        ):
            continue
        excuses = (mark for mark in _LIKE_NEGATOR.finditer(other) if mark.group().casefold() not in text.casefold())
        if not any(_near(other, mark.start(), mark.end(), after) for mark in excuses):
            return True
    return False


def _negated(text: str) -> Iterator[tuple[set[str], set[str]]]:
    """For each negation of `text` the stems of two telling words before it and of three after, within its clause."""
    telling = [word for word in words(text) if word.weight > 0]
    for mark in _NEGATOR.finditer(text):
        stop = re.search(r"[,;:.()]", text[mark.end() :])
        end = mark.end() + stop.start() if stop else len(text)
        before = [word.stem for word in telling if word.end <= mark.start()][-2:]
        yield set(before), {w.stem for w in [w for w in telling if mark.end() <= w.start and w.end <= end][:3]}


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
        best = {0: -1.0, 1: -1.0}
        for there, other in enumerate(source_words):
            if other.stem in _DIRECTION and _DIRECTION[other.stem][0] == axis:
                side = _DIRECTION[other.stem][1]
                best[side] = max(best[side], _beside(around, _around(source_words, there)))
        # Words of the same pole elsewhere in the source do not excuse it: what stands around decides.
        if best[1 - pole] >= 1 and best[1 - pole] > best[pole]:
            return True
    return False


def _around(found: Sequence[Word], place: int) -> tuple[set[str], set[str]]:
    """Stems of the three words before and the three after, without words of direction."""
    sides = (found[max(0, place - 3) : place], found[place + 1 : place + 4])
    left, right = ({word.stem for word in side if word.stem not in _DIRECTION} for side in sides)
    return left, right


def _beside(one: tuple[set[str], set[str]], other: tuple[set[str], set[str]]) -> float:
    """How much two surroundings share; what comes after, which is most often what rises or falls, counts double."""
    across = (one[0] & other[1]) | (one[1] & other[0])
    return len(one[0] & other[0]) + 2 * len(one[1] & other[1]) + len(across)


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
        passive = (
            re.search(r"\b(?:is|are|was|were|been)\s+\w*\s*$", text[: mark.start()]) and " by " in text[mark.end() :]
        )
        if before and after and not passive:
            result.append((before[-1], stem(mark.group().split()[0]), after[0]))
    return result
