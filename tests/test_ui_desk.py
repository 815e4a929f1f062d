"""Questions at the desk: how many at once, whose turn, stopped when the one who asked is gone."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from rag.errors import Busy, GenerationError, LibraryEmpty
from rag.events import Stage
from rag.types import Filters
from tests.fakes_ui import FakeLibrary, built
from ui.desk import MOST_AT_ONCE, MOST_EACH, Desk, Run
from ui.exchange import new_exchange
from ui.streams import events
from ui.users import LOCAL, owner_of


@pytest.fixture
def library(tmp_path: Path) -> FakeLibrary:
    return FakeLibrary(tmp_path)


@pytest.fixture
def desk(library: FakeLibrary) -> Desk:
    made = Desk(library)  # type: ignore[arg-type]
    made.warmed.set()
    return made


def test_one_asker_cannot_take_all_places(desk: Desk):
    from contextlib import ExitStack

    with ExitStack() as open_runs:
        for _ in range(MOST_EACH):
            open_runs.enter_context(desk.run(owner_of("ada", "page")))
        with pytest.raises(Busy, match=f"{MOST_EACH} questions of yours"), desk.run(owner_of("ada", "http")):
            pass
        for _ in range(MOST_AT_ONCE - MOST_EACH):
            open_runs.enter_context(desk.run(owner_of("bob", "page")))
        with pytest.raises(Busy, match=f"{MOST_AT_ONCE} questions are being answered"), desk.run("someone else"):
            pass
    assert desk.busy == 0
    with desk.run(owner_of("ada", "page")):
        assert desk.busy == 1


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (owner_of("ada", "page", "x"), owner_of("ada", "http", "y"), True),
        (owner_of("ada", "page", "x"), owner_of("bob", "page", "y"), False),
        (owner_of(LOCAL, "page", "x"), owner_of(LOCAL, "page", "y"), False),
        (owner_of(LOCAL, "http", "x"), owner_of(LOCAL, "http", "y"), True),
        (owner_of(LOCAL, "http", "x"), owner_of(LOCAL, "mcp", "y"), False),
        ("a tab's hash", "another tab's hash", False),
    ],
)
def test_who_counts_as_one_asker(first: str, second: str, same: bool):
    assert (Run(1, first).asker == Run(2, second).asker) is same


def test_an_exception_frees_the_place(desk: Desk):
    with pytest.raises(RuntimeError, match="a defect"), desk.run("a tab") as run:
        list(desk.stream(run, "fail, please"))
    assert desk.busy == 0


def test_the_model_is_warmed_up_and_a_failure_is_kept(desk: Desk, library: FakeLibrary, monkeypatch):
    class Writer:
        warmed = 0

        def warm_up(self) -> None:
            self.warmed += 1
            raise GenerationError("The model has no memory.")

    writer = Writer()
    monkeypatch.setattr(library, "writer", lambda reference: writer)
    desk.use("a model")
    assert desk.warmed.wait(10)
    assert writer.warmed == 1
    assert desk.problem == "The model has no memory."


@pytest.mark.parametrize("empty", [False, True])
def test_the_search_is_warmed_up_before_the_model(desk: Desk, library: FakeLibrary, monkeypatch, empty: bool):
    done: list[str] = []

    def search(query: str, k: int) -> tuple[()]:
        done.append("search")
        if empty:
            raise LibraryEmpty("There are no papers.")
        return ()

    class Writer:
        def warm_up(self) -> None:
            done.append("model")

    monkeypatch.setattr(library, "search", search)
    monkeypatch.setattr(library, "writer", lambda reference: Writer())
    desk.use("a model")
    assert desk.warmed.wait(10)
    assert done == ["search", "model"]
    assert desk.problem is None


def test_the_place_in_the_line_is_part_of_the_exchange():
    exchange = new_exchange("How?", Filters()).after(Stage("waiting", 3))
    assert (exchange.stage, exchange.ahead) == ("waiting", 3)
    assert exchange.after(Stage("reading")).ahead == 0


@pytest.fixture
def slow(library: FakeLibrary, monkeypatch) -> Iterator[str]:
    """The address of a server whose looks at who is still there are frequent."""
    monkeypatch.setattr("ui.streams.LOOK_EVERY", 0.05)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(built(library), log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


SLOW = "slow"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/ask", {"question": SLOW, "stream": True}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": SLOW}], "stream": True}),
    ],
)
def test_a_client_that_leaves_a_stream_stops_its_answer(slow: str, library: FakeLibrary, path: str, body: dict):
    with httpx.stream("POST", f"{slow}{path}", json=body) as response:
        next(response.iter_lines())
    assert library.cancelled.wait(20)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/ask", {"question": SLOW}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": SLOW}]}),
    ],
)
def test_a_client_that_waits_no_longer_stops_its_answer(slow: str, library: FakeLibrary, path: str, body: dict):
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{slow}{path}", json=body, timeout=1)
    assert library.cancelled.wait(20)


def test_search_and_papers_answer_while_all_places_are_taken(slow: str, library: FakeLibrary):
    def ask() -> None:
        with httpx.stream("POST", f"{slow}/api/ask", json={"question": SLOW, "stream": True}) as response:
            lines = response.iter_lines()  # closing this would close the connection
            while not next(lines).startswith("event: token"):
                pass
            begun.release()
            done.wait(60)

    begun, done = threading.Semaphore(0), threading.Event()
    threads = [threading.Thread(target=ask) for _ in range(MOST_EACH)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=60)
    assert httpx.post(f"{slow}/api/search", json={"query": "kites"}).status_code == 200
    assert httpx.get(f"{slow}/api/papers").json()["total"] == 6
    refused = httpx.post(f"{slow}/api/ask", json={"question": "How?"})
    assert refused.status_code == 503
    assert refused.json()["error"]["type"] == "Busy"
    done.set()
    for thread in threads:
        thread.join()


def waited(coroutine: Coroutine[Any, Any, list[str]]) -> list[str]:
    """What `coroutine` returns, run in a thread of its own: Playwright leaves a loop running in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def test_an_error_reaches_the_one_who_waits_for_events(desk: Desk):
    async def gone() -> bool:
        return False

    async def read() -> list[str]:
        return [type(event).__name__ async for event in events(desk, "fail", (), Filters(), None, gone)]

    with pytest.raises(RuntimeError, match="a defect"):
        waited(read())
    assert desk.busy == 0


def test_the_place_in_the_line_is_sent(desk: Desk, library: FakeLibrary, monkeypatch):
    from ui.api import _sse

    monkeypatch.setattr(library, "stream", lambda *_: iter([Stage("waiting", 2)]))

    async def gone() -> bool:
        return False

    async def read() -> list[str]:
        return [text async for text in _sse(events(desk, "How?", (), Filters(), None, gone))]

    (sent,) = waited(read())
    assert json.loads(sent.split("data: ")[1]) == {"stage": "waiting", "ahead": 2}
