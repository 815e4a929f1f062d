"""Choose the weights of the search on question sets, and print what each feature gains.

    python -m eval.tune_retrieval --home HOME --set litsearch_dev.jsonl --set tldr_dev.jsonl [--write]

HOME is a library that holds the sets' relevant papers. Every figure of the table is measured on questions that had no
part in choosing its weights (five folds). With --write the weights chosen on all questions go to
rag/data/retrieval.json, under the embedder's fingerprint and as the default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from eval.sets import read_set
from rag.question.understand import understand
from rag.search.fusion import NAMES
from rag.search.retrieve import Searcher
from rag.store.index import Index
from rag.types import Filters

FloatArray = NDArray[np.float32]
DEPTH = 120  # candidates kept of each question; the search itself looks at fewer
FOLDS = 5
RIDGE = 1e-3  # keeps weights near each other where the data do not tell them apart
STEPS = 150
FIRST = ("whole", "sentence", "bm25")
SECOND = ("lexical", "coverage", "title", "title_words", "adjacent", "abbreviation", "phrases", "feedback")
RELEVANCE = ("whole", "sentence", "lexical", "coverage")
TARGET = Path(__file__).parent.parent / "rag" / "data" / "retrieval.json"
NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class Case:
    """A question's candidates: their features (n, len(NAMES)) and which of them are relevant (n,)."""

    table: FloatArray
    relevant: NDArray[np.bool_]


def collect(searcher: Searcher, index: Index, path: Path) -> list[Case]:
    """The cases of one question set. A question whose relevant paper is no candidate has none marked."""
    cases = []
    for item in read_set(path).items:
        wanted = {paper.paper_id for name in item.relevant if (paper := index.find(name)) is not None}
        scored = searcher.score(understand(item.question, item.history, index, None, item.filters), depth=DEPTH)
        table = np.array([astuple(each.features) for each in scored], np.float32).reshape(-1, len(NAMES))
        cases.append(Case(table, np.array([each.paper.paper_id in wanted for each in scored], np.bool_)))
    return cases


def choose(cases: Sequence[Case], shares: Sequence[float], names: Sequence[str]) -> dict[str, float]:
    """Weights (none negative) under which the relevant paper is likeliest, by softmax over a question's candidates.

    `shares` says how much each case counts. Gradient descent with a falling step; the problem is convex.
    """
    columns = [NAMES.index(name) for name in names]
    usable = [(case, share) for case, share in zip(cases, shares, strict=True) if case.relevant.any()]
    table = np.zeros((len(usable), DEPTH, len(columns)), np.float32)
    empty = np.ones((len(usable), DEPTH), np.bool_)
    for at, (case, _) in enumerate(usable):
        table[at, : len(case.table)] = case.table[:, columns]
        empty[at, : len(case.table)] = False
    gold = np.array([case.table[case.relevant.argmax(), columns] for case, _ in usable])
    share_of = np.array([share for _, share in usable]) / sum(share for _, share in usable)
    weights = np.full(len(columns), 5.0)
    moment, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = np.where(empty, -np.inf, table @ weights.astype(np.float32))
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely *= (share_of / likely.sum(axis=1))[:, None]
        gradient = np.einsum("qn,qnf->f", likely, table) - share_of @ gold + 2 * RIDGE * weights
        # Adam (Kingma and Ba, 2015), with steps that end small.
        moment = 0.9 * moment + 0.1 * gradient
        spread = 0.99 * spread + 0.01 * gradient**2
        size = 0.5 * (1 - step / (STEPS + 1))
        weights -= size * (moment / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights, 0.0)
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}


def place(case: Case, weights: Mapping[str, float]) -> int:
    """Place of the relevant paper from 0 on, ties against it; a large number where it is no candidate."""
    if not case.relevant.any():
        return 10**6
    scores = case.table @ np.array([weights.get(name, 0.0) for name in NAMES], np.float32)
    return int((scores >= scores[case.relevant].max()).sum()) - 1


