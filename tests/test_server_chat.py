"""A chat model behind OpenAI's protocol: whatever a server does wrong is said in a sentence, and in time."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from rag.errors import GenerationError
from rag.models.chat_model import load_chat_model
from rag.models.known import ResolvedModel
from rag.models.server_chat import ServerChat
from rag.settings import load_settings

ASK = [HumanMessage("How fast is it?")]
Act = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Does what the test says; `bodies` are the requests, `gone` is set when a client has left early."""

    act: Act
    bodies: list[dict[str, Any]] = []  # noqa: RUF012 - of all requests
    gone = threading.Event()
    until = threading.Event()

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        type(self).act(self)

    def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def say(self, text: str = "", finish: str | None = None) -> None:
        choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
        self.line(json.dumps({"id": "x", "model": "m", "choices": [choice]}))

    def line(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def drip(self, write: Callable[[], None]) -> None:
        """`write` again and again until the client leaves."""
        try:
            while not self.until.wait(0.02):
                write()
        except OSError:
            self.gone.set()

    def wait_for_leaving(self) -> None:
        """Say nothing and notice when the client closes its end."""
        self.connection.settimeout(30)
        if self.connection.recv(1) == b"":
            self.gone.set()


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Act], str]]:
    """Say what the server does; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    Handler.bodies.clear()
    Handler.gone.clear()
    Handler.until.clear()

    def chosen(what: Act) -> str:
        monkeypatch.setattr(Handler, "act", what, raising=False)
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield chosen
    Handler.until.set()
    server.shutdown()
    thread.join()
    server.server_close()


def chat_at(url: str, home: Path, **settings: Any) -> ServerChat:
    found = load_chat_model(ResolvedModel("m", "f", url=url), load_settings(home, **settings))
    assert isinstance(found, ServerChat)
    found.root_async_client.max_retries = 0
    found.async_client._client.max_retries = 0
    return found


def refuse(status: int, body: Any) -> Act:
    return lambda handler: handler.answer(status, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"error": {"message": "no key"}}, r"wants a key \(no key\); set ABSTRACT_QA_API_KEY"),
        (403, {"error": {"message": "not yours"}}, r"wants a key \(not yours\)"),
        (
            404,
            {"error": {"message": "no such model"}},
            r"has no model 'm' \(no such model\); name one it has after a '#'",
        ),
        (429, {"error": {"message": "slow down"}}, r"takes no more questions now \(slow down\)"),
        (400, {"detail": "the prompt is too long"}, r"refused \(the prompt is too long\); check its log"),
        (500, {"error": {"message": "out of memory"}}, r"refused \(out of memory\)"),
        (503, "loading", r"refused \(.+\)"),
    ],
)
def test_what_a_server_refuses_is_said_in_a_sentence(
    act: Callable[[Act], str], home: Path, status: int, body: Any, said: str
) -> None:
    url = act(refuse(status, body))
    with pytest.raises(GenerationError, match=rf"^The model server at {url} {said}") as caught:
        chat_at(url, home).invoke(ASK)
    assert len(str(caught.value)) < 250


def test_a_key_that_is_refused_is_not_asked_for_anew(
    act: Callable[[Act], str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABSTRACT_QA_API_KEY", "wrong")
    with pytest.raises(GenerationError, match="refuses the key in ABSTRACT_QA_API_KEY") as caught:
        chat_at(act(refuse(401, {"error": {"message": "unknown"}})), home).invoke(ASK)
    assert "wrong" not in str(caught.value)


def test_an_address_of_something_else_is_noticed(act: Callable[[Act], str], home: Path) -> None:
    url = act(lambda handler: handler.answer(200, b"<html>Hello</html>", "text/html"))
    with pytest.raises(GenerationError, match="sent no answer; check that the address is one of OpenAI's protocol"):
        chat_at(url, home).invoke(ASK)


def test_an_error_in_the_middle_of_a_stream_is_told(act: Callable[[Act], str], home: Path) -> None:
    def fail(handler: Handler) -> None:
        handler.begin()
        handler.say("It is ")
        handler.line(json.dumps({"error": {"message": "out of memory"}}))

    chunks = chat_at(act(fail), home).stream(ASK)
    assert next(chunks).text == "It is "
    with pytest.raises(GenerationError, match="out of memory"):
        list(chunks)


def test_a_connection_cut_in_the_middle_is_told(act: Callable[[Act], str], home: Path) -> None:
    def cut(handler: Handler) -> None:
        handler.begin(length=10_000)
        handler.say("It is ")
        handler.connection.shutdown(socket.SHUT_RDWR)

    chunks = chat_at(act(cut), home).stream(ASK)
    assert next(chunks).text == "It is "
    with pytest.raises(GenerationError, match=r"broke off in the middle of its answer \(.+\); ask again"):
        list(chunks)


def test_a_server_that_says_nothing_is_given_up(act: Callable[[Act], str], home: Path) -> None:
    url = act(Handler.wait_for_leaving)
    with pytest.raises(GenerationError, match=r"did not answer within 0\.3 s; ask again or raise `answer_seconds`"):
        chat_at(url, home, answer_seconds=0.3).invoke(ASK)
    assert Handler.gone.wait(20)


@pytest.mark.parametrize(
    "write", [lambda handler: handler.say("and "), lambda handler: handler.wfile.write(b": ping\n")]
)
def test_an_answer_without_end_is_stopped_and_kept(
    act: Callable[[Act], str], home: Path, write: Callable[[Handler], None]
) -> None:
    def go_on(handler: Handler) -> None:
        handler.begin()
        handler.say("It is fast. ")
        handler.drip(lambda: write(handler))

    found = chat_at(act(go_on), home, answer_seconds=0.5).invoke(ASK)
    assert found.text.startswith("It is fast. ")
    assert found.response_metadata["finish_reason"] == "time_limit"
    assert Handler.gone.wait(20)


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_a_reply_that_is_stopped_closes_the_connection(act: Callable[[Act], str], home: Path, how: str) -> None:
    def wait(handler: Handler) -> None:
        handler.begin()
        handler.say("It is ")
        handler.wait_for_leaving()

    cancel = threading.Event()
    chunks = chat_at(act(wait), home).stream(ASK, cancel=cancel)
    assert next(chunks).text == "It is "
    if how == "cancel":
        threading.Timer(0.2, cancel.set).start()
        assert "".join(str(chunk.text) for chunk in chunks) == ""
    else:
        chunks.close()  # type: ignore[attr-defined]
    assert Handler.gone.wait(20)


def test_the_most_tokens_have_both_names_for_servers_of_ones_own(act: Callable[[Act], str], home: Path) -> None:
    def count(handler: Handler) -> None:
        handler.begin()
        handler.say("one", finish="stop")

    chat_at(act(count), home, max_new_tokens=33).invoke(ASK)
    assert (Handler.bodies[-1]["max_tokens"], Handler.bodies[-1]["max_completion_tokens"]) == (33, 33)
    openai = chat_at("https://api.openai.com/v1", home, max_new_tokens=33)
    assert "max_tokens" not in openai._get_request_payload(ASK)


def test_answers_do_not_wait_for_each_other(act: Callable[[Act], str], home: Path) -> None:
    both = threading.Barrier(2, timeout=20)

    def meet(handler: Handler) -> None:
        both.wait()  # passes only when two are asked at the same time
        handler.begin()
        handler.say("met", finish="stop")

    chat = chat_at(act(meet), home)
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(chat.invoke(ASK).text)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert said == ["met", "met"]
