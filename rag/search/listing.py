"""Lists, counts and overviews: which papers of the whole library belong, decided paper by paper.

Candidates come from both indexes; in a library of up to `WHOLE` papers every paper is one. Whether a paper belongs is a
calibrated probability from how the topic's words stand in it (together, in order, in how many sentences, spelled out or
as an acronym) and how near its vectors are. Weights and threshold are in data/calibration.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from rag.answering import calibration
from rag.answering.compose import name
from rag.answering.evidence import question_terms
from rag.texts.terms import Word, listed, stem, words
from rag.types import AnswerSentence, Evidence, Filters, Match, Paper, Question, Span

if TYPE_CHECKING:
    from rag.search.retrieve import Searcher
    from rag.store.index import Index
    from rag.store.records import PaperVectors

WHOLE = 2000
CANDIDATES = 1000
# Papers that an answer names one by one; `matches` holds all.
SHOWN = 100
# Words of a request for papers that are no part of its topic.
_REQUEST = frozenset(
    stem(word)
    for word in listed(
        "paper papers work works study studies article articles abstract abstracts publication publications list "
        "show give find name count number many which what all any library collection deal deals dealing concern "
        "concerns "
        "concerning about related relate regarding focus focuses address addresses addressing treat treats discuss "
        "discusses "
        "work works use uses using apply applies propose proposes present presents introduce introduces look looks "
        "overview "
        "summary survey summarize there here topic topics area areas field published appear appeared research "
        "researchers do "
        "does have we you me please consider considers investigate investigates examine examines explore explores "
        "contain "
        "kind kinds mention mentions involve involves describe describes report reports help helps give gives prove "
        "proves "
        "group grouped sort sorted year venue each total altogether exist exists known recent latest problem problems "
        "something idea ideas try tries avoid analyse analyses analyze analyzes aspect aspects issue issues question "
        "questions part parts type types way ways task tasks setting settings deploy consist"
    )
)
_ALTERNATIVES = re.compile(r"\s+or\s+|/|、|或者?|以及", re.I)
_GROUP = re.compile(
    r"\b(?:by|per|for each|group(?:ed)? by)\s+(?P<by>year|venue|conference|journal)\b|按(?P<zh>年|会议|期刊)", re.I
)


_WANTS_NEW = re.compile(
    r"\b(?:introduc|propos|present|releas|contribut|creat|collect|publish|provid|offer)\w*\s+(?:an?|new|novel|"
    r"their own|the first)\b",
    re.I,
)
_CONTRIBUTES = re.compile(
    r"\b(?:introduc|propos|present|releas|contribut|creat|collect|curat|construct|build|built|generat|bring|develop|design|"
    r"establish|annotat|compil|includ)\w*",
    re.I,
)
# Between what is made and the topic these lead to something else: "we propose a method for the dataset".
_LEADS_AWAY = re.compile(r"\b(?:on|across|using|for|from|against|over|via|by|to|in|that|when|which)\b|[;:]")
_REACH = 90  # characters after the verb
_ADJECTIVE = re.compile(r"\w{3}(?:al|ive|ous|ic|ary|ar|ed|able|ible)$", re.I)
_LETTERS = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Features:
    """One paper against a topic. All about 0 to 1.

    `cover` is the share of the topic's words, rare ones first, that title and abstract have, `together` that of the
    best sentence or the title, `ordered` the share of neighbouring topic words that are neighbours there; `often` how
    many sentences have most of the topic, four counting as 1; `opening` whether the title or one of the first
    two sentences has; `whole`, `sentence` and `title` are cosines; `ahead` how near `whole` is to the best paper's.
    """

    cover: float
    together: float
    ordered: float
    often: float
    opening: float
    whole: float
    sentence: float
    title: float
    ahead: float


NAMES = tuple(field.name for field in fields(Features))


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing asked about: its stems with their weights, and in order.

    `short` gives, by acronym ("^RL" for RL), the stems that it stands for; `glued` are neighbouring words that may be
    written as one. With `contributed` only papers are wanted whose own contribution it is ("which papers introduce a
    dataset").
    """

    text: str
    weights: Mapping[str, float]
    order: tuple[str, ...]
    short: Mapping[str, frozenset[str]]
    glued: tuple[tuple[str, str], ...]
    contributed: bool


