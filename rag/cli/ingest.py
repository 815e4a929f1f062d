"""`ingest` and `reindex`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING

import click

from rag.cli.common import echo_json, home_of, home_option, opened, plural, show_pull, store_of, store_option

if TYPE_CHECKING:
    from rag.ingest.run import FileReport, IngestProgress, IngestReport

SHOWN = 20
SHOWN_CHARACTERS = 80


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(allow_dash=True))
@home_option
@store_option
@click.option("--sample", is_flag=True, help="Read the sample library that comes with the program.")
@click.option("--prune", is_flag=True, help="Also remove papers that these files held before and no longer hold.")
@click.option("--format", "format_", default=None, help="Take the files to be of this format (default: found out).")
@click.option("--column", "columns", multiple=True, metavar="FIELD=NAME", help="For CSV: which column holds FIELD.")
@click.option("--venue", default=None, help="Venue of entries that state none.")
@click.option("--year", type=click.IntRange(1000, 2999), default=None, help="Year of entries that state none.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as a JSON object.")
def ingest(
    paths: tuple[str, ...],
    home: str | None,
    sample: bool,
    prune: bool,
    format_: str | None,
    columns: tuple[str, ...],
    venue: str | None,
    year: int | None,
    as_json: bool,
) -> None:
    """Read PATHS (files, folders, archives, or - for standard input) into the library.

    Reading the same again changes nothing; a changed entry replaces what it was.
    """
    if bool(paths) == sample:
        raise click.UsageError(
            "Name files or folders to read, or --sample." if sample is False else "--sample takes no paths."
        )
    named = dict(_column(pair) for pair in columns)
    from rag.ingest.run import IngestOptions
    from rag.readers import ReadOptions

    options = IngestOptions(ReadOptions(columns=named, format=format_, venue=venue, year=year), prune=prune)
    sample_file = resources.as_file(resources.files("rag") / "sample" / "landmarks.jsonl")
    with opened(home, write=True) as library, bar(as_json) as progress, sample_file as landmarks:
        report = library.ingest([landmarks] if sample else list(paths), options, progress)
    if as_json:
        echo_json(report.to_json())
    else:
        show(report)
    if report.rejected:
        first = report.rejected[0]
        click.echo(
            f"abstract-qa: {plural(len(report.rejected), 'entry')} could not be read; the first is in "
            f"{place(first.file, first.line)}: {first.reason}",
            err=True,
        )
        raise click.exceptions.Exit(1)


@click.command()
@home_option
@store_option
def reindex(home: str | None) -> None:
    """Embed all papers anew, for the embedder and chunking now set, and rebuild both indexes."""
    from rag.library import Library

    home_, store = home_of(home), store_of()
    with Library.open(home_, write=True, progress=show_pull(), rebuild=True, store=store) as library:
        click.echo(f"Rebuilt the index of {plural(library.count(), 'paper')}.")


def _column(pair: str) -> tuple[str, str]:
    field, equals, name = pair.partition("=")
    if not equals or not field or not name:
        raise click.BadParameter(f"{pair!r} is not FIELD=NAME, as in title=Titel.", param_hint="--column")
    return field.strip(), name


def place(file: str, line: int | None) -> str:
    """A file, and the line where one is known."""
    return file if line is None else f"{file}, line {line}"


def show(report: IngestReport) -> None:
    """The report for people: a line for each file, then what was rejected and where files disagree, then the sum."""
    for file in report.files:
        click.echo(_line(file))
        for rejected in file.rejected[:SHOWN]:
            where = "" if rejected.line is None else f", line {rejected.line}"
            click.echo(f"    rejected{where}: {rejected.reason}")
        if len(file.rejected) > SHOWN:
            click.echo(f"    and {len(file.rejected) - SHOWN:,} more rejected; --json lists all")
        for paper_id, conflict in file.conflicts[:SHOWN]:
            click.echo(
                f"    {paper_id}: {conflict.field} kept as {_short(conflict.kept)}, not {_short(conflict.other)}"
            )
        if len(file.conflicts) > SHOWN:
            click.echo(f"    and {len(file.conflicts) - SHOWN:,} more fields that differ; --json lists all")
    removed = f", {report.removed:,} removed" if report.removed else ""
    titles = f", {report.without_abstract:,} with a title only" if report.without_abstract else ""
    click.echo(
        f"{report.added:,} added, {report.unchanged:,} unchanged, {report.replaced:,} replaced, "
        f"{report.merged:,} merged, {len(report.rejected):,} rejected{removed}{titles}. "
        f"The library holds {plural(report.papers, 'paper')} ({report.seconds:.1f} s)."
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _line(file: FileReport) -> str:
    name = "standard input" if file.file == "-" else file.file
    if file.format is None:
        return f"{name}: not read" if file.rejected else f"{name}: passed over, {file.note or 'no papers in it'}"
    counts = [("added", file.added), ("unchanged", file.unchanged), ("replaced", file.replaced)]
    counts += [("merged", file.merged), ("pruned", file.pruned), ("rejected", len(file.rejected))]
    told = ", ".join(f"{count:,} {word}" for word, count in counts if count)
    return f"{name}: {file.format}, {plural(file.read, 'paper')}" + (f": {told}" if told else "")


@contextmanager
def bar(hidden: bool) -> Iterator[Callable[[IngestProgress], None]]:
    """A bar with rate and remaining time on standard error, where that is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("reading", total=None, rate=0.0, left="")

        def tell(progress: IngestProgress) -> None:
            left = "" if progress.remaining_s is None else f"{progress.remaining_s:,.0f} s left"
            shown.update(
                task,
                description=progress.stage,
                completed=progress.done,
                total=progress.total,
                rate=progress.rate,
                left=left,
            )

        yield tell
