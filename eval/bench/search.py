"""Searching libraries of several sizes: how long, where the time goes, and what the approximate index misses."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, cast

from eval.bench.clocked import EMBEDDING, SECOND, Clock, Clocked, exact, shares
from eval.bench.figures import exponent, middle, p95, recall
from eval.bench.setting import Bench, Raw, Section, Table
from eval.bench.texts import search_questions

NAME = "search"
QUESTIONS, QUICK_QUESTIONS = 60, 8
K = 10
MODES = ("HNSW", "exact")
DEPTHS = (10, 200)
COLUMNS = (EMBEDDING, "dense", "lexical", "vectors", "papers", SECOND)


def measure(bench: Bench) -> Raw:
    """Times of every question in every library, with both kinds of dense index, in turns."""
    from rag.search.retrieve import Searcher
    from rag.settings import load_settings
    from rag.store.index import Index

    # Each round and mode has questions of its own: what one has read, another must not find ready.
    turns = bench.rounds * len(MODES)
    pool = search_questions(turns * bench.size(QUESTIONS, QUICK_QUESTIONS))
    portions = [pool[turn::turns] for turn in range(turns)]
    found: list[Raw] = []
    with ExitStack() as stack:
        searchers: list[dict[str, tuple[Searcher, Clock]]] = []
        for sized in bench.sized:
            settings = load_settings(sized.home)
            index = stack.enter_context(Index.open(settings, bench.encoder))
            clocks = {mode: Clock() for mode in MODES}
            searchers.append(
                {
                    mode: (Searcher(cast(Index, Clocked(index, clock, exact=mode == "exact")), settings), clock)
                    for mode, clock in clocks.items()
                }
            )
            bench.say(f"  {sized.papers:,} papers")
            found.append(
                {
                    "size": sized.size,
                    "papers": sized.papers,
                    "recall": _recalls(index, portions[0]),
                    "total": {mode: [] for mode in MODES},
                    "stages": {mode: [] for mode in MODES},
                }
            )
        for by_mode in searchers:
            for searcher, _ in by_mode.values():
                searcher.search("language models", K)  # the first of all is slower than any other
        for number in range(bench.rounds):
            bench.say(f"  round {number + 1} of {bench.rounds}")
            for library, by_mode in zip(found, searchers, strict=True):
                for turn, (mode, (searcher, clock)) in enumerate(by_mode.items()):
                    totals, stages = _asked(searcher, clock, portions[len(MODES) * number + turn])
                    library["total"][mode].append(totals)
                    library["stages"][mode].append(stages)
    return {"questions": len(portions[0]), "libraries": found}


def _recalls(index: Any, questions: list[str]) -> dict[str, float]:
    """Mean share of the exact first n that the program's dense index finds, by n. Also warms both up."""
    vectors = index.encoder.encode(questions)
    deepest = max(DEPTHS)
    pairs = [
        ([row for row, _ in index.dense(vector, deepest)], [row for row, _ in exact(index, vector, deepest)])
        for vector in vectors
    ]
    return {str(n): sum(recall(near[:n], all_[:n]) for near, all_ in pairs) / len(pairs) for n in DEPTHS}


def _asked(searcher: Any, clock: Clock, questions: list[str]) -> tuple[list[float], dict[str, list[float]]]:
    """Milliseconds of each question, in total and by stage."""
    totals: list[float] = []
    stages: dict[str, list[float]] = {}
    clock.taken()
    for question in questions:
        began = time.perf_counter()
        searcher.search(question, K)
        total = time.perf_counter() - began
        totals.append(total * 1000)
        for stage, seconds in shares(clock.taken(), total).items():
            stages.setdefault(stage, [0.0] * (len(totals) - 1)).append(seconds * 1000)
        for values in stages.values():
            values += [0.0] * (len(totals) - len(values))
    return totals, stages


def report(raw: Raw) -> Section:
    """Median and 95th percentile by size and mode, medians of the stages, recall."""
    libraries = raw["libraries"]
    rows, split = [], []
    medians: dict[str, list[float]] = {mode: [] for mode in MODES}
    named = [stage for stage in COLUMNS if any(stage in stages_of(one, mode) for one in libraries for mode in MODES)]
    named += sorted({stage for one in libraries for mode in MODES for stage in stages_of(one, mode)} - set(named))
    for one in libraries:
        for mode in MODES:
            total = middle(one["total"][mode])
            medians[mode].append(total.median)
            rows.append(
                (
                    f"{one['papers']:,}",
                    mode,
                    f"**{total.median:.1f} ms**",
                    f"{total.low:.1f} – {total.high:.1f} ms",
                    f"{p95(one['total'][mode]):.1f} ms",
                    *(f"{one['recall'][str(n)]:.3f}" if mode == "HNSW" else "1" for n in DEPTHS),
                )
            )
            stages = stages_of(one, mode)
            split.append(
                (
                    f"{one['papers']:,}",
                    mode,
                    *(f"{stages[stage]:.1f} ms" if stage in stages else "–" for stage in named),
                )
            )
    ratios = {
        f"search: exact / HNSW, {one['size']:,} papers": exact_one / hnsw
        for one, exact_one, hnsw in zip(libraries, medians["exact"], medians["HNSW"], strict=True)
    }
    last, notes = libraries[-1], []
    if len(libraries) > 1:
        growth = medians["HNSW"][-1] / medians["HNSW"][0]
        ratios[f"search: {last['size']:,} papers / {libraries[0]['size']:,}, HNSW"] = growth
        slope = exponent([one["papers"] for one in libraries], medians["HNSW"])
        sizes = f"From {libraries[0]['papers']:,} to {last['papers']:,} papers"
        notes.append(f"{sizes} the median grows {growth:.2f}-fold, about as papers to the power of {slope:.2f}.")
    notes.append(
        f"{raw['questions']} new questions in each of {len(last['total']['HNSW'])} rounds, the {K} best papers, second "
        "stage included; spread is that of the rounds' medians, the 95th percentile is over all. Recall is the share "
        f"of the exact first {' and '.join(map(str, DEPTHS))} that the index finds."
    )
    notes.append("The second stage is what no other stage covers: features, scores and ordering.")
    return Section(
        "Searching",
        (
            Table(("papers", "dense", "median", "spread", "p95", *(f"recall of {n}" for n in DEPTHS)), tuple(rows)),
            Table(("papers", "dense", *named), tuple(split)),
        ),
        ratios,
        notes,
    )


def stages_of(library: Raw, mode: str) -> dict[str, float]:
    """Median milliseconds of each stage: the median of the rounds' medians."""
    rounds = library["stages"][mode]
    names = dict.fromkeys(stage for one in rounds for stage in one)
    return {stage: middle([one[stage] for one in rounds if stage in one]).median for stage in names}
