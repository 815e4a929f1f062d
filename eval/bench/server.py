"""A real `abstract-qa serve` process, and users of it over HTTP."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

from eval.bench.machine import ROOT, memory_of
from eval.bench.worker import WorkerFailed

READY_S = 300.0
ANSWER_S = 600.0


class Server:
    """A server on a free port. `shown_ms` is the time until it answered, `ready_ms` until its model was loaded."""

    def __init__(self, home: Path, llm: str) -> None:
        began = time.perf_counter()
        command = [str(Path(sys.executable).with_name("abstract-qa")), "serve", "--port", "0", "--home", str(home)]
        command += ["--no-llm"] if llm == "none" else ["--llm", llm]
        # One client for all: making one costs as much as a search.
        self.client = httpx.Client(timeout=ANSWER_S, trust_env=False)
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        try:
            self.client.base_url = self._announced()
            self._until("/healthz")
            self.shown_ms = (time.perf_counter() - began) * 1000
            self._until("/readyz")
            self.ready_ms = (time.perf_counter() - began) * 1000
        except BaseException:
            self.close()
            raise

    def _announced(self) -> httpx.URL:
        for text in self._process.stdout or ():
            if found := re.search(r"http://\S+", text):
                return httpx.URL(found[0])
        raise WorkerFailed(f"abstract-qa serve ended with status {self._process.wait()}; its errors stand above.")

    def _until(self, path: str) -> None:
        end = time.monotonic() + READY_S
        while time.monotonic() < end:
            try:
                if self.client.get(path).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise WorkerFailed(f"abstract-qa serve did not become ready within {READY_S:.0f} s.")

    def memory(self) -> dict[str, int | None]:
        """The server's memory in bytes, see `Memory`."""
        return memory_of(self._process.pid).as_json()

    def close(self) -> None:
        """Stop it."""
        self.client.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ask(client: httpx.Client, question: str, **fields: Any) -> dict[str, float | None]:
    """Milliseconds from asking to the first source, the first token (None: no model wrote) and the whole answer.

    Raises WorkerFailed where no answer comes.
    """
    began = time.perf_counter()
    seen: dict[str, float | None] = {"sources": None, "token": None, "answer": None}
    body = {"question": question, "stream": True, **fields}
    with client.stream("POST", "/api/ask", json=body) as response:
        response.raise_for_status()
        for name, data in events(response.iter_lines()):
            if name == "error":
                raise WorkerFailed(f"The server answered with an error: {data.get('message')}")
            if name in seen and seen[name] is None:
                seen[name] = (time.perf_counter() - began) * 1000
    if seen["answer"] is None:
        raise WorkerFailed("The server's stream ended before the answer was complete.")
    return {"first_source": seen["sources"], "first_token": seen["token"], "total": seen["answer"]}


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Name and data of server-sent events."""
    name = "message"
    for text in lines:
        if text.startswith("event:"):
            name = text[6:].strip()
        elif text.startswith("data:"):
            yield name, orjson.loads(text[5:])


def search(client: httpx.Client, query: str) -> float:
    """Milliseconds of one search."""
    began = time.perf_counter()
    client.get("/api/search", params={"q": query}).raise_for_status()
    return (time.perf_counter() - began) * 1000
