"""A calibration set for the verifier, made from real abstracts when it is run; nothing of it is kept in the project.

From sentences of abstracts come true claims (verbatim, trimmed, reworded by rules, merged, with the paper's name for
"we" or "it") and false ones (a number or a name exchanged, a negation put in or taken out, a direction turned, the
sentence or half of it from another paper). Each claim is to be held against the abstract it was made from.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from rag.answering.claims import names, numbers
from rag.texts.terms import content
from rag.texts.text import clean_text, split_sentences
from rag.types import Paper

TRUE = ("verbatim", "trimmed", "reworded", "merged", "named", "framed")
FALSE = (
    "number", "number within", "name", "name within", "negation in", "negation out", "direction", "other paper",
    "near paper", "half other",
)  # fmt: skip
_SYNONYMS = (
    ("outperforms", "performs better than"),
    ("demonstrate", "show"),
    ("demonstrates", "shows"),
    ("in this paper, ", ""),
    ("in this work, ", ""),
    ("significantly ", ""),
    ("substantially ", ""),
    ("utilize", "use"),
    ("leverage", "use"),
    ("leverages", "uses"),
    ("novel", "new"),
    ("various", "several"),
    ("numerous", "many"),
    ("crucial", "important"),
    ("essential", "important"),
    ("efficient", "fast"),
    ("tackle", "address"),
    ("challenges", "problems"),
    ("obtain", "get"),
    ("enhance", "improve"),
    ("enhances", "improves"),
    ("construct", "build"),
    ("furthermore, ", ""),
    ("moreover, ", ""),
    ("additionally, ", ""),
    ("however, ", ""),
    ("specifically, ", ""),
    ("state-of-the-art", "best existing"),
    ("large language models", "LLMs"),
    ("remarkable", "strong"),
    ("method", "approach"),
    ("approach", "method"),
    ("framework", "method"),
    ("extensive experiments", "experiments"),
    ("patients", "people"),
    ("associated with", "linked to"),
    ("aimed to", "set out to"),
    ("evaluate", "assess"),
    ("assessed", "evaluated"),
)
_TURNS = (
    ("increases", "decreases"), ("increase", "decrease"), ("increased", "decreased"), ("higher", "lower"),
    ("improves", "degrades"), ("improve", "degrade"), ("improved", "degraded"), ("outperforms", "underperforms"),
    ("outperform", "underperform"), ("better", "worse"), ("reduces", "increases"), ("reduce", "increase"),
    ("reduced", "increased"), ("faster", "slower"), ("larger", "smaller"), ("more", "less"), ("superior", "inferior"),
    ("enhances", "impairs"), ("enhance", "impair"), ("lower", "higher"), ("fewer", "more"),
    ("surpasses", "falls behind"),
    ("positive", "negative"), ("positively", "negatively"),
)  # fmt: skip
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|does|do|has been|have been|will|could)\b(?! not)")
_NEGATION = re.compile(r"\b(is|are|was|were|can|does|do|has|have|could|did) not\b|\bcannot\b|\bwithout\b")
_FRAMES = (
    "According to [1], {low}",
    "The paper shows that {low} [1].",
    "- **{up}** [1]",
    "Yes, {low}",
    "The authors report that {low}",
    "Based on the evidence, {low} [1]",
)
_COINED = re.compile(r"\b[Ww]e (?:propose|introduce|present) ([\w-]+)")
_SELF = re.compile(r"\b(?:our (?:method|approach|model|framework|algorithm)|this paper|this method)\b", re.I)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to hold against `paper`; `kind` says how it was made, `source` the sentence it was made from."""

    text: str
    paper: Paper
    true: bool
    kind: str
    source: str


