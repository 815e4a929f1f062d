"""A real Chromium against a real server with a library of six invented papers."""

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
import uvicorn

from tests.fakes_ui import FakeLibrary, built


class Served:
    """A server that can be stopped and started again over the same home."""

    def __init__(self, library):
        self.library = library
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        config = uvicorn.Config(built(self.library), port=self.port, log_level="error", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.05)

    def stop(self):
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Served(FakeLibrary(tmp_path_factory.mktemp("home"), pause=0.03))
    yield server
    server.stop()


@pytest.fixture
def opened(browser, served):
    """A function that opens a page; at the end no error was on the console and nothing went to another host."""
    contexts, wrong = [], []

    def open_page(path="/", width=1440, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if _outside(request.url) else None)
        page.goto(served.address + path)
        page.locator(".aqa-welcome, .aqa-exchange").first.wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def _outside(url):
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1"
