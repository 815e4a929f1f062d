"""A library for tests of the interfaces: the public methods of `rag.library.Library`, answers made on the spot."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rag.errors import InputError
from rag.events import (
    Abstained,
    Done,
    Event,
    EvidenceFound,
    SentenceChecked,
    Sources,
    Stage,
    Token,
    Understood,
)
from rag.settings import Settings
from rag.store.records import Order
from rag.types import (
    Answer,
    AnswerSentence,
    Citation,
    Evidence,
    Filters,
    Match,
    Paper,
    Question,
    RankedPaper,
    Source,
    Span,
    Timings,
    Turn,
)

NO_FILTERS = Filters()
HOSTILE = "</p><script>window.broken=1</script><img src=x onerror='window.broken=2'> [here](javascript:alert(1))"
_PAPERS = (
    (
        "KiteNet: Steering Small Kites by Sound",
        "KiteNet steers a small kite by the sound of its line. It needs 12 W "
        "and $O(n \\log n)$ time. In wind tunnels it stays aloft for 41 minutes.",
        ("A. Example", "B. Example"),
        "WINDCONF",
        2023,
        "https://example.org/kitenet",
    ),
    (
        "LoomQA: Questions over Woven Tables",
        "LoomQA answers questions over woven tables. A table costs between $5 "
        "and $10 to weave. It reaches 81.4% accuracy on 3 benchmarks.",
        ("C. Example",),
        "LOOMS",
        2024,
        None,
    ),
    (
        "Tides as Clocks",
        f"Tides keep time to within 4 minutes. {HOSTILE} The clock is made of oak.",
        (),
        "WINDCONF",
        2024,
        "javascript:alert(1)",
    ),
    ("风筝与潮汐：一种联合模型", "我们把风筝与潮汐放在同一个模型中。误差为 3%。", ("王例",), "LOOMS", 2024, None),
    ("مقدمة في النسيج", "هذه ورقة عن النسيج اليدوي. تبلغ الدقة 90%.", ("مثال",), None, 2022, None),
    (
        "SaltBench: Measuring Salt in Soup",
        "SaltBench measures salt in soup with error $\\epsilon < 0.1$.",
        (),
        "LOOMS",
        2022,
        None,
    ),
)


def make_papers() -> tuple[Paper, ...]:
    """Six invented papers, one hostile, one Chinese, one written from right to left."""
    return tuple(
        Paper(
            f"p{place}",
            title,
            abstract,
            authors=authors,
            venue=venue,
            year=year,
            url=url,
            sources=(Source("/tmp/list.txt", place),),
        )
        for place, (title, abstract, authors, venue, year, url) in enumerate(_PAPERS, start=1)
    )


def first_span(paper: Paper) -> Span:
    end = paper.abstract.find(". ") + 1 or len(paper.abstract)
    return Span(0, end, paper.abstract[:end])


class FakeLibrary:
    """Answers from its first papers; `pause` seconds between events. `asked` records every question with its arguments.

    A question with "nothing" in it is refused, with "list" or "how many" counted, with "fail" fails, with "slow" writes
    for ten minutes unless stopped.
    """

    def __init__(self, home: Path, papers: Sequence[Paper] | None = None, pause: float = 0.0) -> None:
        self.settings = Settings(home=home, llm="none")
        self.kept = list(make_papers() if papers is None else papers)
        self.pause = pause
        self.asked: list[tuple[str, tuple[Turn, ...], Filters]] = []
        self.cancelled = threading.Event()

    def writer(self, reference: str, progress: object = None) -> None:
        """No model."""

    def _ranked(self, filters: Filters = NO_FILTERS, k: int = 5) -> tuple[RankedPaper, ...]:
        chosen = [paper for paper in self.kept if _passes(paper, filters)]
        return tuple(
            RankedPaper(rank, paper, 1 / rank, 0.95 / rank, first_span(paper))
            for rank, paper in enumerate(chosen[:k], start=1)
        )

    def search(self, query: str, k: int = 10, filters: Filters = NO_FILTERS) -> tuple[RankedPaper, ...]:
        if not query.strip():
            raise InputError("The query is empty; give some words.")
        return self._ranked(filters, k)

    def similar(self, reference: str, k: int = 5) -> tuple[RankedPaper, ...]:
        own = self.paper(reference).paper_id
        return tuple(hit for hit in self._ranked() if hit.paper.paper_id != own)[:k]

    def count(self, filters: Filters = NO_FILTERS, text: str | None = None, source: str | None = None) -> int:
        return len(self.papers(filters, text, source))

    def papers(
        self,
        filters: Filters = NO_FILTERS,
        text: str | None = None,
        source: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        order: Order = "added",
        descending: bool = False,
    ) -> tuple[Paper, ...]:
        found = [
            paper
            for paper in self.kept
            if _passes(paper, filters) and (not text or text.lower() in (paper.title + paper.abstract).lower())
        ]
        if order != "added":
            found.sort(key=lambda paper: str(getattr(paper, order) or "").casefold(), reverse=descending)
        return tuple(found[offset : None if limit is None else offset + limit])

    def venue_counts(self) -> list[tuple[str, int]]:
        return Counter(paper.venue for paper in self.kept if paper.venue).most_common()

    def year_counts(self) -> list[tuple[int, int]]:
        return sorted(Counter(paper.year for paper in self.kept if paper.year).items())

    def paper(self, reference: str) -> Paper:
        for paper in self.kept:
            if reference in (paper.paper_id, paper.title):
                return paper
        raise InputError(f"No paper in the library is known as {reference!r}.")

    def remove(self, references: Iterable[str]) -> int:
        gone = {self.paper(reference).paper_id for reference in references}
        self.kept = [paper for paper in self.kept if paper.paper_id not in gone]
        return len(gone)

    def ask(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = NO_FILTERS,
        k: int | None = None,
        llm: str | None = None,
    ) -> Answer:
        return next(e.answer for e in self.stream(question, history, filters, k) if isinstance(e, Done))

    def stream(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = NO_FILTERS,
        k: int | None = None,
        cancel: threading.Event | None = None,
        llm: str | None = None,
        owner: str = "",
    ) -> Iterator[Event]:
        self.asked.append((question, tuple(history), filters))
        if not question.strip():
            raise InputError("The question is empty; type one.")
        standalone = f"{question} (of what was said before)" if history else question
        asked = Question(
            question,
            standalone,
            "what of it" if _is_chinese(question) else standalone,
            filters=filters,
            language="zh" if _is_chinese(question) else "en",
        )
        ranked = self._ranked(filters, k or 5)
        yield Stage("understanding")
        yield Understood(asked)
        if "list" in question.lower() or "how many" in question.lower():
            yield from self._list(asked, filters)
            return
        yield Stage("searching")
        yield Sources(ranked)
        self._wait(1)
        if "nothing" in question.lower() or not ranked:
            yield Abstained("None of the abstracts is about this.", ranked)
            yield Done(_answer(asked, (), {}, ranked, "None of the abstracts is about this.", nearest=ranked))
            return
        yield EvidenceFound(tuple(Evidence(h.rank, h.paper.paper_id, h.quote, h.score) for h in ranked[:3]))
        yield Stage("reading")
        self._wait(2)
        yield Stage("writing")
        if "fail" in question.lower():
            raise RuntimeError("a defect")
        sentences: list[AnswerSentence] = []
        chosen = [ranked[0], *ranked[1:3]]
        for n, hit in enumerate(chosen, start=1):
            for word in hit.quote.text.split(" "):
                if cancel is not None and cancel.is_set():
                    self.cancelled.set()
                    break
                yield Token(word + " ")
                self._wait(0.2)
            if cancel is not None and cancel.is_set() and sentences:
                break
            sentence = AnswerSentence(
                hit.quote.text,
                (n,),
                "partial" if n == 2 else "supported",
                (Evidence(n, hit.paper.paper_id, hit.quote, hit.score),),
            )
            sentences.append(sentence)
            yield SentenceChecked(sentence)
        if "slow" in question.lower():
            try:
                for _ in range(6000):
                    if cancel is not None and cancel.is_set():
                        self.cancelled.set()
                        break
                    yield Token("and ")
                    time.sleep(0.1)
            except GeneratorExit:  # closed by who reads: stopped as well
                self.cancelled.set()
                raise
        text = " ".join(f"{s.text[:-1]} [{s.citations[0]}]{s.text[-1]}" for s in sentences)
        yield Done(_answer(asked, tuple(sentences), {n: h.paper for n, h in enumerate(chosen, 1)}, ranked, text))

    def _list(self, asked: Question, filters: Filters) -> Iterator[Event]:
        yield Stage("listing")
        ranked = self._ranked(filters, 50)
        yield Sources(ranked)
        matches = tuple(Match(hit.paper, hit.relevance, hit.quote) for hit in ranked)
        answer = _answer(asked, (), {hit.rank: hit.paper for hit in ranked}, ranked, f"{len(matches)} papers match.")
        yield Done(Answer(**{f: getattr(answer, f) for f in answer.__slots__} | {"matches": matches}))

    def _wait(self, times: float) -> None:
        if self.pause:
            time.sleep(self.pause * times)


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= c <= "\u9fff" for c in text)


def _passes(paper: Paper, filters: Filters) -> bool:
    if filters.venue and filters.venue.lower() not in (paper.venue or "").lower():
        return False
    if filters.year_from and (paper.year or 0) < filters.year_from:
        return False
    return not (filters.year_to and (paper.year or 9999) > filters.year_to)


def _answer(
    asked: Question,
    sentences: tuple[AnswerSentence, ...],
    cited: dict[int, Paper],
    ranked: tuple[RankedPaper, ...],
    text: str,
    **more: Any,
) -> Answer:
    return Answer(
        asked,
        "abstained" if more else "answered",
        text,
        sentences,
        tuple(Citation(n, paper, first_span(paper).text) for n, paper in cited.items()),
        ranked,
        Timings(2.0, 30.0, 40.0, 900.0, 2100.0),
        {"name": "a fake"},
        "000000000000",
        **more,
    )


def built(library: FakeLibrary, warm: bool = False) -> Any:
    """The application over `library`; `warm` loads its model.

    Made inside a running loop: without one Gradio makes a loop for each page and leaves it open.
    """

    async def make() -> Any:
        from ui.app import build

        return build(library, warm=warm)  # type: ignore[arg-type]

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, make()).result()
