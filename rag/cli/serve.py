"""`serve`: the browser, HTTP and MCP."""

from __future__ import annotations

from typing import Literal

import click

from rag.cli.common import home_option, opened, store_option


@click.command()
@home_option
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=7860, show_default=True, help="Port to listen on.")
@click.option("--llm", default=None, help="Model: known name, folder, GGUF file, hub id or http(s) address.")
@click.option("--no-llm", is_flag=True, help="Answer with the evidence sentences themselves, without a model.")
@click.option("--sign-in/--no-sign-in", default=None, help="Ask everybody to sign in (default: once there are users).")
@click.option("--allow-unauthenticated", is_flag=True, help="Let others reach it although nobody has to sign in.")
@click.option("--allowed-host", "allowed_hosts", multiple=True, metavar="NAME", help="A further name it answers to.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default=None, help="Log each request and question.")
@click.option("--log-questions", is_flag=True, help="Log the questions' text too.")
def serve(
    home: str | None,
    host: str,
    port: int,
    llm: str | None,
    no_llm: bool,
    sign_in: bool | None,
    allow_unauthenticated: bool,
    allowed_hosts: tuple[str, ...],
    log_format: Literal["text", "json"] | None,
    log_questions: bool,
) -> None:
    """Serve the chat in the browser, and the same answers over HTTP and MCP."""
    if llm and no_llm:
        raise click.UsageError("--llm and --no-llm exclude each other.")
    if log_questions and log_format is None:
        raise click.UsageError("--log-questions needs --log-format.")
    from ui.app import Access
    from ui.app import serve as serve_ui

    access = Access(sign_in, allow_unauthenticated, allowed_hosts, log_format, log_questions)
    with opened(home, create=True, llm="none" if no_llm else llm) as library:
        serve_ui(library, host, port, access=access)