def calibrate(cases: Sequence[Case], rank: Mapping[str, float], shares: Sequence[float]) -> dict[str, float]:
    """Logistic weights for the probability that a paper bears on the question.

    Relevant papers against the best others: of the same questions, and of questions whose papers are not in the
    library, which have nothing marked.
    """
    rows, labels, counts = [], [], []
    columns = [NAMES.index(name) for name in RELEVANCE]
    order = np.array([rank.get(name, 0.0) for name in NAMES], np.float32)
    for case, share in zip(cases, shares, strict=True):
        others = np.argsort(-(case.table @ order))
        for row in [*np.flatnonzero(case.relevant), *(i for i in others if not case.relevant[i])][:10]:
            rows.append([1.0, *case.table[row, columns]])
            labels.append(float(case.relevant[row]))
            counts.append(share if case.relevant[row] else share / 9)
    table, wanted, weight = np.array(rows), np.array(labels), np.array(counts)
    found = np.zeros(table.shape[1])
    for _ in range(50):  # Newton's method
        likely = 1 / (1 + np.exp(-table @ found))
        slope = table.T @ (weight * (likely - wanted)) + RIDGE * found
        bend = (table * (weight * likely * (1 - likely))[:, None]).T @ table + RIDGE * np.eye(len(found))
        found -= np.linalg.solve(bend, slope)
    return dict(zip(("constant", *RELEVANCE), (round(float(value), 3) for value in found), strict=True))


def held_out(sets: Sequence[Sequence[Case]], names: Sequence[str], shares: Sequence[float]) -> list[list[int]]:
    """Places by set, each measured with weights chosen on the other folds."""
    rng = np.random.default_rng(0)
    folds = [rng.permutation(len(cases)) % FOLDS for cases in sets]
    places = [[0] * len(cases) for cases in sets]
    for fold in range(FOLDS):
        chosen = [
            (case, share)
            for cases, fold_of, share in zip(sets, folds, shares, strict=True)
            for case, own in zip(cases, fold_of, strict=True)
            if own != fold
        ]
        weights = choose([case for case, _ in chosen], [share for _, share in chosen], names)
        for which, cases in enumerate(sets):
            for at, case in enumerate(cases):
                if folds[which][at] == fold:
                    places[which][at] = place(case, weights)
    return places


def row(name: str, places: Sequence[Sequence[int]]) -> str:
    """A line of the table: R@1, R@5 and R@20 for each set."""
    cells = [
        " / ".join(f"{np.mean(np.array(found) < top):.3f}".removeprefix("0") for top in (1, 5, 20)) for found in places
    ]
    return f"| {name} | {' | '.join(cells)} |"


def report(sets: Mapping[str, Sequence[Case]]) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The table, and the weights chosen on all questions. Small sets count as much as large ones."""
    cases = list(sets.values())
    most = max(map(len, cases))
    shares = [most / len(found) for found in cases]
    lines = [f"| features | {' | '.join(sets)} (R@1 / R@5 / R@20) |", "| --- |" + " --- |" * len(sets)]
    lines += [
        row(f"{name} alone", [[place(case, {name: 1.0}) for case in found] for found in cases])
        for name in ("bm25", "whole", "sentence")
    ]
    lines.append(row("first stage: " + " + ".join(FIRST), held_out(cases, FIRST, shares)))
    base = ("whole", "sentence", "lexical")
    lines.append(row("lexical for bm25", held_out(cases, base, shares)))
    lines += [row(f"  and {name}", held_out(cases, (*base, name), shares)) for name in SECOND[1:]]
    everything = ("whole", "sentence", *SECOND)
    lines.append(row("all", held_out(cases, everything, shares)))
    flat = [case for found in cases for case in found]
    counts = [share for found, share in zip(cases, shares, strict=True) for _ in found]
    rank = choose(flat, counts, everything)
    return lines, {"first": choose(flat, counts, FIRST), "rank": rank}


@click.command()
@click.option("--home", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--set", "sets", type=click.Path(path_type=Path, exists=True), multiple=True, required=True)
@click.option(
    "--absent",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="sets whose papers are not in the library, for the calibration",
)
@click.option("--write", is_flag=True, help="put the weights into rag/data/retrieval.json")
def main(home: Path, sets: tuple[Path, ...], absent: tuple[Path, ...], write: bool) -> None:
    """Measure the features of the search and choose their weights."""
    from rag import Library

    with Library.open(home) as library:
        searcher = Searcher(library.index, library.settings)
        run(searcher, library.index, sets, absent, write)


def run(searcher: Searcher, index: Index, sets: Sequence[Path], absent: Sequence[Path], write: bool) -> None:
    """What the command does, on an open index."""
    found = {path.stem: collect(searcher, index, path) for path in sets}
    lines, weights = report(found)
    strangers = [case for path in absent for case in collect(searcher, index, path)]
    known = [case for cases in found.values() for case in cases]
    shares = [1.0] * len(known) + [len(known) / max(1, len(strangers))] * len(strangers)
    weights["relevance"] = calibrate([*known, *strangers], weights["rank"], shares)
    click.echo("\n".join(lines))
    click.echo(json.dumps(weights, indent=2))
    if write:
        table = json.loads(TARGET.read_text(encoding="utf-8"))
        table[index.encoder.fingerprint] = table["default"] = weights
        TARGET.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
