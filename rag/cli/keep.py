"""`doctor`, `backup` and `restore`: keeping a library well."""

from __future__ import annotations

from pathlib import Path

import click

from rag.cli.common import home_of, home_option, plural, store_of, store_option


@click.command()
@home_option
@store_option
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
def doctor(home: str | None, repair: bool) -> None:
    """What is installed, what library is there, what is missing, and the command that mends it."""
    from rag.doctor import examine

    findings = examine(home_of(home), repair=repair, store=store_of())
    for finding in findings:
        mark = {True: click.style("ok", fg="green"), False: click.style("!!", fg="red")}[finding.good]
        click.echo(f"{mark}  {finding.what}" + (f"\n    mend: {finding.mend}" if finding.mend else ""))
    if not all(finding.good for finding in findings):
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@home_option
def backup(file: Path, home: str | None) -> None:
    """Write the library into one FILE, with conversations, feedback and preferences, while it may be in use.

    Users, keys and settings are not in it.
    """
    from rag.settings import load_settings
    from rag.store.index import backup as write_backup

    kept = write_backup(load_settings(home_of(home)), file)
    click.echo(f"Wrote {plural(kept.papers, 'paper')}{_with(kept.files)} to {file}.")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@home_option
def restore(file: Path, home: str | None) -> None:
    """Make the library what FILE, written by `backup`, says. The home must not hold one already."""
    from rag.settings import load_settings
    from rag.store.index import restore as read_backup

    kept = read_backup(load_settings(home_of(home)), file)
    click.echo(f"Restored {plural(kept.papers, 'paper')}{_with(kept.files)}.")
    if kept.left:
        click.echo(f"Left as it was, since the home has it already: {_named(kept.left)}.")


def _with(files: tuple[str, ...]) -> str:
    return f" with {_named(files)}" if files else ""


def _named(files: tuple[str, ...]) -> str:
    return ", ".join(Path(name).stem for name in files)
