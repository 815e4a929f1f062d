"""Writes a page of figures from run folders: `python -m eval.results RUN... --out eval/RESULTS.md`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from eval.markdown import summary
from eval.result import load_run
from rag.errors import AbstractQAError


def results_page(folders: Sequence[Path], command: str) -> str:
    """The Markdown page of the runs, in the order given. Raises InputError for a folder that is no finished run."""
    runs = [load_run(folder) for folder in folders]
    head = (
        f"# Results\n\nGenerated from run folders by\n\n    {command}\n\nMetrics are defined in docs/evaluation.md.\n"
    )
    return "\n".join([head, *(summary(run) for run in runs)])


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("eval/RESULTS.md"))
def main(folders: tuple[Path, ...], out: Path) -> None:
    """Write the figures of finished runs to one Markdown page."""
    words = ["python", "-m", "eval.results", *(folder.name for folder in folders), "--out", out.as_posix()]
    try:
        out.write_text(results_page(folders, shlex.join(words)), encoding="utf-8")
    except AbstractQAError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
