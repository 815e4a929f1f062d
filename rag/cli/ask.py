"""`ask` and `search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from rag.cli.common import echo_json, filter_options, filters_from, home_option, opened, store_option
from rag.errors import InputError
from rag.types import LISTS, Answer, Citation, RankedPaper, Turn


@click.command()
@click.argument("question")
@home_option
@store_option
@filter_options
@click.option("--history", type=click.Path(exists=True, dir_okay=False), help="JSON list of earlier messages.")
@click.option("-k", type=click.IntRange(1, 50), default=None, help="Papers to consider.")
@click.option("--llm", default=None, help="Model: known name, folder, GGUF file, hub id or http(s) address.")
@click.option("--no-llm", is_flag=True, help="Answer with the evidence sentences themselves, without a model.")
@click.option("--json", "as_json", is_flag=True, help="Print one Answer object.")
def ask(
    question: str,
    home: str | None,
    venue: str | None,
    years: tuple[int, int] | None,
    history: str | None,
    k: int | None,
    llm: str | None,
    no_llm: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION from the library, then list the papers cited."""
    if llm and no_llm:
        raise click.UsageError("--llm and --no-llm exclude each other.")
    turns = read_history(history) if history else ()
    filters = filters_from(venue, years)
    with opened(home, llm="none" if no_llm else llm) as library:
        if as_json:
            from rag.answer_json import to_json

            echo_json(to_json(library.ask(question, turns, filters, k)))
            return
        from rag.answering.compose import cited
        from rag.events import Done, SentenceChecked, Stage, Understood

        written = ""
        sentence_by_sentence = True
        between = " "
        said: frozenset[str] = frozenset()
        for event in library.stream(question, turns, filters, k):
            if isinstance(event, Understood):
                sentence_by_sentence = event.question.kind not in LISTS
                between = "\n" if event.question.kind in ("compare", "which") else " "
                said = _say(event.question.notes, said)
            elif isinstance(event, Stage) and event.ahead:
                said = _say([f"Waiting for the model; answered before this question: {event.ahead}"], said)
            elif isinstance(event, SentenceChecked) and sentence_by_sentence:
                click.echo((between if written else "") + cited(event.sentence), nl=False)
                written += event.sentence.text
            elif isinstance(event, Done):
                click.echo("" if written else event.answer.text)
                _say(event.answer.notes, said)
                _show_sources(event.answer)


def _say(notes: Sequence[str], said: frozenset[str]) -> frozenset[str]:
    """Tell those of `notes` that have not been `said`; returns all that have been by then."""
    for note in notes:
        if note not in said:
            click.echo(click.style(note, dim=True), err=True)
    return said.union(notes)


def read_history(path: str) -> tuple[Turn, ...]:
    """Turns from a JSON file: a list of objects with `role` (user or assistant) and `content`."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        turns = tuple(Turn(turn["role"], str(turn["content"])) for turn in found)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"expected a JSON list of objects with role and content, could not read it as one ({error}).", file=path
        ) from None
    for turn in turns:
        if turn.role not in ("user", "assistant"):
            raise InputError(f"a message has the role {turn.role!r}; expected user or assistant.", file=path)
    return turns


@click.command()
@click.argument("query")
@home_option
@store_option
@filter_options
@click.option("-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Papers to show.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def search(
    query: str, home: str | None, venue: str | None, years: tuple[int, int] | None, k: int, as_json: bool
) -> None:
    """The papers that best match QUERY, best first. No language model is used."""
    with opened(home) as library:
        found = library.search(query, k, filters_from(venue, years))
    if as_json:
        from rag.answer_json import search_json

        echo_json(search_json(query, found))
        return
    if not found:
        click.echo("No paper matches.")
    for hit in found:
        _show_hit(hit)


def _show_hit(hit: RankedPaper) -> None:
    click.echo(f"{hit.rank:>3}  {click.style(hit.paper.title, bold=True)}")
    click.echo(f"     {about(hit)}")
    if hit.quote.text != hit.paper.title:
        click.echo(f"     “{hit.quote.text}”")


def about(hit: RankedPaper) -> str:
    """Venue, year, locator and score in one line."""
    paper = hit.paper
    parts = [paper.where, paper.locator or paper.paper_id]
    return " · ".join([part for part in parts if part] + [f"score {hit.score:.2f}"])


def _show_sources(answer: Answer) -> None:
    if answer.matches is None and answer.citations:
        click.echo("\nSources")
        for citation in answer.citations:
            _show_citation(citation)
    if answer.nearest:
        click.echo("\nNearest papers")
        for hit in answer.nearest[:3]:
            click.echo(f"  {hit.paper.title} ({hit.paper.locator or hit.paper.paper_id})")


def _show_citation(citation: Citation) -> None:
    paper = citation.paper
    authors = ", ".join(paper.authors[:3]) + (" et al." if len(paper.authors) > 3 else "")
    details = " · ".join(part for part in (authors, paper.where, paper.locator, paper.url) if part)
    click.echo(f"[{citation.n}] {click.style(paper.title, bold=True)}")
    if details:
        click.echo(f"    {details}")
    click.echo(f"    “{citation.quote}”")
