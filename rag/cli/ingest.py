"""`ingest` and `reindex`."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import click

from rag.cli.common import echo_json, home_option, opened, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag.ingest import FileReport, IngestProgress, IngestReport

SHOWN_REJECTIONS = 20


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(allow_dash=True))
@home_option
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
        raise click.UsageError("Name files or folders to read, or --sample." if sample is False else
                               "--sample takes no paths.")
    named = dict(_column(pair) for pair in columns)
    from rag.ingest import IngestOptions
    from rag.readers import ReadOptions

    options = IngestOptions(ReadOptions(columns=named, format=format_, venue=venue, year=year), prune=prune)
    with opened(home, write=True) as library, _bar(as_json) as progress:
        with resources.as_file(resources.files("rag") / "sample" / "landmarks.jsonl") as sample_file:
            report = library.ingest([sample_file] if sample else list(paths), options, progress)
    if as_json:
        echo_json(report.to_json())
    else:
        _show(report)
    if report.rejected:
        click.echo(
            f"abstract-qa: {plural(len(report.rejected), 'entry')} could not be read; the first: "
            f"{_place(report.rejected[0].file, report.rejected[0].line)}: {report.rejected[0].reason}",
            err=True,
        )
        raise click.exceptions.Exit(1)


@click.command()
@home_option
def reindex(home: str | None) -> None:
    """Embed all papers anew, for the embedder and chunking now set, and rebuild both indexes."""
    from rag.library import Library
    from rag.cli.common import home_of, show_pull

    with Library.open(home_of(home), write=True, progress=show_pull(), rebuild=True) as library:
        click.echo(f"Rebuilt the index of {plural(library.count(), 'paper')}.")


def _column(pair: str) -> tuple[str, str]:
    field, equals, name = pair.partition("=")
    if not equals or not field or not name:
        raise click.BadParameter(f"{pair!r} is not FIELD=NAME, as in title=Titel.", param_hint="--column")
    return field.strip(), name


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}, line {line}"
