"""The server: the page in both languages on FastAPI, with HTTP, the OpenAI-compatible interface and MCP beside it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

import gradio as gr
from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse

from ui import api, errors, health, logs, openai_api, personal
from ui.accounts import Accounts
from ui.conversations import Conversations
from ui.gate import Gate
from ui.limits import Limit
from ui.metered import Fenced, Metered
from ui.page import AT_ONCE, page
from ui.private import Private
from ui.security import Hosts, check_binding, is_loopback
from ui.sessions import Sessions
from ui.signin import SignIn
from ui.text import Language
from ui.theme import theme

if TYPE_CHECKING:
    from rag.library import Library

HERE = Path(__file__).parent
SCRIPTS = ("script.js", "tabs.js")
PERSONAL = ("conversations.sqlite", "conversations.sqlite-wal", "feedback.jsonl", "preferences.json")
LARGEST_UPLOAD = "512mb"


@dataclass(frozen=True, slots=True)
class Access:
    """How the server is reached. `sign_in` None: everybody has to where there are users.

    `log_format` None writes warnings only; `log_questions` puts the questions' text into the log.
    """

    sign_in: bool | None = None
    allow_unauthenticated: bool = False
    allowed_hosts: tuple[str, ...] = ()
    log_format: logs.Format | None = None
    log_questions: bool = False

    def asks(self, accounts: Accounts) -> bool:
        """Whether people have to sign in. Raises SettingsError where they have to and nobody can."""
        from rag.errors import SettingsError

        book = accounts.book()
        if self.sign_in and not (book.users or book.keys):
            raise SettingsError("Nobody could sign in; add a user first: abstract-qa users add NAME --admin")
        return bool(book.users) if self.sign_in is None else self.sign_in


@cache
def uploads() -> Path:
    """A folder of this process alone for what is uploaded and exported; gone when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="abstract-qa-", dir=os.environ.get("GRADIO_TEMP_DIR"))).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    return folder


def build(library: Library, host: str = "127.0.0.1", *, warm: bool = True, access: Access = Access()) -> FastAPI:
    """The application. `warm` loads the answering model in the background once it is started.

    What it answers by itself is in `app.state.own`, Gradio's pages are mounted beside it, and the gate is before both.
    """
    settings, folder = library.settings, uploads()
    accounts = Accounts(settings.home)
    asks = access.asks(accounts)
    if asks or not is_loopback(host):
        library = cast("Library", Fenced(library, settings.ingest_folders, folder))
    limit = Limit(settings.questions_per_minute if asks else 0, 60.0)
    desk = Metered(library, limit, questions=access.log_questions)
    kept = Conversations(settings.home)
    _close_to_others(settings.home)
    sessions = Sessions(settings.home, accounts, settings.session_hours) if asks else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if warm:
            desk.warm()
        else:
            desk.warmed.set()
        yield
        kept.close()
        if sessions is not None:
            sessions.close()

    own = FastAPI(
        title="abstract-qa",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        description="Ask a library of abstracts; every sentence of an answer carries the paper it comes from.",
    )
    errors.install(own)
    for routes in (api.router(desk), personal.router(desk, kept), openai_api.router(desk), health.router(desk, asks)):
        own.include_router(routes)
    if sessions is not None:
        own.include_router(SignIn(accounts, sessions, desk.metrics, settings.language).router())
    errors.describe(own, keys=asks)
    spoken: Language = settings.language
    other: Language = "zh" if spoken == "en" else "en"

    @own.get("/language/{language}", include_in_schema=False)
    def to_language(language: Language, request: Request) -> RedirectResponse:
        conversation = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(("/" if language == spoken else f"/{language}/") + conversation)

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.state.own, app.state.desk, app.state.kept = own, desk, kept
    pages: dict[str, gr.Blocks] = {}
    for language, path in ((other, f"/{other}"), (spoken, "/")):
        pages[path] = blocks = page(desk, kept, language)
        blocks.queue(default_concurrency_limit=AT_ONCE, api_open=False)
        app = gr.mount_gradio_app(
            app,
            blocks,
            path=path,
            footer_links=[],
            run_history=False,
            show_error=False,
            ssr_mode=False,
            mcp_server=language == spoken,
            theme=theme(),
            css_paths=[HERE / "style.css", *([HERE / "account.css"] if asks else [])],
            head=_scripts(language, asks),
            max_file_size=LARGEST_UPLOAD,
            auth_dependency=_signed_in if asks else None,
        )
    app.add_middleware(
        Gate,
        own=own,
        hosts=Hosts(host, (*settings.allowed_hosts, *access.allowed_hosts)),
        desk=desk,
        private=Private(pages, folder),
        mounts=tuple(pages),
        accounts=accounts if asks else None,
        sessions=sessions,
    )
    return app


def _close_to_others(home: Path) -> None:
    """Leave what users asked, rated and chose to the server's own account on this machine."""
    for name in PERSONAL:
        with suppress(OSError):  # not there yet, or on a disk without modes
            (home / name).chmod(0o600)


def _signed_in(request: Request) -> str | None:
    """The user, for Gradio: the gate let the request through and says whose it is."""
    return getattr(request.state, "user", None)


def _scripts(language: Language, asks: bool) -> str:
    names = (*SCRIPTS, *(("account.js",) if asks else ()))
    scripts = [(HERE / name).read_text(encoding="utf-8") for name in names]
    return "<script>" + "\n".join([f'const AQA_LANGUAGE = "{language}";', *scripts]) + "</script>"


def serve(library: Library, host: str = "127.0.0.1", port: int = 7860, *, access: Access = Access()) -> None:
    """Serve until interrupted; the address is printed once it can be opened, the model is loaded meanwhile.

    `port` 0 takes a free one. Raises SettingsError where others could reach it unasked, InputError for a taken port.
    """
    import socket

    import click
    import uvicorn

    from rag.errors import InputError

    signed_in = access.asks(Accounts(library.settings.home))
    check_binding(host, signed_in=signed_in, allowed=access.allow_unauthenticated)
    logs.configure(access.log_format)
    os.umask(0o077)  # what is written from here on is the server's own account's
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise InputError(
                f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port."
            ) from None
        app = build(library, host, access=access)
        listening.listen()  # whoever connects from now on waits for the answer instead of being refused
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"abstract-qa is at http://{shown}:{listening.getsockname()[1]} (stop it with Ctrl-C)")
        if signed_in:
            click.echo("Everybody has to sign in; `abstract-qa users list` shows who can.")
        proxy = library.settings.trusted_proxy
        config = uvicorn.Config(
            app,
            log_level="warning",
            log_config=None,
            timeout_graceful_shutdown=5,
            server_header=False,
            # Without a proxy that is named, what such headers say is anybody's invention.
            proxy_headers=bool(proxy),
            forwarded_allow_ips=proxy or None,
        )
        uvicorn.Server(config).run([listening])
