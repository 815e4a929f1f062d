"""A real Chromium against a real server: over a fake library of six invented papers, or over a real one on disk."""

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
import uvicorn

from rag.library import Library
from tests.fakes import FakeEncoder
from tests.fakes_ui import FakeLibrary, built

# What Gradio's own client says of a stream that a page leaves open when it is left.
LEAVING = ("BodyStreamBuffer was aborted", "Connection errored out", "AbortError: signal is aborted")
GONE = ("net::ERR_", "network error", "Cancelled via cancel scope")


class Served:
    """A server that can be stopped and started again over the same home."""

    def __init__(self, library, reopen=None, warm=False):
        self.library = library
        self.reopen = reopen
        self.warm = warm
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        if self.library is None:
            self.library = self.reopen()
        config = uvicorn.Config(
            built(self.library, warm=self.warm), port=self.port, log_level="critical", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.05)

    def stop(self):
        self.server.should_exit = True
        self.thread.join()
        if self.reopen is not None:
            self.library.close()
            self.library = None


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Served(FakeLibrary(tmp_path_factory.mktemp("home"), pause=0.03))
    yield server
    server.stop()


@pytest.fixture
def over(tmp_path):
    """A function that serves a real library over a home; nothing but the embedder is a fake."""
    servers = []

    def serve(home, warm=False, **settings):
        def reopen():
            return Library.open(home, encoder=FakeEncoder(), **({"llm": "none"} | settings))

        servers.append(Served(None, reopen, warm))
        return servers[-1]

    yield serve
    for server in servers:
        if server.library is not None:
            server.stop()


@pytest.fixture
def opened(browser, over, request):
    """A function that opens a page; at the end no error was on the console and nothing went to another host.

    `page.expected` holds parts of what may stand on the console all the same.
    """
    contexts, wrong = [], []

    def open_page(path="/", width=1440, height=900, server=None, **options):
        server = server or request.getfixturevalue("served")
        context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.expected = list(LEAVING)
        page.set_default_timeout(40_000)

        def noted(text):
            if not any(part in text for part in page.expected):
                wrong.append(text)

        page.on("console", lambda message: noted(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: noted(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if _outside(request.url) else None)
        page.goto(server.address + path)
        page.locator(".aqa-welcome, .aqa-exchange").first.wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def _outside(url):
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1"
