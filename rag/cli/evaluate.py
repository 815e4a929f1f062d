"""`eval`: run a question set over the library and say how good the answers are."""

from __future__ import annotations

import click


@click.command("eval")
def evaluate() -> None:
    """Run a question set."""
