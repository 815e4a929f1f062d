"""`serve`: the browser, HTTP and MCP."""

from __future__ import annotations

import click

from rag.cli.common import home_option, opened


@click.command()
@home_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=7860, show_default=True, help="Port to listen on.")
@click.option("--llm", default=None, help="Model: known name, folder, GGUF file, hub id or http(s) address.")
@click.option("--no-llm", is_flag=True, help="Answer with the evidence sentences themselves, without a model.")
@click.option("--allow-unauthenticated", is_flag=True, help="Let others reach it although nobody has to sign in.")
def serve(home: str | None, host: str, port: int, llm: str | None, no_llm: bool, allow_unauthenticated: bool) -> None:
    """Serve the chat in the browser, and the same answers over HTTP and MCP."""
    if llm and no_llm:
        raise click.UsageError("--llm and --no-llm exclude each other.")
    from ui.app import serve as serve_ui

    with opened(home, llm="none" if no_llm else llm) as library:
        serve_ui(library, host, port, allow_unauthenticated=allow_unauthenticated)