def read_papers(path: Path, most: int, seed: int) -> list[Paper]:
    """Up to `most` papers of a JSONL file (gzip or plain), drawn with `seed`, abstracts of 400 characters or more."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as lines:
        rows = [row for row in map(orjson.loads, lines) if len(row.get("abstract") or "") >= 400]
    random.Random(seed).shuffle(rows)
    return [
        Paper(str(row["id"]), clean_text(row.get("title") or ""), clean_text(row["abstract"]), bool(row.get("title")))
        for row in rows[:most]
    ]


def make(papers: Sequence[Paper], seed: int) -> list[Claim]:
    """Claims of every kind, at most two of a kind from one paper."""
    chance = random.Random(seed)
    pool = sorted({name.text for paper in papers for name in names(paper.abstract) if name.sure})
    claims: list[Claim] = []
    for place, paper in enumerate(papers):
        other = papers[(place + 1 + chance.randrange(len(papers) - 1)) % len(papers)]
        near = _nearest(paper, papers, chance)
        sentences = [span.text for span in split_sentences(paper.abstract) if 40 <= len(span.text) <= 400]
        if len(sentences) < 2:
            continue
        made: dict[str, int] = {}
        for claim in _claims(paper, sentences, other, near, pool, chance):
            if made.get(claim.kind, 0) < 2 and claim.text != claim.source:
                made[claim.kind] = made.get(claim.kind, 0) + 1
                claims.append(claim)
        verbatim = chance.choice(sentences)
        claims.append(Claim(verbatim, paper, True, "verbatim", verbatim))
    return claims


def _nearest(paper: Paper, papers: Sequence[Paper], chance: random.Random) -> Paper:
    """Of thirty other papers the one that shares most words with `paper`."""
    mine = {word.stem for word in content(paper.abstract) if word.weight == 1.0}
    others = [other for other in chance.sample(papers, min(30, len(papers))) if other.paper_id != paper.paper_id]
    return max(others, key=lambda other: len(mine & {word.stem for word in content(other.abstract)}))


def _claims(
    paper: Paper, sentences: Sequence[str], other: Paper, near: Paper, pool: Sequence[str], chance: random.Random
) -> Iterator[Claim]:
    subject = next(
        (match[1] for match in _COINED.finditer(paper.abstract) if any(n.text == match[1] for n in names(match[0]))),
        None,
    )
    order = list(range(len(sentences)))
    chance.shuffle(order)
    for place in order:
        text = sentences[place]
        true = [("trimmed", _trimmed(text)), ("reworded", _reworded(text)), ("framed", _framed(text, chance))]
        if place + 1 < len(sentences):
            true.append(("merged", _merged(text, sentences[place + 1])))
        if subject and _SELF.match(text):
            true.append(("named", _SELF.sub(subject, text, count=1)))
        false = [
            ("number", _other_number(text, chance)),
            ("number within", _number_within(text, paper, chance)),
            ("name", _other_name(text, paper, pool, chance)),
            ("name within", _name_within(text, paper, chance)),
            ("negation in", _negated(text)),
            ("negation out", _affirmed(text)),
            ("direction", _turned(text)),
            ("half other", _half(text, other)),
        ]
        yield from (Claim(made, paper, True, kind, text) for kind, made in true if made)
        yield from (Claim(made, paper, False, kind, text) for kind, made in false if made)
    for kind, foreign in (("other paper", other), ("near paper", near)):
        spans = [span.text for span in split_sentences(foreign.abstract) if 60 <= len(span.text) <= 400]
        yield from (Claim(text, paper, False, kind, "") for text in spans[:8] if _tells(text))


def _tells(text: str) -> bool:
    """Whether a sentence says something of its own paper; "Code is available" would be true of many."""
    return sum(word.weight == 1.0 for word in content(text)) >= 6


def _trimmed(text: str) -> str:
    parts = re.split(r"(?<=\w), (?=which|while|and|by|with|such|including|where|leading|making|thus)", text)
    return parts[0].rstrip(",;") + "." if len(parts) > 1 and len(parts[0]) > 50 else ""


def _reworded(text: str) -> str:
    made = text
    for old, new in _SYNONYMS:
        made = re.sub(rf"(?<!\w){re.escape(old.strip())}(?!\w) ?" if new == "" else rf"(?<!\w){old}(?!\w)", new, made,
                      count=1, flags=re.I)  # fmt: skip
    made = re.sub(r"^(?:We|In this (?:paper|work), we) (\w+?)(?= )", lambda m: f"The paper {m[1]}s", made)
    made = re.sub(r"\bour\b", "their", made)
    return made[:1].upper() + made[1:] if made != text else ""


def _merged(one: str, two: str) -> str:
    """The sentence and the next as one, less their last clauses."""
    short = [_trimmed(text) or text for text in (one, two)]
    if sum(map(len, short)) > 320:
        return ""
    return f"{short[0].rstrip('.')}, and {short[1][:1].lower()}{short[1][1:]}" if short[1][1:2].islower() else ""


def _framed(text: str, chance: random.Random) -> str:
    low = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return chance.choice(_FRAMES).format(low=low.rstrip("."), up=text.rstrip("."))


def _replace(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _other_number(text: str, chance: random.Random) -> str:
    found = numbers(text)
    if not found:
        return ""
    number = chance.choice(found)
    written = text[number.start : number.end]
    digits = re.search(r"\d[\d,.]*\d|\d", written)
    if digits is None:
        spelled = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
        new = chance.choice([word for word in spelled if word not in written.casefold()])
        return _replace(text, number.start, number.start + len(written.rstrip()), new)
    old = digits.group()
    while True:
        new = "".join(str(chance.randrange(1, 10)) if c.isdigit() else c for c in old)
        value = float(new.replace(",", "")) if new.replace(",", "").count(".") < 2 else 0.0
        if new != old and not any(abs(value - other.value) < 1e-9 for other in found):
            return _replace(text, number.start + digits.start(), number.start + digits.end(), new)


def _number_within(text: str, paper: Paper, chance: random.Random) -> str:
    """Another number of the same abstract and unit that the sentence does not have, or two numbers exchanged."""
    found = numbers(text)
    elsewhere = [(n, paper.abstract[n.start : n.end].strip()) for n in numbers(paper.abstract)]
    pairs = [
        (number, written)
        for number in found
        for other, written in elsewhere
        if other.unit == number.unit and not any(other.equals(held) for held in found)
    ]
    if not pairs:
        return ""
    number, written = chance.choice(pairs)
    return _replace(text, number.start, number.start + len(text[number.start : number.end].rstrip()), written)


def _swap_pool(text: str, pool: Iterable[str], chance: random.Random, absent_from: str) -> str:
    found = [name for name in names(text) if name.sure]
    options = [name for name in pool if name not in absent_from and name.casefold() not in absent_from.casefold()]
    if not found or not options:
        return ""
    name = chance.choice(found)
    new = chance.choice(options)
    return "" if new.casefold() == name.text.casefold() else _replace(text, name.start, name.end, new)


def _other_name(text: str, paper: Paper, pool: Sequence[str], chance: random.Random) -> str:
    return _swap_pool(text, chance.sample(pool, min(12, len(pool))), chance, f"{paper.title} {paper.abstract}")


def _name_within(text: str, paper: Paper, chance: random.Random) -> str:
    return _swap_pool(text, {name.text for name in names(paper.abstract) if name.sure}, chance, text)


def _negated(text: str) -> str:
    return _AUXILIARY.sub(lambda match: f"{match[1]} not", text, count=1) if _AUXILIARY.search(text) else ""


def _affirmed(text: str) -> str:
    def positive(match: re.Match[str]) -> str:
        return match[1] or {"cannot": "can", "without": "with"}[match.group()]

    return _NEGATION.sub(positive, text, count=1) if _NEGATION.search(text) else ""


def _turned(text: str) -> str:
    for old, new in _TURNS:
        if re.search(rf"\b{old}\b", text):
            return re.sub(rf"\b{old}\b", new, text, count=1)
    return ""


def _half(text: str, other: Paper) -> str:
    """The first half of the sentence with the last of another paper's."""
    foreign = [span.text for span in split_sentences(other.abstract) if len(span.text) > 100]
    if not foreign or len(text) < 100:
        return ""
    mine, theirs = text.split(), foreign[0].split()
    made = " ".join([*mine[: len(mine) // 2], *theirs[len(theirs) // 2 :]])
    return made if sum(word.weight == 1.0 for word in content(" ".join(theirs[len(theirs) // 2 :]))) >= 4 else ""
