"""One answer sentence against abstracts: supported, partial or unsupported, and by which sentences.

For each paper the abstract sentence, or the two, that share most with the claim are looked for. A number, a name, a
negation or a direction that the source does not have, or has otherwise, settles it; else a logistic model weighs how
much of the claim the sentences cover, in what order, and how near their meaning is (cosine of the embedder). Its
weights and thresholds are in data/calibration.json, made and measured by `eval/calibrate.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rag.answering import calibration
from rag.answering.addressed import is_addressed
from rag.answering.claims import Name, NameSource, Number, name_source, names, numbers
from rag.answering.contradiction import (
    direction_differs,
    exchanged,
    misplaced_number,
    names_change_places,
    negation_differs,
    prefix_differs,
)
from rag.answering.framing import hints, shown, statement
from rag.answering.posed import YES_NO, denies, is_posed
from rag.answering.roles import converse, counts_other, spliced
from rag.question.translate import glossary
from rag.texts.terms import content, is_cjk, stems, words
from rag.texts.text import split_sentences
from rag.types import AnswerSentence, Evidence, Paper, Question, Span, Support

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Encodes(Protocol):
    """What the check needs of an embedder: unit vectors, (n, d), of texts."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text."""
        ...


FEATURES = ("cover_one", "cover_two", "cover_paper", "order", "pairs", "cosine", "missing", "names_elsewhere", "length")
# How many papers may share a citation; more is a sign of a sentence that says nothing.
MOST_PAPERS = 3
# Share of the claim that a second sentence must add to be taken.
NEEDED = 0.1
# Papers are checked that have at least this share of what the best paper's sentence has of the claim.
NEAR_BEST = 0.6
# Halves of two sentences joined as a reason are at most partly supported, whatever their words say.
SPLICED = 0.4
# Share of a question's own words that one sentence must have for a claim that says the question back.
CARRIED = 0.75
_PROPOSED = re.compile(
    r"(?:\b(?:we|this paper|this work|paper)\s+(?:\w+\s+)?(?:propos|introduc|present|develop|releas|build|bring|design|"
    r"call|term|construct|creat|describ|contribut)\w*|(?:call(?:ed)?|named|term(?:ed)?|dubbed|coined)\b)[^.;]{0,140}$",
    re.I,
)
# A sentence that speaks of the paper's own thing without naming it, so that a claim may name it.
_SELF = re.compile(
    r"\b(?:we|our|us|it|its|they|their|this|these|the (?:proposed|resulting|new|method|approach|model|framework|"
    r"algorithm|system|dataset|benchmark|network))\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Source:
    """An abstract prepared for checks. `subjects` are names the paper gives to what it is about."""

    paper: Paper
    spans: tuple[Span, ...]
    whole: NameSource
    parts: tuple[NameSource, ...]
    subjects: frozenset[str]
    numbers: tuple[tuple[Number, ...], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """How one paper bears on a claim. `spans` are the sentences that carry it; `conflict` names what contradicts."""

    n: int
    paper: Paper
    spans: tuple[Span, ...]
    features: tuple[float, ...]
    conflict: str | None
    given: float | None = None

    def probability(self) -> float:
        """That the sentences carry the claim; `given` where rules alone decide."""
        if self.given is not None:
            return self.given
        return calibration.logistic(calibration.verifier().weights, self.features)


@lru_cache(maxsize=512)
def prepare(paper: Paper) -> Source:
    """The parts of a paper that checks need; kept for the papers last used. What speaks to a model supports nothing."""
    whole = split_sentences(paper.abstract) or (Span(0, len(paper.abstract), paper.abstract),)
    spans = tuple(span for span in whole if not is_addressed(span.text)) or (Span(0, 0, ""),)
    around = (paper.title, *paper.authors, paper.venue or "", str(paper.year or ""))
    subjects = {name.key for name in names(f"x {paper.title}") if paper.titled}
    for span in spans:
        for name in names(span.text):
            if name.sure and _PROPOSED.search(span.text[: name.start]):
                subjects.add(name.key)
    return Source(
        paper,
        spans,
        name_source((paper.abstract, *around)),
        tuple(name_source((span.text,)) for span in spans),
        frozenset(subjects),
        tuple(numbers(span.text) for span in spans),
    )


class Verifier:
    """Checks answer sentences. `encoder` None leaves the meaning out, as for a text in another language."""

    def __init__(self, encoder: Encodes | None = None) -> None:
        self._encoder = encoder

    def check(
        self, sentence: str, papers: Sequence[tuple[int, Paper]], question: Question | None = None
    ) -> AnswerSentence:
        """`sentence` as it may be shown, with its verdict, the papers that support it, and by which sentences.

        `papers` are those the model saw, each with its number. Numbers the model wrote in brackets are only hints: a
        citation stands where a paper supports the sentence. A sentence that only restates `question` is unsupported.
        """
        text = shown(sentence)
        claim = statement(sentence)
        if not content(claim) or (question is not None and restates(claim, question.standalone)):
            return AnswerSentence(text, (), "unsupported", ())
        found = self.findings(claim, papers, question)
        judged = [(finding, finding.probability()) for finding in found if finding.conflict is None]
        thresholds = calibration.verifier()
        best = max((probability for _, probability in judged), default=0.0)
        support: Support = (
            "supported" if best >= thresholds.supported else "partial" if best >= thresholds.partial else "unsupported"
        )
        if support == "unsupported":
            return AnswerSentence(text, (), support, ())
        hinted = set(hints(sentence))
        floor = max(thresholds.partial, min(best - 0.1, thresholds.supported))
        kept = sorted(
            ((finding, probability) for finding, probability in judged if probability >= floor),
            key=lambda pair: (-pair[1] - 0.05 * (pair[0].n in hinted), pair[0].n),
        )[:MOST_PAPERS]
        evidence = tuple(
            Evidence(finding.n, finding.paper.paper_id, span, round(probability, 4))
            for finding, probability in kept
            for span in finding.spans
        )
        return AnswerSentence(text, tuple(sorted(finding.n for finding, _ in kept)), support, evidence)

    def findings(
        self, claim: str, papers: Sequence[tuple[int, Paper]], question: Question | None = None
    ) -> tuple[Finding, ...]:
        """How each paper with a sentence in common bears on `claim`, a statement without framing.

        To a `question` for yes or no, a sentence that only poses it is no answer and is left out; nor does a claim
        stand that turns round the relation that is asked for.
        """
        if is_cjk(claim):
            return tuple(finding for n, paper in papers if (finding := foreign(claim, n, prepare(paper))) is not None)
        asked = "" if question is None else question.standalone
        decide = YES_NO.search(asked) is not None and not is_posed(claim)
        sources = [(n, _settled(prepare(paper)) if decide else prepare(paper)) for n, paper in papers]
        if asked:
            sources = [(n, source) for n, source in sources if not converse(claim, asked, source.paper.abstract)]
        weighed = [(n, source, *_choose(claim, source)) for n, source in sources]
        # A paper with far less in common than the best would only cost the encoder's time.
        least = NEAR_BEST * max((worth for *_, worth in weighed), default=0.0)
        chosen = [(n, source, places) for n, source, places, worth in weighed if places and worth >= least]
        cosines = self._cosines(claim, [source.spans[places[0]].text for _, source, places in chosen])
        found = tuple(
            _finding(claim, n, source, places, cosine)
            for (n, source, places), cosine in zip(chosen, cosines, strict=True)
        )
        if not (decide and adds_nothing(claim, asked)):
            return found
        # The question said back is its answer only where one sentence carries it all.
        return tuple(
            each if each.features[0] >= CARRIED else _said_back(claim, each, source)
            for each, (_, source, _) in zip(found, chosen, strict=True)
        )

    def _cosines(self, claim: str, texts: list[str]) -> list[float]:
        if not texts or self._encoder is None:
            return [0.5] * len(texts)
        vectors = self._encoder.encode([claim, *texts])
        return [float(value) for value in np.asarray(vectors[1:]) @ np.asarray(vectors[0])]


def _settled(source: Source) -> Source:
    """`source` without the sentences that only pose what is to be found out."""
    kept = [place for place, span in enumerate(source.spans) if not is_posed(span.text)]
    if not kept:
        return replace(source, spans=(Span(0, 0, ""),), parts=(name_source(("",)),), numbers=((),))
    return replace(
        source,
        spans=tuple(source.spans[place] for place in kept),
        parts=tuple(source.parts[place] for place in kept),
        numbers=tuple(source.numbers[place] for place in kept),
    )


def _said_back(claim: str, finding: Finding, source: Source) -> Finding:
    """A claim that says the question back: partly supported at most, and not where the paper also reports a no."""
    denied = not denies(claim) and any(denies(span.text) for span in source.spans)
    return replace(finding, given=0.0 if denied else min(SPLICED, finding.probability()))


def restates(claim: str, question: str) -> bool:
    """Whether `claim` adds no word, number or name to `question`; to a question for yes or no a claim is the answer."""
    return YES_NO.search(question) is None and adds_nothing(claim, question)


def adds_nothing(claim: str, question: str) -> bool:
    """Whether every telling word of `claim` is one of `question`; never in Chinese."""
    asked = stems(question)
    new = [word for word in content(claim) if word.stem not in asked and word.weight == 1.0]
    return not new and not is_cjk(claim)


def _choose(claim: str, source: Source) -> tuple[tuple[int, ...], float]:
    """Places of the one or two sentences that together cover most of the claim, and how much the first has of it.

    No places where nothing is in common.
    """
    wanted = {word.stem: word.weight for word in content(claim)}
    held = [{s for s in stems(span.text) if s in wanted} for span in source.spans]
    claim_numbers = numbers(claim)

    def worth(place: int) -> float:
        hits = sum(any(number.equals(other) for other in source.numbers[place]) for number in claim_numbers)
        return sum(wanted[s] for s in held[place]) + 1.5 * hits

    scores = [worth(place) for place in range(len(source.spans))]
    first = int(np.argmax(scores))
    if scores[first] <= 0.5:
        return (), 0.0
    rest = {s: w for s, w in wanted.items() if s not in held[first]}
    missing = [n for n in claim_numbers if not any(n.equals(o) for o in source.numbers[first])]

    def adds(place: int) -> float:
        hits = sum(any(number.equals(other) for other in source.numbers[place]) for number in missing)
        near = 0.2 if abs(place - first) == 1 else 0.0
        gain = sum(rest[s] for s in held[place] if s in rest) + 1.5 * hits
        return gain + near if gain else 0.0

    gains = [adds(place) if place != first else 0.0 for place in range(len(source.spans))]
    second = int(np.argmax(gains))
    if gains[second] >= max(1.0, NEEDED * sum(wanted.values())):
        return (first, second), scores[first]
    return (first,), scores[first]


def _finding(claim: str, n: int, source: Source, places: tuple[int, ...], cosine: float) -> Finding:
    spans = [source.spans[place] for place in places]
    features = _features(claim, source, places, cosine)
    # A second sentence is evidence only where the claim needs it.
    if len(places) > 1 and features[1] - features[0] < 0.05:
        spans = spans[:1]
    conflict = _conflict(claim, source, places)
    finding = Finding(n, source.paper, tuple(sorted(spans, key=lambda span: span.start)), features, conflict)
    if len(spans) > 1 and spliced(claim, spans[0].text, spans[1].text):
        finding = replace(finding, given=min(SPLICED, finding.probability()))
    return finding


def _features(claim: str, source: Source, places: tuple[int, ...], cosine: float) -> tuple[float, ...]:
    wanted = content(claim)
    total = sum(word.weight for word in wanted)
    one = stems(source.spans[places[0]].text)
    two = one.union(*(stems(source.spans[place].text) for place in places[1:]))
    extra = stems(source.paper.title)
    paper = stems(source.paper.abstract) | extra
    here = frozenset().union(*(source.parts[place].tokens for place in places))
    subject = {name.key for name in names(claim) if name.key in source.subjects and source.whole.has(name)}

    def cover(held: frozenset[str]) -> float:
        return sum(w.weight for w in wanted if w.stem in held or w.text.casefold() in subject) / total

    order = [word.stem for word in wanted if word.weight == 1.0]
    there = [word.stem for place in sorted(places) for word in content(source.spans[place].text)]
    elsewhere = [name for name in names(claim) if name.key not in here and name.key not in source.subjects]
    return (
        cover(one),
        cover(two),
        cover(paper),
        _common(order, there) / max(1, len(order)),
        _shared_pairs(claim, [source.spans[place].text for place in places]),
        cosine,
        min(4.0, sum(w.weight for w in wanted if w.stem not in two and w.text.casefold() not in subject)) / 4,
        min(3, len(elsewhere)) / 3,
        min(1.0, total / 15),
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for left in one:
        previous = 0
        for place, right in enumerate(other, start=1):
            previous, row[place] = row[place], previous + 1 if left == right else max(row[place], row[place - 1])
    return row[-1]


def _shared_pairs(claim: str, texts: Sequence[str]) -> float:
    """Share of neighbouring words of the claim that are neighbours in the source."""
    said = list(pairwise(word.stem for word in words(claim)))
    held = {pair for text in texts for pair in pairwise(word.stem for word in words(text))}
    return sum(pair in held for pair in said) / max(1, len(said))


def _conflict(claim: str, source: Source, places: tuple[int, ...]) -> str | None:
    """What of the claim the source contradicts or lacks: number, name, negation, direction; None for nothing."""
    texts = [source.spans[place].text for place in places]
    held = [number for place in places for number in source.numbers[place]]
    named = numbers(f"{source.paper.title} {source.paper.year or ''}")
    for number in numbers(claim):
        if not any(number.equals(other) for other in held) and not any(number.equals(other) for other in named):
            return "number"
    if any(not _known(name, source) for name in names(claim)):
        return "name"
    joined = " ".join(texts)
    if misplaced_number(claim, joined) or counts_other(claim, joined):
        return "number elsewhere"
    for text in texts:
        if swapped := exchanged(claim, text):
            return f"{swapped} exchanged"
    if any(name.sure and not _sits(name, source, places) for name in names(claim)):
        return "name elsewhere"
    if negation_differs(claim, joined):
        return "negation"
    if direction_differs(claim, joined):
        return "direction"
    if prefix_differs(claim, joined):
        return "prefix"
    if names_change_places(claim, joined):
        return "places"
    return None


def _known(name: Name, source: Source) -> bool:
    return source.whole.has(name)


def _sits(name: Name, source: Source, places: tuple[int, ...]) -> bool:
    """Whether a name stands in the sentences themselves or is what the paper is about."""
    if any(source.parts[place].has(name) for place in places):
        return True
    return name.key in source.subjects and any(_SELF.search(source.spans[place].text) for place in places)


def foreign(claim: str, n: int, source: Source) -> Finding | None:
    """A claim in Chinese: its numbers and Latin terms must stand in one sentence; the glossary's words help to find it.

    None where it has too few of them to tell.
    """
    said = numbers(claim)
    latin = [name for name in names(f"x {claim}") if name.text.casefold() != "x"]
    terms = {word.stem for word in content(claim) if word.text.isascii() and word.weight == 1.0}
    glossed = {word.stem for word in content(glossary(claim)[0]) if word.weight == 1.0}
    best: tuple[float, int] | None = None
    for place, held in enumerate(source.numbers):
        here = stems(source.spans[place].text)
        hits = sum(any(number.equals(other) for other in held) for number in said)
        hits_names = sum(_sits(name, source, (place,)) for name in latin)
        worth = 2.0 * hits + hits_names + 0.5 * len((terms | glossed) & here)
        if best is None or worth > best[0]:
            best = (worth, place)
    if best is None or len(said) + len(latin) + len(terms) < 1:
        return None
    place = best[1]
    missing = [number for number in said if not any(number.equals(other) for other in source.numbers[place])]
    conflict = "number" if missing else "name" if any(not _known(name, source) for name in latin) else None
    share = len(terms & stems(source.spans[place].text)) / max(1, len(terms))
    strength = min(1.0, (2 * len(said) + len(latin)) / 3)
    return Finding(n, source.paper, (source.spans[place],), (), conflict, 0.4 * share + 0.6 * strength)
