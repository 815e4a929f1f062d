"""The server: the page in both languages on FastAPI, with HTTP, the OpenAI-compatible interface and MCP beside it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

import gradio as gr
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse

from rag.errors import AbstractQAError
from ui import api, openai_api, personal
from ui.conversations import Conversations
from ui.desk import Desk
from ui.page import AT_ONCE, page
from ui.security import check_binding, guard
from ui.text import Language
from ui.theme import theme

if TYPE_CHECKING:
    from rag.library import Library

HERE = Path(__file__).parent
SCRIPTS = ("script.js", "tabs.js")
LARGEST_UPLOAD = "512mb"


def build(library: Library, host: str = "127.0.0.1", *, warm: bool = True) -> FastAPI:
    """The application. `warm` loads the answering model in the background once it is started."""
    desk = Desk(library)
    kept = Conversations(library.settings.home)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if warm:
            desk.warm()
        else:
            desk.warmed.set()
        yield
        kept.close()

    app = FastAPI(
        title="abstract-qa",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        description="Ask a library of abstracts; every sentence of an answer carries the paper it comes from.",
    )
    app.middleware("http")(guard(host))

    @app.exception_handler(AbstractQAError)
    async def told(_: Request, error: AbstractQAError) -> JSONResponse:
        return api.error_response(error)

    for routes in (api.router(desk), personal.router(desk, kept), openai_api.router(desk)):
        app.include_router(routes)
    own: Language = library.settings.language
    other: Language = "zh" if own == "en" else "en"

    @app.get("/language/{language}", include_in_schema=False)
    def to_language(language: Language, request: Request) -> RedirectResponse:
        conversation = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(("/" if language == own else f"/{language}/") + conversation)

    script = "".join(f"<script>{(HERE / name).read_text(encoding='utf-8')}</script>" for name in SCRIPTS)
    for language, path in ((other, f"/{other}"), (own, "/")):
        blocks = page(desk, kept, language)
        blocks.queue(default_concurrency_limit=AT_ONCE, api_open=False)
        app = gr.mount_gradio_app(
            app,
            blocks,
            path=path,
            footer_links=[],
            run_history=False,
            show_error=False,
            ssr_mode=False,
            mcp_server=language == own,
            theme=theme(),
            css_paths=HERE / "style.css",
            head=script,
            max_file_size=LARGEST_UPLOAD,
        )
    return app


def serve(library: Library, host: str = "127.0.0.1", port: int = 7860, *, allow_unauthenticated: bool = False) -> None:
    """Serve until interrupted; the address is printed once it can be opened, the model is loaded meanwhile.

    `port` 0 takes a free one. Raises SettingsError where others could reach it unasked, InputError for a taken port.
    """
    import socket

    import click
    import uvicorn

    from rag.errors import InputError

    check_binding(host, signed_in=False, allowed=allow_unauthenticated)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise InputError(
                f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port."
            ) from None
        app = build(library, host)
        listening.listen()  # whoever connects from now on waits for the answer instead of being refused
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"abstract-qa is at http://{shown}:{listening.getsockname()[1]} (stop it with Ctrl-C)")
        uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)).run([listening])
