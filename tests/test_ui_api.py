"""The HTTP interface over the whole application, the `openai` package and an MCP client against it."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import uvicorn

from rag.errors import SettingsError
from tests.fakes_ui import FakeLibrary, built
from ui.security import check_binding, is_loopback


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return FakeLibrary(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def address(library):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(built(library), log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def test_an_answer_has_the_shape_of_the_contract(address):
    answer = httpx.post(f"{address}/api/ask", json={"question": "How does KiteNet steer?"}).json()
    assert answer["status"] == "answered"
    assert [c["n"] for c in answer["citations"]] == [1, 2, 3]


def test_a_stream_ends_with_the_answer(address):
    with httpx.stream("POST", f"{address}/api/ask", json={"question": "How?", "stream": True}) as response:
        lines = [line for line in response.iter_lines() if line]
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names[:3] == ["stage", "understood", "stage"]
    assert names[3] == "sources"
    assert names[-1] == "answer"
    assert json.loads(lines[-1].removeprefix("data: "))["answer"]


def test_filters_and_history_reach_the_library(address, library):
    httpx.post(
        f"{address}/api/ask",
        json={
            "question": "And then?",
            "history": [{"role": "user", "content": "How?"}],
            "venue": "LOOMS",
            "year_from": 2022,
        },
    )
    question, history, filters = library.asked[-1]
    assert question == "And then?"
    assert history[0].content == "How?"
    assert (filters.venue, filters.year_from) == ("LOOMS", 2022)


@pytest.mark.parametrize("body", [{}, {"question": ""}, {"question": "x", "k": 0}, {"question": "x", "other": 1}])
def test_a_wrong_body_is_refused(address, body):
    assert httpx.post(f"{address}/api/ask", json=body).status_code == 422


def test_a_users_fault_is_one_sentence(address):
    response = httpx.post(f"{address}/api/search", json={"query": "   "})
    assert response.status_code == 400
    assert response.json()["error"] == {"type": "InputError", "message": "The query is empty; give some words."}


def test_papers_are_listed_found_and_exported(address):
    assert httpx.get(f"{address}/api/papers", params={"limit": 2}).json()["total"] == 6
    assert httpx.get(f"{address}/api/papers/p1").json()["title"].startswith("KiteNet")
    assert httpx.get(f"{address}/api/papers/p99").status_code == 404
    assert httpx.get(f"{address}/api/papers/p1/export").text.startswith("@")
    assert len(httpx.get(f"{address}/api/papers/p1/similar").json()["papers"]) == 4


def test_health(address):
    assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{address}/readyz").json()["ready"] is True


def test_other_names_and_origins_are_refused(address):
    assert httpx.get(f"{address}/api/papers", headers={"Host": "evil.example"}).status_code == 421
    refused = httpx.post(f"{address}/api/search", json={"query": "x"}, headers={"Origin": "http://evil.example"})
    assert refused.status_code == 403


def test_unknown_conversations_are_not_found(address):
    for path in ("conversations/x", "conversations/x/export", "conversations/x/sources", "exchanges/x/export"):
        assert httpx.get(f"{address}/api/{path}").status_code == 404
    assert httpx.post(f"{address}/api/exchanges/x/feedback", json={"rating": "up"}).status_code == 404


def test_openai_client(address):
    from openai import OpenAI

    client = OpenAI(base_url=f"{address}/v1", api_key="none")
    assert [model.id for model in client.models.list()] == ["abstract-qa"]
    asked = [{"role": "user", "content": "How does KiteNet steer?"}]
    whole = client.chat.completions.create(model="abstract-qa", messages=asked)
    message = whole.choices[0].message
    assert "[1]" in message.content
    assert [c["n"] for c in message.model_extra["citations"]] == [1, 2, 3]
    pieces, cited = [], None
    for chunk in client.chat.completions.create(model="abstract-qa", messages=asked, stream=True):
        delta = chunk.choices[0].delta
        pieces.append(delta.content or "")
        cited = (delta.model_extra or {}).get("citations") or cited
    assert "".join(pieces) == message.content
    assert [c["n"] for c in cited] == [1, 2, 3]
    client.close()


def test_mcp_client(address):
    import anyio
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def use():
        async with (
            streamable_http_client(f"{address}/gradio_api/mcp/") as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            listed = await session.list_tools()
            asked = await session.call_tool("ask", {"question": "How does KiteNet steer?"})
            found = await session.call_tool("search_papers", {"query": "kites", "k": 2})
            paper = await session.call_tool("get_paper", {"reference": "p2"})
            return {tool.name for tool in listed.tools}, *(json.loads(r.content[0].text) for r in (asked, found, paper))

    # In a thread of its own, since a browser test before it may have left a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        names, answer, found, paper = pool.submit(anyio.run, use).result()
    assert names == {"ask", "search_papers", "get_paper"}
    assert [citation["n"] for citation in answer["citations"]] == [1, 2, 3]
    assert len(found["papers"]) == 2
    assert paper["title"].startswith("LoomQA")


def test_only_the_meant_endpoints_are_offered(address):
    info = httpx.get(f"{address}/gradio_api/info").json()
    assert set(info["named_endpoints"]) == {"/ask", "/search_papers", "/get_paper"}
    assert info["unnamed_endpoints"] == {}


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.org", False)],
)
def test_loopback(host, own):
    assert is_loopback(host) is own


def test_listening_elsewhere_needs_to_be_meant():
    with pytest.raises(SettingsError, match="--allow-unauthenticated"):
        check_binding("0.0.0.0", signed_in=False, allowed=False)
    check_binding("0.0.0.0", signed_in=False, allowed=True)
    check_binding("127.0.0.1", signed_in=False, allowed=False)