def find(asked: Question, index: Index, searcher: Searcher) -> tuple[Match, ...]:  # noqa: ARG001 - one seam for all kinds
    """The papers that belong in the answer, most relevant first, each with its most telling sentence.

    With no topic left in the question ("which papers are from 2024?") all papers that pass the filters belong.
    """
    asked_topics = topics(asked, index)
    if not asked_topics:
        rows = index.rows(asked.filters)
        return tuple(Match(paper, 1.0, _first(paper)) for paper in index.papers(rows).values())
    calibrated = calibration.threshold("listing", index.encoder.fingerprint)
    matches = []
    for paper, seen, quote in judged(asked, asked_topics, index):
        probability = calibration.logistic(calibrated.weights, astuple(seen))
        if probability >= calibrated.least:
            matches.append(Match(paper, round(probability, 4), quote))
    return tuple(sorted(matches, key=lambda match: (-match.relevance, match.paper.paper_id)))


def topics(asked: Question, index: Index) -> tuple[Topic, ...]:
    """What is asked about: one topic, or several with "or" between them, of which one is enough."""
    found = []
    contributed = bool(_WANTS_NEW.search(asked.search_text))
    for part in _alternatives(_GROUP.sub("", asked.search_text)):
        terms = {s: t for s, t in question_terms(part, index).items() if s not in _REQUEST}
        weights = {s: term.weight for s, term in terms.items()}
        general = {word.stem for word in words(part) if word.weight < 1.0}
        telling = {s: w for s, w in weights.items() if s not in general} or weights
        if telling:
            kept = [word for word in words(part) if word.stem in telling]
            # SB is no sourdough bread where no paper speaks of sourdough.
            spoken = all(terms[s].known for s in telling)
            short = _acronyms([word for word in words(part) if word.stem in weights], telling.keys()) if spoken else {}
            glued = tuple((a.text, b.text) for a, b in pairwise(kept) if b.start - a.end <= 1)
            order = tuple(word.stem for word in kept)
            found.append(Topic(part.strip(), telling, order, short, glued, contributed))
    return tuple(found)


def _alternatives(text: str) -> list[str]:
    """The parts of `text` between "or"; "representational or feature collapse" is about two sorts of collapse."""
    parts = _ALTERNATIVES.split(text)
    for place in range(len(parts) - 1):
        after = words(parts[place + 1])
        if _ADJECTIVE.search(parts[place].rstrip()) and len(after) > 1:
            parts[place] += f" {after[-1].text}"
    return parts


def _acronyms(named: Sequence[Word], telling: Set[str]) -> dict[str, frozenset[str]]:
    """Initials of the runs of two to five words, each with the telling stems that it stands for."""
    found: dict[str, frozenset[str]] = {}
    for size in range(2, min(5, len(named)) + 1):
        for run in (named[at : at + size] for at in range(len(named) - size + 1)):
            meant = frozenset(word.stem for word in run) & telling
            if len(meant) > 1 or meant == telling:
                found["^" + "".join(word.text[0] for word in run).upper()] = meant
    return found


def judged(asked: Question, wanted: Sequence[Topic], index: Index) -> list[tuple[Paper, Features, Span]]:
    """All candidates with their features for the best of the topics and their most telling sentence."""
    rows = _candidates(asked, wanted, index)
    papers = index.papers(rows)
    vectors = index.vectors(rows)
    encoded = index.encoder.encode([_bare(topic) for topic in wanted])
    nearest = [max((float((v.chunks @ vector).max()) for v in vectors.values()), default=1.0) for vector in encoded]
    found = []
    for row, paper in papers.items():
        options = [
            _features(topic, paper, vectors[row], vector, best)
            for topic, vector, best in zip(wanted, encoded, nearest, strict=True)
        ]
        seen, quote = max(options, key=lambda option: option[0].cover + option[0].together + option[0].whole)
        found.append((paper, seen, quote))
    return found


def _bare(topic: Topic) -> str:
    """The topic's own words, without those of the request."""
    kept = [word.text for word in words(topic.text) if word.stem not in _REQUEST or word.stem in topic.weights]
    while kept and words(kept[0])[0].weight == 0:
        kept.pop(0)
    return " ".join(kept) or topic.text


