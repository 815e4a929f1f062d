"""The pipeline: a question becomes a stream of events that ends in an Answer. Nothing else knows the order of steps.

    understand -> search -> evidence -> near enough? -> prompt -> write -> check each sentence -> answer

Lists, counts and overviews take the path over the whole index instead, and need no model. What the model writes is
never shown as fact until it is checked, and the citation numbers are given here, in order of first use, never by it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import prompts
from rag.answering import comparing, compose, evidence, premise, prompting, record, refusal
from rag.answering.citing import Numbering
from rag.answering.verify import Verifier
from rag.errors import GenerationError
from rag.events import Abstained, Done, Event, EvidenceFound, SentenceChecked, Sources, Stage, Token, Understood
from rag.models.writer import CutShort, Writer
from rag.question.understand import understand
from rag.search import listing
from rag.search.retrieve import FloatArray, Searcher
from rag.settings import Settings
from rag.store.index import Index
from rag.types import (
    LISTS,
    Answer,
    AnswerSentence,
    Evidence,
    Filters,
    Match,
    Question,
    RankedPaper,
    Status,
    Timings,
    Turn,
)

# From this probability of an answer on, the abstract is quoted although the model says that it does not know.
SURE = 0.7
CUT_SHORT_ZH = "模型在 {:g} 秒后被停止（`answer_seconds`）；此前写出的内容已经过核对并保留。"
CUT_SHORT = "The model was stopped after {:g} s (`answer_seconds`); what it had written by then was checked and kept."
NO_MODEL: Mapping[str, str | int | float | bool | None] = {"name": None}


@dataclass(slots=True)
class _Clock:
    """Milliseconds since the question came, and the marks of its steps; `cut_short` by the time limit."""

    began: float
    understand: float = 0.0
    retrieve: float = 0.0
    first_source: float | None = None
    first_token: float | None = None
    cut_short: bool = False

    def now(self) -> float:
        return (time.perf_counter() - self.began) * 1000

    def timings(self) -> Timings:
        rounded = (
            None if value is None else round(value, 2)
            for value in (self.understand, self.retrieve, self.first_source, self.first_token, self.now())
        )
        understood, retrieved, source, token, total = rounded
        return Timings(understood or 0.0, retrieved or 0.0, source, token, total or 0.0)


class Answerer:
    """Answers questions from one index, with or without a model.

    `writer` is None for answers made of the evidence sentences alone.
    """

    def __init__(
        self, index: Index, searcher: Searcher, verifier: Verifier, settings: Settings, writer: Writer | None
    ) -> None:
        self._index = index
        self._searcher = searcher
        self._verifier = verifier
        self._settings = settings
        self._writer = writer

    def ask(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = Filters(),  # noqa: B008 - frozen
        k: int | None = None,
    ) -> Answer:
        """The answer alone. Raises what `stream` raises."""
        for event in self.stream(question, history, filters, k):
            if isinstance(event, Done):
                return event.answer
        raise GenerationError("The answer ended before it was complete; ask again.")

    def stream(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = Filters(),  # noqa: B008 - frozen
        k: int | None = None,
        cancel: threading.Event | None = None,
        owner: str = "",
    ) -> Iterator[Event]:
        """Events of one answer, `Done` last. `k` is the number of papers considered (None: as in the settings).

        Where the model is wanted to understand the question, what can be found without it is shown first. The model
        writes one answer at a time; those who ask, each called by some name as `owner`, take turns.

        Setting `cancel`, or closing the iterator, stops the model; with `cancel` the answer so far still comes as
        `Done`. Raises InputError for a question that cannot be one, LibraryEmpty, and GenerationError.
        """
        clock = _Clock(time.perf_counter())
        yield Stage("understanding")
        asked = understand(question, history, self._index, None, filters)
        clock.understand = clock.now()
        yield Understood(asked)
        if not asked.settled and self._writer is not None:
            if asked.kind not in LISTS and (first := self._retrieve(asked, k or self._settings.k)[0]):
                clock.first_source = clock.now()
                yield Sources(first)
            yield Stage("understanding")
            asked = understand(question, history, self._index, self._writer.asked_by(owner, cancel), filters)
            clock.understand = clock.now()
            yield Understood(asked)
        if asked.kind in LISTS:
            yield from self._list(asked, clock)
            return
        yield Stage("searching")
        ranked, vector = self._retrieve(asked, k or self._settings.k)
        clock.retrieve = clock.now()
        if ranked and clock.first_source is None:
            clock.first_source = clock.retrieve
        yield Sources(ranked)
        found = evidence.select(asked, ranked, self._index, self._settings.evidence_sentences, vector)
        yield EvidenceFound(found)
        numbering = Numbering({hit.rank: hit.paper for hit in ranked})
        if (recorded := record.sentence(asked, ranked)) is not None:
            told = numbering.number(recorded)
            yield SentenceChecked(told)
            yield Done(self._answer(asked, "answered", [told], numbering, ranked, clock))
            return
        verdict = refusal.decide(asked, ranked, found, self._index, vector)
        if not verdict.near:
            yield from self._abstain(asked, verdict.reason, ranked, clock)
            return
        sentences: list[AnswerSentence] = []
        for event in self._sentences(asked, ranked, found, verdict.probability, numbering, clock, cancel, owner):
            if isinstance(event, SentenceChecked):
                sentences.append(event.sentence)
            yield event
        stopped = cancel is not None and cancel.is_set()
        if not stopped and not refusal.holds(asked, sentences):
            yield from self._abstain(asked, refusal.not_stated(asked), ranked, clock)
            return
        answer = self._answer(asked, "answered", sentences, numbering, ranked, clock)
        if asked.kind == "compare":
            compared = comparing.sides(asked, ranked, found)
            said = comparing.table(compared, numbering.given) or answer.text
            lacking = comparing.without(asked, comparing.missing(asked, ranked))
            answer = replace(answer, text=f"{lacking}\n\n{said}" if lacking else said)
            if lacking:
                answer = replace(answer, notes=(*answer.notes, lacking))
        yield Done(answer)

    def _retrieve(self, asked: Question, k: int) -> tuple[tuple[RankedPaper, ...], FloatArray]:
        """The papers, and the vector (d,) of the question's search text."""
        if asked.kind != "compare" or len(asked.parts) < 2:
            found = self._searcher.found(asked, k, asked.filters)
            return found.ranked, found.vector
        share = max(2, k // len(asked.parts))
        sides = [
            self._searcher.search(replace(asked, search_text=part, kind="fact"), share, asked.filters)
            for part in asked.parts
        ]
        # In turns, so that the first paper of each side comes before the second of any.
        merged: dict[str, RankedPaper] = {}
        for place in range(share):
            for side in sides:
                if place < len(side):
                    merged.setdefault(side[place].paper.paper_id, side[place])
        ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate(merged.values(), start=1))
        return ranked, self._searcher.vector(asked)

    def _sentences(
        self,
        asked: Question,
        ranked: tuple[RankedPaper, ...],
        found: tuple[Evidence, ...],
        probability: float,
        numbering: Numbering,
        clock: _Clock,
        cancel: threading.Event | None,
        owner: str,
    ) -> Iterator[Event]:
        """Tokens as they come, and the sentences that stay, numbered.

        `probability` is how sure it is that the library holds an answer; the model's own refusal is weighed
        against it.
        """
        ready = self._without_model(asked, ranked, found)
        if ready or self._writer is None:
            for sentence in ready or compose.from_evidence(asked, ranked, found):
                yield SentenceChecked(numbering.number(sentence))
            return
        by_rank = {hit.rank: hit.paper for hit in ranked}
        prompt = prompting.build(
            asked,
            found,
            {hit.paper.paper_id: hit.paper for hit in ranked},
            budget=self._settings.evidence_tokens,
            count_tokens=self._writer.count_tokens,
        )
        papers = [(n, by_rank[n]) for n in prompt.numbers.values()]
        yield Stage("reading")
        firm = held = refused = False
        for piece in self._writer.write(prompt, cancel, owner):
            if isinstance(piece, Stage):
                yield piece
                continue
            if isinstance(piece, CutShort):
                clock.cut_short = True
                break
            if clock.first_token is None:
                clock.first_token = clock.now()
                yield Stage("writing")
            if isinstance(piece, Token):
                yield piece
                continue
            if refusal.is_refusal(piece.text):
                refused = True
                break
            checked = self._verifier.check(piece.text, papers, asked)
            if checked.support != "unsupported":
                held = True
                firm = firm or checked.support == "supported"
                yield SentenceChecked(numbering.number(checked))
        if cancel is not None and cancel.is_set():
            return
        # What is only partly supported does not stand alone: the abstract's own words follow.
        if not firm and (held or not refused or probability >= SURE):
            for sentence in compose.instead(asked, found):
                yield SentenceChecked(numbering.number(sentence))

    def _without_model(
        self, asked: Question, ranked: tuple[RankedPaper, ...], found: tuple[Evidence, ...]
    ) -> tuple[AnswerSentence, ...]:
        """What the program says better than the model: which paper, two sides, and that a premise is wrong."""
        if asked.kind == "compare":
            compared = comparing.sides(asked, ranked, found)
            alone = bool(compared) and bool(comparing.missing(asked, ranked))
            return comparing.sentences(compared) if len(compared) > 1 or alone else ()
        if asked.kind == "which":
            return compose.from_evidence(asked, ranked, found)
        wrong = premise.premise_mismatch(asked, found)
        return () if wrong is None else (compose.correction(asked, wrong.evidence),)

    def _list(self, asked: Question, clock: _Clock) -> Iterator[Event]:
        yield Stage("listing")
        matches = listing.find(asked, self._index, self._searcher)
        clock.retrieve = clock.now()
        ranked = tuple(
            RankedPaper(rank, match.paper, match.relevance, match.relevance, match.quote)
            for rank, match in enumerate(matches, start=1)
        )
        if ranked:
            clock.first_source = clock.retrieve
        yield Sources(ranked[: listing.SHOWN])
        if not matches:
            nearest = self._searcher.search(asked, self._settings.k, asked.filters)
            yield from self._abstain(asked, refusal.no_match(asked), nearest, clock, matches=())
            return
        numbering = Numbering({hit.rank: hit.paper for hit in ranked})
        sentences = [numbering.number(sentence) for sentence in listing.sentences(asked, matches[: listing.SHOWN])]
        for sentence in sentences:
            yield SentenceChecked(sentence)
        text = listing.render(asked, matches, sentences)
        shown = ranked[: listing.SHOWN]
        answer = self._answer(asked, "answered", sentences, numbering, shown, clock)
        yield Done(replace(answer, text=text, matches=matches))

    def _abstain(
        self,
        asked: Question,
        reason: str,
        nearest: tuple[RankedPaper, ...],
        clock: _Clock,
        matches: tuple[Match, ...] | None = None,
    ) -> Iterator[Event]:
        yield Abstained(reason, nearest)
        answer = self._answer(asked, "abstained", [], Numbering({}), nearest, clock)
        yield Done(replace(answer, text=reason, nearest=nearest, matches=matches))

    def _answer(
        self,
        asked: Question,
        status: Status,
        sentences: Sequence[AnswerSentence],
        numbering: Numbering,
        ranked: tuple[RankedPaper, ...],
        clock: _Clock,
    ) -> Answer:
        model = dict(NO_MODEL if self._writer is None else self._writer.description)
        model["prompts"] = prompts.fingerprint()
        # Lists, quotations and refusals before writing are the program's own work.
        model["wrote"] = clock.first_token is not None
        cut_short = CUT_SHORT_ZH if asked.language == "zh" else CUT_SHORT
        return Answer(
            question=asked,
            status=status,
            text=compose.text_of(sentences),
            sentences=tuple(sentences),
            citations=numbering.citations(sentences),
            passages=ranked,
            timings=clock.timings(),
            model=model,
            settings=self._settings.fingerprint(),
            notes=(cut_short.format(self._settings.answer_seconds),) if clock.cut_short else (),
        )
