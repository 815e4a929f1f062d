"""Starting: from the start of a process to its first answer, and what `abstract-qa --help` costs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from eval.bench.answer import BASELINE, OURS, tutorial_store
from eval.bench.figures import ratios, spread
from eval.bench.setting import Bench, Raw, Section, Table, ms, times
from eval.bench.texts import SEEDS, fact_questions
from eval.bench.worker import Job, Worker

NAME = "startup"
HELPS = 5
NO_MODEL = "abstract-qa without a model"
STEPS = {"ready": "ready", "first_source": "first source", "first_token": "first token", "answer": "first answer"}
WARM = "the same question again"


def measure(bench: Bench) -> Raw:
    """Milliseconds since the process was started, per step and round; nothing is dropped from the file cache."""
    question = fact_questions(1, seeds=SEEDS.is_dir())[0].question
    home = str(bench.libraries.small().home)
    jobs = {
        OURS: Job("ours", home, bench.reference),
        NO_MODEL: Job("ours", home, "none"),
        BASELINE: Job("baseline", str(tutorial_store(bench)), str(bench.model_folder), str(bench.embedder)),
    }
    command = [str(Path(sys.executable).with_name("abstract-qa")), "--help"]
    helps: dict[str, list[float]] = {"abstract-qa --help": [], "python -c pass": []}
    for _ in range(bench.size(HELPS, 3)):
        helps["abstract-qa --help"].append(_run(command))
        helps["python -c pass"].append(_run([sys.executable, "-c", "pass"]))
    starts: dict[str, list[Raw]] = {name: [] for name in jobs}
    for number in range(bench.rounds):
        bench.say(f"  round {number + 1} of {bench.rounds}")
        for name, job in jobs.items():
            with Worker(job) as worker:
                worker.ask(question)
                started = dict(worker.started)
                # The tutorial's answers are timed in their own part.
                warm = None if name == BASELINE else worker.ask(question)["total"]
            starts[name].append({"steps": started, "warm": warm})
    return {"helps": helps, "starts": starts, "model": bench.model.name}


def _run(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def report(raw: Raw) -> Section:
    """Medians of each step; the tutorial's first answer as a multiple of ours."""
    rows = []
    for name, rounds in raw["starts"].items():
        cells = []
        for step in STEPS:
            values = [one["steps"][step] for one in rounds if step in one["steps"]]
            cells.append(f"{ms(spread(values).median)} ({ms(min(values))} – {ms(max(values))})" if values else "–")
        warm = [one["warm"] for one in rounds if one["warm"] is not None]
        rows.append((name, *cells, ms(spread(warm).median) if warm else "–"))
    firsts = {name: [one["steps"]["answer"] for one in rounds] for name, rounds in raw["starts"].items()}
    ratio = ratios(firsts[BASELINE], firsts[OURS])
    helps = {name: spread(values) for name, values in raw["helps"].items()}
    cost = ratios(*raw["helps"].values())
    shown = [(f"`{name}`", f"{ms(each.median)} ({ms(each.low)} – {ms(each.high)})") for name, each in helps.items()]
    return Section(
        "Starting",
        (
            Table(("process start until", *STEPS.values(), WARM), tuple(rows)),
            Table(("command", "time"), tuple(shown)),
        ),
        {f"startup: {BASELINE} / {OURS}, first answer": ratio.median, "startup: --help / bare Python": cost.median},
        (
            f"First answer: tutorial / abstract-qa {times(ratio)}. `--help` / bare Python {times(cost)}.",
            f"With {raw['model']} on the small library. Each start is a new process; models and libraries are on disk, "
            "and nothing is dropped from the system's file cache.",
        ),
    )