def _candidates(asked: Question, wanted: Sequence[Topic], index: Index) -> list[int]:
    rows = index.rows(asked.filters)
    if len(rows) <= WHOLE:
        return rows
    found: dict[int, None] = {}
    for topic, vector in zip(wanted, index.encoder.encode([_bare(topic) for topic in wanted]), strict=True):
        text = " ".join([_bare(topic), *(short.removeprefix("^") for short in topic.short)])
        found.update(dict.fromkeys(row for row, _ in index.lexical(text, CANDIDATES, asked.filters)))
        found.update(dict.fromkeys(row for row, _ in index.dense(vector, CANDIDATES, asked.filters)))
    return list(found)


def _features(
    topic: Topic, paper: Paper, stored: PaperVectors, vector: np.ndarray, best: float
) -> tuple[Features, Span]:
    title = paper.title if paper.titled else ""
    spans = [Span(start, end, paper.abstract[start:end]) for start, end in stored.spans]
    # A sentence without even the beginning of a topic word is not looked at; most of a large library is of that sort.
    starts = [s.removeprefix("^")[:4].casefold() for s in (*topic.weights, *topic.short)]
    texts = [
        text if any(start in text.casefold() for start in starts) else "" for text in (title, *(s.text for s in spans))
    ]
    # Where papers that introduce a dataset are wanted, one that only uses a dataset is not.
    counted = [text for text in texts if not topic.contributed or text == title or _contributes(topic, text)]
    shares = [_share(topic, _held(text)) for text in texts]
    strong = [_share(topic, _held(text)) for text in counted]
    cosines = stored.sentences @ vector if len(stored.sentences) else np.zeros(len(spans))
    whole = float((stored.chunks @ vector).max()) if len(stored.chunks) else 0.0
    marks = [
        share + 0.5 * float(cosine) + 0.3 * (bool(text) and text in counted)
        for share, cosine, text in zip(shares[1:], cosines, texts[1:], strict=True)
    ]
    quote = spans[int(np.argmax(marks))] if marks else Span(0, len(paper.title), paper.title)
    return (
        Features(
            cover=_share(topic, frozenset[str]().union(*map(_held, texts))),
            together=max((_close(topic, text) for text in counted), default=0.0),
            ordered=max((_ordered(topic, text) for text in counted), default=0.0),
            often=min(4, sum(share >= 0.75 for share in strong)) / 4,
            opening=float(max(shares[:3], default=0.0) >= 0.75),
            whole=whole,
            sentence=float(cosines.max()) if len(cosines) else whole,
            title=float(stored.title @ vector),
            ahead=whole / best if best > 0 else 0.0,
        ),
        quote,
    )


@lru_cache(maxsize=65536)
def _held(text: str) -> frozenset[str]:
    """Stems of `text`, those of neighbours written as one word (multi-view, multiview), and the words in lower case."""
    found = words(text)
    glued = {stem(a.text + b.text) for a, b in pairwise(found) if b.start - a.end <= 1}
    short = {f"^{word.text.rstrip('s')}" for word in found if len(word.text) > 1 and word.text.rstrip("s").isupper()}
    plain = {word.text.casefold().rstrip("s") for word in found}
    return frozenset({word.stem for word in found} | glued | short | _linked(text) | plain)


def _linked(text: str) -> set[str]:
    """Stems of the words in the addresses of `text`."""
    links = (word.text for word in words(text) if "://" in word.text) if "://" in text else ()
    return {stem(part) for link in links for part in _LETTERS.findall(link)}


def _share(topic: Topic, held: Set[str]) -> float:
    """Share of the topic that is in `held`; an acronym counts for all the words that it stands for."""
    total = sum(topic.weights.values())
    joined = {s for a, b in topic.glued if stem(a + b) in held for s in (stem(a), stem(b))}
    joined |= _spelled(topic, held)
    return sum(w for s, w in topic.weights.items() if s in held or s in joined) / total


def _spelled(topic: Topic, held: Set[str]) -> frozenset[str]:
    """The topic's stems that stand in `held` as an acronym."""
    return frozenset(s for short, meant in topic.short.items() if short in held for s in meant)


def _close(topic: Topic, text: str) -> float:
    """The best share within a window of twice the topic's words and two."""
    held = _held(text)
    spelled = _spelled(topic, held) | (topic.weights.keys() & _linked(text))
    if spelled >= topic.weights.keys():
        return 1.0
    found = words(text)
    width = 2 * len(topic.order) + 2
    places = [place for place, word in enumerate(found) if word.stem in topic.weights]
    best = 0.0
    for place in places:
        window = {found[other].stem for other in places if place <= other < place + width} | spelled
        best = max(best, sum(topic.weights[s] for s in window))
    alone = _share(topic, held) if not places else 0.0
    return max(best / sum(topic.weights.values()), alone)


