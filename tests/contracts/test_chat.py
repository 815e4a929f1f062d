"""What every chat model of this program keeps to, whatever is behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from rag.errors import GenerationError
from rag.models.chat_model import TransformersChat, load_chat_model
from rag.models.known import ResolvedModel, resolve
from rag.settings import load_settings
from tests.fakes import FakeChatModel

COUNT = "one two three four five six seven eight nine ten eleven twelve"
MESSAGES = [SystemMessage("Say it."), HumanMessage("count")]


class Server(BaseHTTPRequestHandler):
    """Speaks enough of OpenAI's protocol: it counts, word by word; `requests` keeps what it was asked."""

    requests: list[dict[str, Any]] = []  # noqa: RUF012 - shared by the handlers on purpose
    status = 200

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [{"id": "counter"}]}).encode())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({**asked, "authorization": self.headers["Authorization"]})
        words = COUNT.split(" ")
        pieces = [word if place == 0 else f" {word}" for place, word in enumerate(words)]
        if self.status != 200:
            self._send("application/json", json.dumps({"error": {"message": "no room"}}).encode())
        elif asked.get("stream"):
            events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
            events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            lines = [f"data: {json.dumps({'id': 'x', 'model': 'counter', **event})}\n\n" for event in events]
            self._send("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())
        else:
            message = {"role": "assistant", "content": COUNT}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._send("application/json", json.dumps({"id": "x", "model": "counter", "choices": [choice]}).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(self.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def tiny(tiny_chat_folder: Path) -> TransformersChat:
    home = tiny_chat_folder
    found = load_chat_model(resolve(str(home), home, "llm"), load_settings(home, dtype="fp32"))
    assert isinstance(found, TransformersChat)
    return found


@pytest.fixture(params=["fake", "transformers", "server"])
def any_chat(request: pytest.FixtureRequest, home: Path) -> BaseChatModel:
    if request.param == "fake":
        return FakeChatModel(script=[COUNT])
    if request.param == "transformers":
        tiny: BaseChatModel = request.getfixturevalue("tiny")
        return tiny
    return load_chat_model(resolve(request.getfixturevalue("address"), home, "llm"), load_settings(home))


def test_stream_and_invoke_say_the_same(any_chat: BaseChatModel) -> None:
    chunks = list(any_chat.stream(MESSAGES))
    assert "".join(str(chunk.text) for chunk in chunks) == COUNT
    assert any_chat.invoke(MESSAGES).text == COUNT
    assert len(chunks) > 3


def test_this_programs_arguments_are_taken(any_chat: BaseChatModel) -> None:
    cancel = threading.Event()
    chunks = any_chat.stream(MESSAGES, allowed_citations=2, max_new_tokens=200, cancel=cancel)
    assert "".join(str(chunk.text) for chunk in chunks) == COUNT
    assert any_chat.invoke(MESSAGES, allowed_citations=2, max_new_tokens=200, cancel=cancel).text == COUNT


def test_a_stream_closed_early_leaves_the_model_usable(any_chat: BaseChatModel) -> None:
    with closing(any_chat.stream(MESSAGES)) as chunks:  # type: ignore[type-var]
        assert next(iter(chunks)).text
    assert any_chat.invoke(MESSAGES).text == COUNT


def test_tokens_are_counted_without_the_network(any_chat: BaseChatModel) -> None:
    assert 1 <= any_chat.get_num_tokens("four words of text") <= 18
    assert any_chat.get_num_tokens(COUNT * 9) > any_chat.get_num_tokens(COUNT)


def test_the_last_chunk_says_how_it_ended(any_chat: BaseChatModel) -> None:
    if isinstance(any_chat, FakeChatModel):
        pytest.skip("a script has no reason to end")
    last = [chunk for chunk in any_chat.stream(MESSAGES) if chunk.response_metadata.get("finish_reason")]
    assert [chunk.response_metadata["finish_reason"] for chunk in last] == ["stop"]


def test_a_failure_reaches_the_reader_as_generation_error(
    any_chat: BaseChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(any_chat, FakeChatModel):
        any_chat.script = [["one", GenerationError("no room")]]
    elif isinstance(any_chat, TransformersChat):

        def fail(*arguments: Any, **options: Any) -> None:
            raise RuntimeError("no room")

        monkeypatch.setattr(any_chat._model, "forward", fail)
    else:
        monkeypatch.setattr(Server, "status", 400)
    with pytest.raises(GenerationError, match="no room"):
        list(any_chat.stream(MESSAGES))


def test_a_server_is_asked_which_model_it_has_and_gets_the_key(
    address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABSTRACT_QA_API_KEY", "secret")
    resolved = resolve(address, home, "llm")
    assert resolved == ResolvedModel("counter", resolved.fingerprint, url=f"{address}/v1")
    load_chat_model(resolved, load_settings(home, max_new_tokens=33)).invoke(MESSAGES, allowed_citations=1)
    asked = Server.requests[-1]
    assert asked["authorization"] == "Bearer secret"
    assert asked["model"] == "counter"
    assert asked["temperature"] == 0
    assert asked["max_completion_tokens"] == 33
    assert "allowed_citations" not in asked


def test_a_server_that_is_not_there_is_named(home: Path) -> None:
    chat = load_chat_model(ResolvedModel("x", "f", url="http://127.0.0.1:9/v1"), load_settings(home))
    with pytest.raises(GenerationError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached; start it"):
        chat.invoke(MESSAGES)
