"""How starting, answering, reading more papers in and memory grow with the library."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from eval.bench.figures import exponent, line, middle, spread
from eval.bench.ingest import ours
from eval.bench.libraries import Sized
from eval.bench.setting import Bench, Raw, Section, Table, gigabytes, ms, value
from eval.bench.texts import made, questions_about, write_papers
from eval.bench.worker import Job, Worker

NAME = "growth"
QUESTIONS, QUICK_QUESTIONS = 10, 3
WRITTEN, QUICK_WRITTEN = 4, 1
ADDED, QUICK_ADDED = 256, 16
# Papers are added to a copy; a larger library is not copied.
LARGEST_COPY = 45_000


def measure(bench: Bench) -> Raw:
    """By library: milliseconds of starts and answers, bytes in memory and on disk, papers a second when adding."""
    found: list[Raw] = [
        {"size": one.size, "papers": one.papers, "disk": _disk(one.home), "starts": [], "answers": [], "memory": []}
        for one in bench.sized
    ]
    questions = [_questions(one.home, bench.size(QUESTIONS, QUICK_QUESTIONS)) for one in bench.sized]
    for number in range(bench.rounds):
        bench.say(f"  round {number + 1} of {bench.rounds}")
        for one, sized, asked in zip(found, bench.sized, questions, strict=True):
            with Worker(Job("ours", str(sized.home), "none")) as worker:
                worker.ask(asked[0])
                one["starts"].append(dict(worker.started))
                one["answers"].append([_times(worker.ask(question)) for question in asked])
                one["memory"].append(worker.memory())
    bench.say("  with the model")
    for one, sized, asked in zip(found, bench.sized, questions, strict=True):
        with Worker(Job("ours", str(sized.home), bench.reference)) as worker:
            worker.ask(asked[0])
            one["written"] = [_times(worker.ask(question)) for question in asked[: bench.size(WRITTEN, QUICK_WRITTEN)]]
    bench.say("  adding papers")
    for one, sized in zip(found, bench.sized, strict=True):
        one["added"] = _added(bench, sized) if sized.papers <= LARGEST_COPY else []
    return {"model": bench.model.name, "libraries": found}


def _times(answer: Raw) -> Raw:
    return {name: answer[name] for name in ("first_source", "first_token", "total", "status")}


def _questions(home: Path, count: int) -> list[str]:
    from rag.library import Library

    with Library.open(home, embed=False) as library:
        # The same papers in each library that is part of a larger one.
        return questions_about(library.papers(limit=1000), count)


def _added(bench: Bench, sized: Sized) -> list[float]:
    """Papers a second when new ones are added to a copy of a library, round by round."""
    count = bench.size(ADDED, QUICK_ADDED)
    rates = []
    with tempfile.TemporaryDirectory(dir=bench.work) as place:
        home = Path(place) / "copy"
        shutil.copytree(sized.home, home, ignore=shutil.ignore_patterns("models", "*.lock"))
        for number in range(bench.rounds):
            source = write_papers(Path(place) / f"{number}.jsonl", made(count, skip=10_000 + number * count))
            rates.append(count / ours(source, home, bench.encoder))
    return rates


def _disk(home: Path) -> int:
    """Bytes of a library on disk, models left out."""
    files = (path for path in home.rglob("*") if path.is_file() and "models" not in path.relative_to(home).parts)
    return sum(path.stat().st_size for path in files)


def report(raw: Raw) -> Section:
    """A line for each library, growth as a power of the papers, and ratios of the largest to the smallest."""
    rows = []
    for one in raw["libraries"]:
        added = spread(one["added"]) if one["added"] else None
        rows.append(
            (
                f"{one['papers']:,}",
                ms(started(one)),
                ms(answered(one, "first_source")),
                ms(answered(one, "total")),
                ms(spread([each["total"] for each in one["written"]]).median),
                value(added) if added else "–",
                gigabytes(resident(one)),
                gigabytes(one["disk"]),
            )
        )
    libraries, ratios, notes = raw["libraries"], dict[str, float](), []
    if len(libraries) > 1:
        first, last = libraries[0], libraries[-1]
        named = f"{last['size']:,} papers / {first['size']:,}"
        ratios[f"growth: first answer of a process, {named}"] = started(last) / started(first)
        ratios[f"growth: answer without a model, {named}"] = answered(last, "total") / answered(first, "total")
        sizes = [one["papers"] for one in libraries]
        power = exponent(sizes, [answered(one, "total") for one in libraries])
        notes.append(f"An answer without a model grows as papers to the power of {power:.2f}.")
        measured = [resident(one) for one in libraries]
        if all(measured):
            constant, slope = line(sizes, [number or 0.0 for number in measured])
            each = f"{slope * 1e3 / 1e6:.1f} MB for each 1,000 papers, by least squares."
            notes.append(f"Memory without a model: {constant / 1e9:.2f} GB and {each}")
        _, slope = line(sizes, [one["disk"] for one in libraries])
        notes.append(f"Disk: {slope * 1e3 / 1e6:.0f} MB for each 1,000 papers.")
    notes.append(
        f"Without a model unless said; with {raw['model']} each library answers {len(libraries[0]['written'])} "
        "questions. The questions name papers' titles, the same ones in each library that holds them. Papers are added "
        "to a copy."
    )
    return Section(
        "Growth with the library",
        (
            Table(
                (
                    "papers",
                    "process start to first answer",
                    "first source",
                    "answer",
                    "answer with the model",
                    "papers/s added",
                    "memory",
                    "disk",
                ),
                tuple(rows),
            ),
        ),
        ratios,
        notes,
    )


def started(library: Raw) -> float:
    """Median milliseconds from the start of a process to its first answer."""
    return spread([one["answer"] for one in library["starts"]]).median


def answered(library: Raw, figure: str) -> float:
    """Median milliseconds of answers without a model: the median of the rounds' medians."""
    return middle([[each[figure] or each["total"] for each in one] for one in library["answers"]]).median


def resident(library: Raw) -> float | None:
    """Median bytes in memory after answers without a model; None where the system does not say."""
    values: list[Any] = [one["resident"] for one in library["memory"] if one["resident"]]
    return spread(values).median if values else None
