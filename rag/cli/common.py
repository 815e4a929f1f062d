"""What the commands share: options, opening the library, and how progress looks."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rag.types import Filters

if TYPE_CHECKING:
    from rag.library import Library
    from rag.models.known import PullProgress

_STORE = "abstract_qa.store"
F = TypeVar("F", bound=Callable[..., Any])
_YEARS = re.compile(r"(?P<first>\d{4})(?:\s*[-–]\s*(?P<last>\d{4}))?")


def home_option(command: F) -> F:
    """`--home`, also accepted before the command's name."""
    return click.option("--home", type=click.Path(path_type=str), default=None, help="Where the library lives.")(
        command
    )


def store_option(command: F) -> F:
    """`--store`, which `opened` and `store_of` read."""
    return click.option(
        "--store",
        default=None,
        metavar="URL",
        expose_value=False,
        callback=_keep_store,
        help="Chroma server that holds the vector index (default: none, it is in the home).",
    )(command)


def _keep_store(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    context.meta[_STORE] = value


def store_of() -> str | None:
    """The Chroma server named by the command; None where it names none."""
    named: str | None = click.get_current_context().meta.get(_STORE)
    return named


def filter_options(command: F) -> F:
    """`--venue` and `--year`."""
    command = click.option("--venue", default=None, help="Only papers of this venue.")(command)
    return click.option("--year", "years", default=None, metavar="Y|A-B", callback=_years, help="Only these years.")(
        command
    )


def _years(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    found = _YEARS.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is neither a year such as 2024 nor a span such as 2022-2024.")
    first = int(found["first"])
    last = int(found["last"] or first)
    if last < first:
        raise click.BadParameter(f"{value!r} ends before it begins.")
    return first, last


def filters_from(venue: str | None, years: tuple[int, int] | None) -> Filters:
    """Filters of the two options."""
    return Filters(venue, *(years or (None, None)))


def home_of(home: str | None) -> Path | None:
    """The home named by the command or before it; None where neither is."""
    named = home or click.get_current_context().obj
    return Path(named) if named else None


@contextmanager
def opened(
    home: str | None, *, write: bool = False, embed: bool = True, create: bool = False, **settings: Any
) -> Iterator[Library]:
    """The library, closed again at the end. Missing models are fetched with a progress line.

    A home that does not exist is made with `write` or `create` only.
    """
    from rag import quiet
    from rag.errors import LibraryError
    from rag.library import Library
    from rag.settings import load_settings

    settings.setdefault("store", store_of())
    place = load_settings(home_of(home)).home
    quiet.keep_under(place)
    if not (write or create) and not place.exists():
        # Reading makes nothing: a mistyped name would leave an empty library behind.
        raise LibraryError(f"There is no library at {place}; read papers into it first: abstract-qa ingest PATH")
    with Library.open(home_of(home), write=write, embed=embed, progress=show_pull(), **settings) as library:
        for note in library.index.notes:
            click.echo(note, err=True)
        yield library


def show_pull() -> Callable[[PullProgress], None]:
    """Progress of a model that is being fetched, on standard error; a line a tenth where that is no terminal."""
    shown = {"step": "", "tenth": -1}

    def show(progress: PullProgress) -> None:
        share = progress.done / progress.total if progress.total else 0.0
        text = f"{progress.name}: {progress.step}"
        if progress.total:
            text += f" {progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB ({share:.0%})"
        if sys.stderr.isatty():
            click.echo(f"\r\033[K{text}", err=True, nl=progress.step == "ready")
        elif (progress.step, int(share * 10)) != (shown["step"], shown["tenth"]):
            shown.update(step=progress.step, tenth=int(share * 10))
            click.echo(text, err=True)

    return show


def echo_json(value: Any) -> None:
    """One JSON value on standard output, readable, non-ASCII characters as they are."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def plural(count: int, noun: str) -> str:
    """`1 paper`, `2 papers`, `1,000 papers`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"