def _ordered(topic: Topic, text: str) -> float:
    """Share of neighbouring topic words that are neighbours in `text`; for a topic of one word whether it occurs."""
    if _spelled(topic, _held(text)) >= topic.weights.keys():
        return 1.0
    if len(topic.order) < 2:
        return float(bool(topic.order) and topic.order[0] in _held(text))
    pairs = set(pairwise(word.stem for word in words(text)))
    wanted = list(pairwise(topic.order))
    return sum(pair in pairs for pair in wanted) / len(wanted)


def _contributes(topic: Topic, text: str) -> bool:
    """Whether `text` says that its authors made a thing of the topic: "we introduce X, a large dataset"."""
    for made in _CONTRIBUTES.finditer(text):
        rest = text[made.end() : made.end() + _REACH]
        place = next((word.start for word in words(rest) if word.stem in topic.weights), None)
        if place is not None and not _LEADS_AWAY.search(rest[:place]):
            return True
    return False


def _first(paper: Paper) -> Span:
    from rag.texts.text import split_sentences

    spans = split_sentences(paper.abstract)
    return spans[0] if spans else Span(0, len(paper.title), paper.title)


def sentences(asked: Question, matches: Sequence[Match]) -> tuple[AnswerSentence, ...]:  # noqa: ARG001 - one seam
    """One sentence a match: the paper and its quotation. The number of each is its place in `matches`, from 1."""
    return tuple(
        AnswerSentence(
            f"{name(match.paper)}: “{match.quote.text}”",
            (n,),
            "supported",
            (Evidence(n, match.paper.paper_id, match.quote, match.relevance),) if match.paper.abstract else (),
        )
        for n, match in enumerate(matches, start=1)
    )


def render(asked: Question, matches: Sequence[Match], listed: Sequence[AnswerSentence]) -> str:
    """The answer as Markdown: the count, then up to `SHOWN` papers with a cited sentence; by year or venue if asked."""
    lines = [_count(asked, len(matches)), ""]
    by = grouping(asked.standalone)
    groups = _groups(list(zip_longest(matches, listed[:SHOWN])), by)
    if by:
        lines.append(", ".join(f"{heading}: {len(members)}" for heading, members in groups))
    for heading, members in groups:
        shown = [(match, sentence) for match, sentence in members if sentence]
        if heading and shown:
            lines.append(f"\n**{heading}** ({len(members)})\n")
        lines.extend(
            f"- **{name(match.paper)}** {''.join(f'[{n}]' for n in sentence.citations)}: “{match.quote.text}”"
            for match, sentence in shown
        )
    if len(matches) > SHOWN:
        rest = len(matches) - SHOWN
        more = f"另有 {rest} 篇。" if asked.language == "zh" else f"… and {rest} more."
        lines.append(f"\n{more}")
    return "\n".join(lines)


def grouping(text: str) -> str | None:
    """ "year" or "venue" where the question asks for groups, else None."""
    found = _GROUP.search(text)
    if found is None:
        return None
    return "year" if (found["by"] or found["zh"]).casefold() in ("year", "年") else "venue"


def _count(asked: Question, total: int) -> str:
    if asked.language == "zh":
        return f"文库中有 {total} 篇论文符合。"
    where = _filter_text(asked.filters)
    return f"{total} paper{'' if total == 1 else 's'} in the library match{'es' if total == 1 else ''}{where}."


def _filter_text(filters: Filters) -> str:
    parts = [filters.venue] if filters.venue else []
    low, high = filters.year_from, filters.year_to
    if low is not None or high is not None:
        parts.append(str(low) if low == high else f"{low or '…'} to {high or '…'}")
    return f" ({', '.join(parts)})" if parts else ""


def _group_of(paper: Paper, by: str | None) -> str:
    if by is None:
        return ""
    value = paper.year if by == "year" else paper.venue
    return str(value) if value is not None else "?"


def _groups(
    pairs: Sequence[tuple[Match, AnswerSentence | None]], by: str | None
) -> list[tuple[str, list[tuple[Match, AnswerSentence | None]]]]:
    groups: dict[str, list[tuple[Match, AnswerSentence | None]]] = {}
    for pair in pairs:
        groups.setdefault(_group_of(pair[0].paper, by), []).append(pair)
    return sorted(groups.items(), key=lambda group: group[0], reverse=by == "year")
