"""Answering: the program and the tutorial pipeline, each in a process of its own, question by question in turns."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from eval.answers import found_facts
from eval.bench.figures import Spread, middle, p95, ratios, spread
from eval.bench.setting import Bench, Raw, Section, Table, gigabytes, ms, times
from eval.bench.texts import SEEDS, fact_questions, text_of
from eval.bench.worker import Job, Worker

NAME = "answer"
QUESTIONS, QUICK_QUESTIONS = 20, 2
AGAIN, QUICK_AGAIN = 4, 1  # of them, those asked again in each further round
OURS, BASELINE = "abstract-qa", "tutorial"
FIGURES = ("first_source", "first_token", "total")


def measure(bench: Bench) -> Raw:
    """Times, texts and facts of every question from both; memory of both processes at the end."""
    items = fact_questions(bench.size(QUESTIONS, QUICK_QUESTIONS), seeds=SEEDS.is_dir())
    small = bench.libraries.small()
    store = tutorial_store(bench)
    with ExitStack() as stack:
        workers = {
            OURS: stack.enter_context(Worker(Job("ours", str(small.home), bench.reference))),
            BASELINE: stack.enter_context(
                Worker(Job("baseline", str(store), str(bench.model_folder), str(bench.embedder)))
            ),
        }
        for worker in workers.values():
            # The first answer of a process is slower than any other.
            worker.ask(items[0].question)
        rounds: list[list[Raw]] = []
        for number in range(bench.rounds):
            bench.say(f"  round {number + 1} of {bench.rounds}")
            again = bench.size(AGAIN, QUICK_AGAIN)
            asked = items if number == 0 else items[:: max(1, len(items) // again)][:again]
            rounds.append(
                [
                    {"id": item.id} | {name: _answered(worker, item) for name, worker in workers.items()}
                    for item in asked
                ]
            )
        memory = {name: worker.memory() for name, worker in workers.items()}
        about = {name: worker.about for name, worker in workers.items()}
    return {"papers": small.papers, "model": bench.model.name, "about": about, "rounds": rounds, "memory": memory}


def tutorial_store(bench: Bench) -> Path:
    """A folder with the tutorial pipeline's store of the small library's papers, made once."""
    from eval.bench import baseline
    from rag.library import Library

    small = bench.libraries.small()
    folder = small.home.with_name(f"tutorial-{small.home.name}")
    if not (folder / "chroma.sqlite3").is_file():
        with Library.open(small.home, embed=False) as library:
            texts = [text_of(paper) for paper in library.papers()]
        baseline.ingest(texts, baseline.HuggingFaceEmbeddings(bench.embedder), folder)
    return folder


def _answered(worker: Worker, item: Any) -> Raw:
    found = worker.ask(item.question)
    judged = {"answer": found["answer"], "status": found.get("status", "answered")}
    facts = found_facts(item, judged)
    return found | {"facts": sum(facts) / len(facts)}


def rate(found: Raw) -> float | None:
    """Tokens a second from the first to the last; None where none were written."""
    if found["first_token"] is None or found["tokens"] < 2 or found["total"] <= found["first_token"]:
        return None
    return float((found["tokens"] - 1) / (found["total"] - found["first_token"]) * 1000)


def report(raw: Raw) -> Section:
    """Medians of both and the tutorial's as a multiple of ours."""
    rounds = raw["rounds"]
    rows: list[tuple[str, ...]] = []
    found_ratios: dict[str, float] = {}
    for figure in FIGURES:
        pairs = [
            [(row[OURS][figure], row[BASELINE][figure]) for row in one if row[OURS][figure] and row[BASELINE][figure]]
            for one in rounds
        ]
        if not all(pairs):
            continue
        by_round = [ratios([two for _, two in one], [first for first, _ in one]).median for one in pairs]
        every = ratios([two for one in pairs for _, two in one], [first for one in pairs for first, _ in one])
        ratio = Spread(every.median, min(by_round), max(by_round), every.n)
        found_ratios[f"answer: {BASELINE} / {OURS}, {figure.replace('_', ' ')}"] = ratio.median
        cells = [[[pair[side] for pair in one] for one in pairs] for side in (0, 1)]
        shown = [f"{ms(_all(one).median)} (p95 {ms(p95(one))})" for one in cells]
        rows.append((figure.replace("_", " "), *shown, times(ratio)))
    speeds = {
        name: [speed for one in rounds for row in one if (speed := rate(row[name])) is not None]
        for name in (OURS, BASELINE)
    }
    if all(speeds.values()):
        medians = {name: spread(values) for name, values in speeds.items()}
        ratio_of_speeds = medians[OURS].median / medians[BASELINE].median
        found_ratios[f"answer: {OURS} / {BASELINE}, tokens a second"] = ratio_of_speeds
        rows.append(
            (
                "tokens/s after the first",
                *(f"{each.median:.1f} ({each.low:.1f} – {each.high:.1f})" for each in medians.values()),
                f"abstract-qa **{ratio_of_speeds:.2f}** times as fast",
            )
        )
    facts = {name: sum(row[name]["facts"] for row in rounds[0]) / len(rounds[0]) for name in (OURS, BASELINE)}
    rows.append(("fact recall", f"{facts[OURS]:.3f}", f"{facts[BASELINE]:.3f}", ""))
    rows.append(("tokens of the answer", *(_tokens(rounds, name) for name in (OURS, BASELINE)), ""))
    peaks = {name: raw["memory"][name]["peak"] for name in (OURS, BASELINE)}
    rows.append(("peak memory", *(gigabytes(peak) for peak in peaks.values()), _over(peaks)))
    prompt = middle([[row[BASELINE]["prompt_tokens"] for row in rounds[0]]]).median
    return Section(
        "Answering",
        (Table(("figure", OURS, BASELINE, "tutorial / abstract-qa"), tuple(rows)),),
        found_ratios,
        (
            f"{len(rounds[0])} questions about {raw['papers']} papers with {raw['model']}, "
            f"{len(rounds[1]) if len(rounds) > 1 else 0} of them asked again in each of {len(rounds) - 1} more rounds; "
            "the spread of a ratio is that of the rounds' medians.",
            f"Both in a process of their own, at most the same number of new tokens. The tutorial's model is "
            f"in {str(raw['about'][BASELINE]['dtype']).removeprefix('torch.')}, its prompt {prompt:.0f} tokens long at "
            "the median. A figure counts the questions where both have it: some answers need no model here.",
        ),
    )


def _all(rounds: list[list[float]]) -> Spread:
    return spread([number for one in rounds for number in one])


def _tokens(rounds: list[list[Raw]], name: str) -> str:
    return f"{spread([row[name]['tokens'] for one in rounds for row in one]).median:.0f}"


def _over(peaks: dict[str, int | None]) -> str:
    ours, other = peaks[OURS], peaks[BASELINE]
    return f"**{other / ours:.2f}**" if ours and other else ""
