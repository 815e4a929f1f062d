"""`models list|pull|verify`."""

from __future__ import annotations

import click

from rag.cli.common import echo_json, home_of, home_option, show_pull


@click.group()
def models() -> None:
    """The models this program knows, and fetching them."""


@models.command("list")
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(home: str | None, as_json: bool) -> None:
    """Known models, their size and licence, and which are on this machine."""
    from rag.models.known import statuses
    from rag.settings import load_settings

    found = statuses(load_settings(home_of(home)).home)
    if as_json:
        echo_json(
            [
                {
                    "name": status.model.name,
                    "role": status.model.role,
                    "bytes": status.model.size,
                    "licence": status.model.licence,
                    "present": status.path is not None,
                    "path": None if status.path is None else str(status.path),
                }
                for status in found
            ]
        )
        return
    for status in found:
        model = status.model
        state = "ready" if status.path else f"missing: abstract-qa models pull {model.name}"
        click.echo(f"{model.name:<20} {model.role:<9} {model.size / 1e6:>7,.0f} MB  {model.licence:<11} {state}")


@models.command()
@click.argument("names", nargs=-1)
@home_option
@click.option("--default", "defaults", is_flag=True, help="The embedder and the answering model that fit this machine.")
def pull(names: tuple[str, ...], home: str | None, defaults: bool) -> None:
    """Fetch models, check their hash and make them ready. What is there already is left alone."""
    from rag.models import hardware
    from rag.models.known import default_names, ensure_named, memory_note
    from rag.settings import load_settings

    if bool(names) == defaults:
        raise click.UsageError("Name the models to fetch, or --default.")
    settings = load_settings(home_of(home))
    hardware.keep_under(settings.home)
    if defaults:
        names = default_names(settings)
        if note := memory_note():
            click.echo(note, err=True)
    for name in names:
        path = ensure_named(name, settings.home, show_pull())
        click.echo(f"{name}: ready in {path}")


@models.command()
@click.argument("names", nargs=-1)
@home_option
def verify(names: tuple[str, ...], home: str | None) -> None:
    """Hash the weights of models on this machine again (default: of all that are there)."""
    from rag.models.known import statuses
    from rag.models.known import verify as verify_model
    from rag.settings import load_settings

    place = load_settings(home_of(home)).home
    for name in names or [status.model.name for status in statuses(place) if status.path is not None]:
        verify_model(name, place)
        click.echo(f"{name}: unchanged")
