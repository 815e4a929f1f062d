"""`python -m eval.bench`: measure, write the page and the plot. Each part's raw figures are kept and can be reused."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from eval.bench import answer, growth, ingest, memory, search, startup, users
from eval.bench.figures import agreements
from eval.bench.machine import ROOT, describe, load
from eval.bench.page import Measured, agreement_lines, page
from eval.bench.plot import growth_plot
from eval.bench.setting import Bench, Part, Section
from eval.bench.sizing import section as sizing
from eval.bench.texts import CORPUS
from rag.errors import AbstractQAError

PARTS: Mapping[str, Part] = {part.NAME: part for part in (ingest, search, answer, startup, users, memory, growth)}
WORK = ROOT / "runs" / "bench"
PAGE = ROOT / "eval" / "BENCH.md"
PLOT = ROOT / "docs" / "images" / "growth.svg"


class SizedHome(click.ParamType[tuple[int, Path]]):
    """`PAPERS=HOME`."""

    name = "PAPERS=HOME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, Path]:
        """The number and the home."""
        size, _, home = str(value).partition("=")
        if not size.isdigit() or not home:
            self.fail(f"{value!r} is not like 40000=PATH.", param, ctx)
        return int(size), Path(home).expanduser().absolute()


@click.command()
@click.option("--quick", is_flag=True, help="Few papers and questions, to see that it works; publishes nothing.")
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Measure this part (may be repeated).")
@click.option("--resume", is_flag=True, help="Keep parts that were measured before with the same options and code.")
@click.option("--papers", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Papers to read in.")
@click.option("--library", "given", multiple=True, type=SizedHome(), help="A ready library of about PAPERS papers.")
@click.option("--llm", default="auto", show_default=True, help="Answering model; the same for both pipelines.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Repetitions of everything.")
@click.option("--work", type=click.Path(file_okay=False, path_type=Path), default=WORK, help="Raw figures, libraries.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The page (default: eval/BENCH.md).")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="The growth plot (default: in docs).")
@click.option("--against", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="An earlier bench.json.")
def main(
    quick: bool,
    only: tuple[str, ...],
    resume: bool,
    papers: Path | None,
    given: tuple[tuple[int, Path], ...],
    llm: str,
    rounds: int,
    work: Path,
    out: Path | None,
    plot: Path | None,
    against: Path | None,
) -> None:
    """Measure the program beside the plain tutorial pipeline and write the figures down."""
    homes = work / "libraries"
    if quick:
        work = work / "quick"
    work.mkdir(parents=True, exist_ok=True)
    bench = Bench(
        work, homes, quick, rounds, llm, papers or (CORPUS if CORPUS.is_file() else None), dict(given), click.echo
    )
    command = _command(bench, papers is not None)
    try:
        for name in only or PARTS:
            if not (resume and _is_current(work / f"{name}.json", f"{command} --only {name}")):
                _measure(bench, name, command)
        write(
            work,
            out or (work / "BENCH.md" if quick else PAGE),
            plot or (work / "growth.svg" if quick else PLOT),
            against,
        )
    except AbstractQAError as error:
        raise click.ClickException(str(error)) from None


def _measure(bench: Bench, name: str, command: str) -> None:
    """Measure one part and keep its raw figures."""
    click.echo(f"bench: {name}")
    machine, began, before, start = describe(), datetime.now(UTC), load(), time.monotonic()
    raw = PARTS[name].measure(bench)
    seconds = round(time.monotonic() - start, 1)
    measured = Measured(
        name, f"{command} --only {name}", machine, f"{began:%Y-%m-%d %H:%M}", seconds, (before, load()), raw
    )
    (bench.work / f"{name}.json").write_bytes(orjson.dumps(measured.as_json(), option=orjson.OPT_INDENT_2))
    click.echo(f"  took {seconds:.0f} s")


def write(work: Path, out: Path, plot: Path, against: Path | None) -> None:
    """Write the page, the plot and bench.json from the raw figures in `work`."""
    parts = [(one, PARTS[one.name].report(one.raw)) for one in saved(work)]
    raws = {one.name: one.raw for one, _ in parts}
    ratios = {name: ratio for _, section in parts for name, ratio in section.ratios.items()}
    whole = {"parts": [one.as_json() for one, _ in parts], "ratios": ratios}
    (work / "bench.json").write_bytes(orjson.dumps(whole, option=orjson.OPT_INDENT_2))
    agreed = agreements(orjson.loads(against.read_bytes())["ratios"], ratios) if against else ()
    derived: Sequence[Section | None] = [sizing(raws)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(parts, [one for one in derived if one is not None], agreed), encoding="utf-8")
    drawn = growth_plot(raws)
    if drawn is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot.write_text(drawn, encoding="utf-8")
    if agreed:
        click.echo("\n".join(agreement_lines(agreed)))
    click.echo(f"bench: {out} is written from {len(parts)} of {len(PARTS)} parts")


def saved(work: Path) -> list[Measured]:
    """The parts measured so far, in the order of the page."""
    paths = (work / f"{name}.json" for name in PARTS)
    return [Measured.of(orjson.loads(path.read_bytes())) for path in paths if path.is_file()]


def _is_current(path: Path, command: str) -> bool:
    """Whether a part was measured with this command and this code."""
    if not path.is_file():
        return False
    known = Measured.of(orjson.loads(path.read_bytes()))
    return known.command == command and known.machine["code"] == describe()["code"]


def _command(bench: Bench, named: bool) -> str:
    """The command without the places on this machine."""
    words = ["python -m eval.bench"]
    words += ["--quick"] * bench.quick
    words += ["--papers FILE"] * named
    words += [f"--library {size}=HOME" for size in sorted(bench.given)]
    words += [f"--llm {Path(bench.llm).name}"] * (bench.llm != "auto")
    words += [f"--rounds {bench.rounds}"] * (bench.rounds != 3)
    return " ".join(words)


if __name__ == "__main__":
    main()
