"""`eval`: run a question set over the library, say how good the answers are, compare, sweep, and draft sets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag.cli.common import echo_json, home_of, home_option, opened, plural, store_option
from rag.errors import InputError

if TYPE_CHECKING:
    from eval.result import RunResult
    from eval.run import RunOptions, RunProgress

PROGRESS_EVERY = 10  # questions between two lines of progress where standard error is no terminal


@click.command("eval")
@click.argument("set_", metavar="SET", type=click.Path(path_type=Path))
@home_option
@store_option
@click.option("--retrieval-only", is_flag=True, help="Score the ranking of papers alone; no answers are written.")
@click.option("--llm", default=None, help="Model: known name, folder, GGUF file, hub id or http(s) address.")
@click.option("--no-llm", is_flag=True, help="Answer with the evidence sentences themselves, without a model.")
@click.option("-k", type=click.IntRange(1, 50), default=None, help="Papers to consider for an answer.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Only this many questions.")
@click.option("--kinds", default=None, metavar="KIND,KIND", help="Only questions of these kinds.")
@click.option("--seed", type=int, default=None, help="Draws the questions of --limit, and the intervals.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=None, help="Folder of the run.")
@click.option("--against", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of another run.")
@click.option("--retry-failed", is_flag=True, help="Taking up a run again, ask what failed once more.")
@click.option("--judge", is_flag=True, help="Also let the answering model judge each answer.")
@click.option("--sweep", "grid", multiple=True, metavar="SETTING=A,B", help="Run under each of these settings.")
@click.option("--make", "count", type=click.IntRange(1), default=None, help="Draft SET with this many questions.")
@click.option("--from-feedback", is_flag=True, help="Draft SET from the answers rated in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def evaluate(
    set_: Path,
    home: str | None,
    retrieval_only: bool,
    llm: str | None,
    no_llm: bool,
    k: int | None,
    limit: int | None,
    kinds: str | None,
    seed: int | None,
    out: Path | None,
    against: Path | None,
    retry_failed: bool,
    judge: bool,
    grid: tuple[str, ...],
    count: int | None,
    from_feedback: bool,
    as_json: bool,
) -> None:
    """Run the question set SET (one JSON object a line) over the library and report every metric with its interval.

    A run in --out that was broken off is taken up where it ended.
    """
    if llm and no_llm:
        raise click.UsageError("--llm and --no-llm exclude each other.")
    if count is not None or from_feedback:
        if count is not None and from_feedback:
            raise click.UsageError("--make and --from-feedback exclude each other.")
        _draft(set_, home, count, seed or 0, llm)
        return
    from eval.run import RunOptions

    chosen = tuple(kind.strip() for kind in kinds.split(",")) if kinds else ()
    model = "none" if no_llm else llm
    options = RunOptions(retrieval_only, model, k, limit, chosen, seed, out, retry_failed)
    if grid:
        _sweep(set_, home, grid, options)
    else:
        _run(set_, home, options, against, judge, as_json)


def _run(set_: Path, home: str | None, options: RunOptions, against: Path | None, judge: bool, as_json: bool) -> None:
    from dataclasses import replace

    from eval import markdown
    from eval.compare import compare
    from eval.compare import to_json as comparison_json
    from eval.report import write_reports
    from eval.result import load_run, to_contract_json
    from eval.run import run_eval

    # Read first: a folder that is no run must not cost the hour that this one takes.
    old = load_run(against) if against else None
    with opened(home, llm=options.llm) as library:
        if judge:
            from eval.judge import make_judge

            if options.llm == "none" or options.retrieval_only:
                raise click.UsageError("--judge needs a model and answers.")
            options = replace(options, judge=make_judge(library.writer(library.settings.llm).chat))
        result = run_eval(set_, library, options, _progress())
    if result is None:
        raise click.Abort
    compared = compare(result, old, options.seed or 0) if old else None
    page = write_reports(result, options.out, compared) if options.out else None
    if as_json:
        found = to_contract_json(result)
        echo_json(found if compared is None else {**found, "comparison": comparison_json(compared)})
    else:
        click.echo(markdown.summary(result))
        if compared is not None:
            click.echo(markdown.comparison(compared))
        if page is not None:
            click.echo(f"Report: {page}")
    _tell_missing(result)


def _tell_missing(result: RunResult) -> None:
    if result.missing:
        first = result.missing[0]
        click.echo(
            f"abstract-qa: {plural(len(result.missing), 'relevant paper')} of the set not in the library, scored as "
            f"missed; the first is {first.reference!r} in line {first.line}.",
            err=True,
        )
    if result.failed:
        click.echo(f"abstract-qa: {plural(result.failed, 'question')} failed and got the worst score.", err=True)
        raise click.exceptions.Exit(1)


def _sweep(set_: Path, home: str | None, grid: tuple[str, ...], options: RunOptions) -> None:
    from eval.sweep import parse_grid, sweep, sweep_table

    def opener(changes: Any) -> Any:
        return opened(home, **{"llm": options.llm, **changes})

    click.echo(sweep_table(sweep(set_, parse_grid(grid), opener, options)))


def _draft(set_: Path, home: str | None, count: int | None, seed: int, llm: str | None) -> None:
    from eval.make import draft, from_feedback
    from eval.sets import write_set

    if set_.exists():
        raise InputError("is there already; name a new file for the draft.", file=str(set_))
    if count is None:
        from rag.settings import load_settings
        from ui.feedback import rated

        unread: list[int] = []
        items = from_feedback(rated(load_settings(home_of(home)).home, unread=unread))
        if unread:
            lines = ", ".join(map(str, unread))
            click.echo(f"Lines of feedback.jsonl that could not be read were left out: {lines}.", err=True)
    else:
        with opened(home, embed=False, llm=llm) as library:
            chat = library.writer(llm).chat if llm else None
            items = draft(library.papers(), count, seed, chat)
    write_set(set_, items)
    click.echo(f"Wrote {plural(len(items), 'question')} to {set_}; they are drafts: read them before you rely on them.")


def _progress() -> Callable[[RunProgress], None]:
    """A line of progress on standard error: rewritten on a terminal, now and then elsewhere."""
    shown = {"done": 0}

    def tell(progress: RunProgress) -> None:
        last = progress.done == progress.total
        left = "" if progress.remaining is None or last else f", {progress.remaining:,.0f} s left"
        failed = f", {progress.failed} failed" if progress.failed else ""
        text = f"{progress.done:,} of {progress.total:,} questions{failed}{left}"
        if sys.stderr.isatty():
            click.echo(f"\r\033[K{text}", err=True, nl=last)
        elif last or progress.done - shown["done"] >= PROGRESS_EVERY:
            shown["done"] = progress.done
            click.echo(text, err=True)

    return tell
