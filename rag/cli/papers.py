"""`papers list|show|remove|export`."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from rag.cli.common import echo_json, filter_options, filters_from, home_option, opened, plural, store_option
from rag.papers.export import FORMATS, Format
from rag.papers.export import export as export_pieces

if TYPE_CHECKING:
    from rag.types import Paper


@click.group()
def papers() -> None:
    """List, show, remove and export papers."""


@papers.command("list")
@home_option
@store_option
@filter_options
@click.option("--text", default=None, help="Only papers whose title, authors or abstract contain this.")
@click.option("--source", default=None, help="Only papers read from this file.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Show at most this many.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Leave out this many at the start.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(
    home: str | None,
    venue: str | None,
    years: tuple[int, int] | None,
    text: str | None,
    source: str | None,
    limit: int | None,
    offset: int,
    as_json: bool,
) -> None:
    """Papers in the order they came in."""
    filters = filters_from(venue, years)
    with opened(home, embed=False) as library:
        found = library.papers(filters, text, source, offset, limit)
        total = library.count(filters, text, source)
    if as_json:
        from rag.answer_json import paper_json

        echo_json([paper_json(paper) for paper in found])
        return
    for paper in found:
        details = " · ".join(part for part in (paper.where, paper.locator, paper.paper_id) if part)
        click.echo(f"{click.style(paper.title, bold=True)}\n    {details}")
    shown = "" if len(found) == total else f", {len(found):,} shown"
    click.echo(f"{plural(total, 'paper')}{shown}", err=True)


@papers.command()
@click.argument("reference")
@home_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def show(reference: str, home: str | None, as_json: bool) -> None:
    """Everything known of the paper REFERENCE: an id, DOI, arXiv id, exact title or FILE#POSITION."""
    with opened(home, embed=False) as library:
        paper = library.paper(reference)
    if as_json:
        from rag.answer_json import paper_json

        echo_json(paper_json(paper))
        return
    for line in _lines(paper):
        click.echo(line)


def _lines(paper: Paper) -> list[str]:
    fields = {
        "authors": ", ".join(paper.authors),
        "venue": paper.venue,
        "year": paper.year,
        "link": paper.url,
        "DOI": paper.doi,
        "arXiv": paper.arxiv_id,
        "PubMed": paper.pmid,
        "OpenReview": paper.openreview_id,
        "keywords": ", ".join(paper.keywords),
        "id": paper.paper_id,
        "also known as": ", ".join(paper.aliases),
        "read from": ", ".join(source.locator for source in paper.sources),
        **paper.extra,
    }
    heading = paper.title if paper.titled else f"{paper.title} (label made from the abstract)"
    lines = [click.style(heading, bold=True)]
    lines += [f"  {field}: {value}" for field, value in fields.items() if value]
    return [*lines, "", paper.abstract or "(no abstract)"]


@papers.command()
@click.argument("references", nargs=-1, required=True)
@home_option
@store_option
def remove(references: tuple[str, ...], home: str | None) -> None:
    """Remove the papers named. Reading their file again brings them back."""
    with opened(home, write=True, embed=False) as library:
        count = library.remove(references)
    click.echo(f"Removed {plural(count, 'paper')}.")


@papers.command()
@home_option
@store_option
@filter_options
@click.option("--format", "format_", type=click.Choice(FORMATS), default="bibtex", show_default=True)
@click.option("--text", default=None, help="Only papers whose title, authors or abstract contain this.")
@click.option("--source", default=None, help="Only papers read from this file.")
@click.option("-o", "--output", type=click.File("w", encoding="utf-8", lazy=True), default="-", help="File to write.")
def export(
    home: str | None,
    venue: str | None,
    years: tuple[int, int] | None,
    format_: Format,
    text: str | None,
    source: str | None,
    output: IO[str],
) -> None:
    """Write papers in a format that reference managers, spreadsheets or this program read."""

    with opened(home, embed=False) as library:
        for piece in export_pieces(library.papers(filters_from(venue, years), text, source), format_):
            output.write(piece)
