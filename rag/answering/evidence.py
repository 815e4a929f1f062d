"""Which sentences bear on a question, and how a sentence is written into a prompt.

A sentence is worth what it shares with the question, rare words first, how near its vector is, how good its paper is,
and whether it has what is asked for: a number for "how many", names for "which datasets", an address for "where is the
code". `n` of a piece of evidence is its paper's rank; the pieces come in order of importance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from rag.answering.addressed import is_addressed
from rag.answering.claims import names, numbers
from rag.answering.posed import YES_NO, is_posed, reports
from rag.search.owning import owned
from rag.texts.terms import american, content, stems
from rag.texts.text import split_sentences
from rag.types import Evidence, Filters, Paper, Question, RankedPaper, Span

if TYPE_CHECKING:
    from rag.models.embeddings import FloatArray
    from rag.store.index import Index

MOST_TOKENS = 350
# Papers further behind the first than this share of its relevance give a sentence only where they are nearly as good.
_NEAR = 0.5
# Weight of a word of the question that is in the paper's title: on 119 questions over the seed lists the first sentence
# holds the answer for 78% at 0.5 without labels, 83% with them, 87% at 0.15.
_NAMING = 0.15
# What a sentence gains when its paper is the one that the question calls by its name.
_CALLED = 0.3
_LEADS_BACK = re.compile(
    r"^(?:it|its|they|their|this(?! (?:paper|work|study|article|survey|review)\b)|"
    r"these|those|such|he|she|the (?:former|latter|two|first|second)|both|here|in this way|"
    r"moreover|furthermore|additionally|in addition|specifically|in particular|also)\b",
    re.I,
)
_INSTRUCTION = re.compile(
    r"(?P<role><\|[^|>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>)"
    r"|(?P<speaker>(?:^|(?<=[\n.!?]))\s*(?:system|assistant|user|human|instruction|question|answer|evidence)\s*:)"
    r"|(?P<order>\b(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rules?|context|"
    r"evidence|above|"
    r"previous|prior|everything)\b)",
    re.I,
)
_POSED = re.compile(r"[\[【［](?=\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*[\]】］])(?P<inner>[^\]】］]*)[\]】］]")
_FULLWIDTH = str.maketrans({"<": "‹", ">": "›", "|": "¦", "[": "(", "]": ")"})

_NUMBER_ASKED = re.compile(
    r"\bhow (?:many|much|large|big|long|fast|often|high|low|accurate|few|old|deep|wide|well)\b|\bby (?:how much|"
    r"what factor)\b|"
    r"\b(?:what|which) (?:is the )?(?:\w+ ){0,3}(?:percentage|percent|share|proportion|rate|number|score|accuracy|"
    r"size|factor|"
    r"value|amount|fraction|p-value|complexity|speed|speedup|improvement|gain|margin|ratio|incidence|prevalence|"
    r"mean|average|"
    r"median|reduction|increase|decrease|dimension)\b|多少|几[个种项倍类次篇]|百分之|多大|多快|多长",
    re.I,
)
_NAMES_ASKED = re.compile(
    r"\b(?:which|what|name|list|on (?:what|which))\b[^?]{0,40}\b(?:datasets?|benchmarks?|models?|architectures?|"
    r"methods?|algorithms?|"
    r"baselines?|networks?|corpora|corpus|languages?|tools?|optimi[sz]ers?|encoders?|techniques?|tasks?|domains?|"
    r"metrics?|drugs?|genes?|countries)\b|\bstand(?:s)? for\b|\bcalled\b|哪[些个种]",
    re.I,
)
# Several things are asked for by name.
_SEVERAL = re.compile(
    r"\b(?:which|what) (?:\w+ ){0,2}(?:datasets|benchmarks|models|architectures|methods|algorithms|networks|corpora|"
    r"languages|baselines|optimi[sz]ers)\b|哪些",
    re.I,
)
_ADDRESS_ASKED = re.compile(
    r"\bwhere\b[^?]{0,40}\b(?:codes?|data|datasets?|website|repository|project|find|available|download)\b|\b(?:code|"
    r"github|repository|"
    r"repo|website|url|link)\b|代码|网址|链接",
    re.I,
)
_ADDRESS = re.compile(r"https?://|www\.|github|available (?:at|on|from)|publicly available|\bcode\b", re.I)
_WHAT_IS = re.compile(r"^\s*(?:what|who) (?:is|are|does)\b|\bpropos|\bintroduc|是什么|提出", re.I)
_INTRODUCES = re.compile(r"\b(?:we|paper|work)\b[^.]{0,40}\b(?:propos|introduc|present|develop|design)\w*", re.I)
_OWN = re.compile(r"\b(?:we|our|ours)\b|\bthis (?:paper|work|study|article)\b", re.I)
_BACKGROUND = re.compile(
    r"^(?:although|whil(?:e|st)|despite|however|recent(?:ly)?|existing|current|traditional|conventional|prior|previous|"
    r"most|many|in recent)\b"
    r"|\b(?:has|have) (?:been|become|emerged|shown|demonstrated|achieved)\b"
    r"|\b(?:remains?|is|are) (?:an? |the |highly |very |still )?(?:challeng|fundamental|key|important|crucial|"
    r"essential|difficult|unclear)"
    r"|\b(?:was|were) (?:\w+ly )?(?:proposed|introduced|developed)\b"
    r"|\b(?:existing|previous|prior|current|traditional|conventional) (?:\w+ ){0,3}(?:methods?|approaches|models?|"
    r"works?|studies|techniques)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question: how much it tells in this library, 0 to 1, and whether any paper has it."""

    weight: float
    known: bool


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A candidate: its paper's rank and id, its place among its paper's sentences."""

    rank: int
    paper_id: str
    place: int
    span: Span
    score: float


def select(
    question: Question,
    ranked: Sequence[RankedPaper],
    index: Index,
    limit: int,
    vector: FloatArray | None = None,
) -> tuple[Evidence, ...]:
    """Up to `limit` sentences, about `MOST_TOKENS` tokens, most important first.

    Most are of the best paper; others count by their relevance. A sentence that leads back ("It achieves…") brings the
    one before it. For a comparison the papers are served in turns. Empty where no paper has an abstract. `vector` (d,)
    is that of the question's `search_text`, which a search gives along; None embeds it here.
    """
    if not ranked:
        return ()
    vectors = sentence_vectors(index, [hit.paper for hit in ranked])
    weights = {stem: term.weight for stem, term in question_terms(question.search_text, index).items()}
    asked = index.encoder.encode([question.search_text])[0] if vector is None else vector
    found: list[_Sentence] = []
    by_paper: dict[str, tuple[Span, ...]] = {}
    best_relevance = max(hit.relevance for hit in ranked) or 1.0
    for hit in ranked:
        spans, matrix = vectors[hit.paper.paper_id]
        by_paper[hit.paper.paper_id] = spans
        paper_part = 0.35 * min(1.0, hit.relevance / best_relevance) + (0.1 if hit.rank == 1 else 0.0)
        paper_part += _CALLED if question.kind == "fact" and owned(hit.paper, question.search_text) else 0.0
        for place, score in enumerate(_scores(question, spans, matrix, weights, asked, hit.paper)):
            if not is_addressed(spans[place].text):
                found.append(_Sentence(hit.rank, hit.paper.paper_id, place, spans[place], score + paper_part))
    found.sort(key=lambda each: (-each.score, each.rank, each.place))
    if question.kind == "compare":
        found = _in_turns(found)
    return tuple(
        Evidence(each.rank, each.paper_id, each.span, round(each.score, 4)) for each in _within(found, by_paper, limit)
    )


def sentence_vectors(index: Index, papers: Sequence[Paper]) -> dict[str, tuple[tuple[Span, ...], np.ndarray]]:
    """Sentences with their stored vectors, (s, d), by paper id; papers the index has none of are embedded now."""
    held = index.records.rows_of_ids([paper.paper_id for paper in papers])
    stored = index.vectors(held)
    rows = {paper.paper_id: row for row, paper in index.papers(held).items()}
    found: dict[str, tuple[tuple[Span, ...], np.ndarray]] = {}
    for paper in papers:
        vectors = stored.get(rows.get(paper.paper_id, -1))
        # A paper changed since it was found has other sentences than those stored now.
        if vectors is not None and all(end <= len(paper.abstract) for _, end in vectors.spans):
            spans = tuple(Span(start, end, paper.abstract[start:end]) for start, end in vectors.spans)
            found[paper.paper_id] = (spans, np.asarray(vectors.sentences))
        else:
            spans = split_sentences(paper.abstract)
            found[paper.paper_id] = (spans, np.asarray(index.encoder.encode([span.text for span in spans])))
    return found


def question_terms(text: str, index: Index) -> dict[str, Term]:
    """The telling words of `text` by stem."""
    found: dict[str, Term] = {}
    for word in content(text):
        if word.stem not in found:
            hits = index.lexical(f"{word.text} {american(word.text)}", 1, Filters())
            # One term's best BM25 grows with its rarity; 10 is about that of a word of one paper among 40,000.
            rarity = min(1.0, 0.15 + hits[0][1] / 10) if hits else 1.0
            found[word.stem] = Term(word.weight * rarity, bool(hits))
    return found


def _scores(
    question: Question,
    spans: Sequence[Span],
    matrix: np.ndarray,
    weights: Mapping[str, float],
    asked: np.ndarray,
    paper: Paper,
) -> list[float]:
    total = sum(weights.values()) or 1.0
    cosines = matrix @ asked if len(matrix) else np.zeros(len(spans))
    # What the title (or label) has in common with the question names the paper and does not tell its sentences apart.
    title = stems(paper.title)
    held = [stems(span.text) for span in spans]
    # Nor does a word that many of its sentences have: each counts by one over the root of their number.
    often = Counter(stem for each in held for stem in each)
    own = {s: w * (_NAMING if s in title else 1.0) / sqrt(often[s]) for s, w in weights.items() if s in often}
    scores = []
    for place, span in enumerate(spans):
        shared = sum(w for s, w in own.items() if s in held[place]) / total
        scores.append(0.8 * shared + 0.8 * float(cosines[place]) + _prior(question, span.text))
    return scores


def _prior(asked: Question, sentence: str) -> float:
    """What a sentence gains by having the sort of thing that is asked for.

    Why a paper is the one, and what it is compared by, is what it does itself rather than what went before it: of 20
    which-questions over the seed lists 15 are then given such a sentence, 9 without.
    """
    question = asked.text
    # A question that the abstract opens with is no answer to one.
    gain = -0.3 if sentence.rstrip().endswith(("?", "？")) else 0.0
    if asked.kind in ("which", "compare"):
        gain += 0.25 if _INTRODUCES.search(sentence) else 0.12 if _OWN.search(sentence) else 0.0
        gain -= 0.2 if _BACKGROUND.search(sentence) else 0.0
    if _NUMBER_ASKED.search(question):
        gain += 0.18 if numbers(sentence) else -0.05
    if _NAMES_ASKED.search(question):
        gain += 0.04 * min(3, sum(name.sure for name in names(sentence)))
    if _ADDRESS_ASKED.search(question) and _ADDRESS.search(sentence):
        gain += 0.4
    if _WHAT_IS.search(question) and _INTRODUCES.search(sentence):
        gain += 0.08
    return gain


def _in_turns(found: Sequence[_Sentence]) -> list[_Sentence]:
    """The best sentence of each paper, then the second of each, papers by rank."""
    by_rank: dict[int, list[_Sentence]] = {}
    for each in found:
        by_rank.setdefault(each.rank, []).append(each)
    longest = max(map(len, by_rank.values()), default=0)
    return [by_rank[rank][turn] for turn in range(longest) for rank in sorted(by_rank) if turn < len(by_rank[rank])]


def _within(found: Sequence[_Sentence], spans: Mapping[str, tuple[Span, ...]], limit: int) -> list[_Sentence]:
    """The first sentences that fit, each followed by the one it leads back to."""
    kept: dict[tuple[str, int], _Sentence] = {}
    used = 0
    for each in found:
        wanted = [each]
        if each.place and _LEADS_BACK.match(each.span.text):
            before = spans[each.paper_id][each.place - 1]
            if not is_addressed(before.text):
                wanted.append(_Sentence(each.rank, each.paper_id, each.place - 1, before, each.score - 0.01))
        for one in wanted:
            cost = tokens(one.span.text)
            if (one.paper_id, one.place) in kept or len(kept) >= limit or (kept and used + cost > MOST_TOKENS):
                continue
            kept[one.paper_id, one.place] = one
            used += cost
        if len(kept) >= limit:
            break
    return list(kept.values())


def tokens(text: str) -> int:
    """About how many tokens a model makes of `text`."""
    return len(text) // 4 + 1


def neutralise(text: str) -> str:
    """`text` so that nothing in it poses as a citation, a role or an instruction to the model; for prompts only.

    `[12]` becomes `(12)`, role marks lose their angle brackets, and an order such as "ignore previous instructions" is
    set in quotation marks after "the text says". Text without such things is given back unchanged.
    """
    made = _POSED.sub(lambda match: f"({match['inner'].strip()})", text)
    return _INSTRUCTION.sub(_harmless, made)


def _harmless(match: re.Match[str]) -> str:
    if match["role"]:
        return match["role"].translate(_FULLWIDTH)
    if match["speaker"]:
        return match["speaker"].replace(":", " -")
    return f"(the text says: “{match['order']}”)"


def asks_number(question: str) -> bool:
    """Whether the answer must hold a number."""
    return bool(_NUMBER_ASKED.search(question))


def decisive(question: Question, evidence: Sequence[Evidence]) -> Evidence | None:
    """The one sentence to quote in answer to `question`: the best of the first paper that has what is asked for.

    `evidence` is in order of importance. None where there is none.
    """
    own = [piece for piece in evidence if piece.n == evidence[0].n]
    if YES_NO.search(question.search_text):
        # What came out answers; what was to be found out only asks again.
        own = [piece for piece in own if not is_posed(piece.span.text)] or own
        own = [piece for piece in own if reports(piece.span.text)] or own
    if _SEVERAL.search(question.text) or _SEVERAL.search(question.search_text):
        asked = {name.key for name in names(question.search_text)}
        told = {piece.span: sum(n.sure and n.key not in asked for n in names(piece.span.text)) for piece in own}
        own = [piece for piece in own if told[piece.span] > 1] or own
    if asks_number(question.search_text):
        own = [piece for piece in own if numbers(piece.span.text)] or own
    whole = [piece for piece in own[:2] if not _LEADS_BACK.match(piece.span.text)]
    return next(iter(whole or own), None)
