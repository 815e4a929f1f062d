"""Questions of any text, over HTTP and from the shell, and whatever a model may write: an answer or one sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from rag import Library
from rag.answer_json import to_json
from rag.answering.pipeline import Answerer
from rag.answering.verify import Verifier
from rag.errors import InputError
from rag.models.writer import Writer
from rag.types import Answer, Filters, Turn
from tests.fakes import FakeChatModel, FakeEncoder
from tests.library import fill, paper
from tests.served import serving
from ui.exchange import new_exchange
from ui.html import exchange_html
from ui.text import Words

TRAPS = (
    "\ud800 lone \udfff",
    "nul \x00 and \x07 bell",
    "😀" * 200,
    "‮ كم عدد النقاط ‬",
    "$\\frac{1}{ and \\begin{equation} [1] {{placeholder}} {0} %s",
    "word " * 5000,
    "?" * 3000,
    "a" * 50_000,
    "(" * 3000,
    "0" * 5000 + " papers since " + "9" * 5000,
    "compare " + "X and " * 400,
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "' OR 1=1; DROP TABLE papers; --",
    "field:value AND (title:[* TO *]) ~2 ^9 \\",
    "../../etc/passwd#1",
    " ﻿ 　",
    "e" + "́" * 2000,
    "between 2030 and 1999 in venue ''",
    "How many points on benchb" + "?" * 50,
)
TEXTS = st.one_of(
    st.sampled_from(TRAPS),
    st.text(max_size=120),
    st.text(st.characters(exclude_categories=[]), max_size=60),
    st.lists(st.sampled_from([*TRAPS[3:5], "compare", "which paper", "how many", "list", "2021", "in ICLR", "\n", "?"]))
    .map(" ".join)
    .map(lambda text: text[:2000]),
)
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with Library.open(tmp_path_factory.mktemp("hostile"), encoder=FakeEncoder(dimension=64), llm="none") as made:
        fill(made.index, [paper(number) for number in range(24)])
        yield made


@pytest.fixture(scope="module")
def client(library: Library) -> Iterator[httpx.Client]:
    with serving(library) as running, running.client() as made:  # type: ignore[arg-type]
        made.timeout = 60
        yield made


def told(response: httpx.Response) -> None:
    """Fails unless the response is an answer or an error of one sentence that is the asker's own."""
    assert response.status_code < 500, response.text[:500]
    if response.status_code >= 400:
        message = response.json()["error"]["message"]
        assert message
        assert "Traceback" not in message


def body(**fields: Any) -> bytes:
    """JSON with every character escaped, so that lone surrogates reach the server."""
    return json.dumps(fields).encode("ascii")


@pytest.mark.parametrize("text", TRAPS, ids=range(len(TRAPS)))
@pytest.mark.parametrize("route", ["/api/ask", "/api/search", "/v1/chat/completions"])
def test_traps_over_http(client: httpx.Client, route: str, text: str) -> None:
    fields: dict[str, Any] = {
        "/api/ask": {"question": text, "history": [{"role": "user", "content": text}]},
        "/api/search": {"query": text, "venue": text[:200]},
        "/v1/chat/completions": {"model": "abstract-qa", "messages": [{"role": "user", "content": text}]},
    }[route]
    told(client.post(route, content=body(**fields), headers={"Content-Type": "application/json"}))


@QUIET
@given(TEXTS)
def test_any_question_over_http(client: httpx.Client, text: str) -> None:
    told(client.post("/api/ask", content=body(question=text), headers={"Content-Type": "application/json"}))


@QUIET
@given(TEXTS, TEXTS)
def test_any_question_in_process(library: Library, text: str, before: str) -> None:
    with suppress(InputError):
        sound(library.ask(text, (Turn("user", before), Turn("assistant", before))))


@QUIET
@given(st.text(max_size=60).filter(lambda text: "\x00" not in text))
def test_any_path_and_parameter(client: httpx.Client, text: str) -> None:
    told(client.get("/api/search", params={"q": text}))
    told(client.get("/api/papers", params={"text": text, "venue": text}))
    told(client.get(httpx.URL(str(client.base_url)).copy_with(raw_path=b"/api/papers/" + _quoted(text))))
    told(client.get(f"/api/exchanges/{_quoted(text).decode()}/export"))


def _quoted(text: str) -> bytes:
    return b"".join(b"%%%02X" % byte for byte in text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file=../../../../etc/passwd",
        "/gradio_api/file=%2e%2e/%2e%2e/etc/passwd",
        "/gradio_api/file=file:///etc/passwd",
        "/gradio_api/file=http://192.0.2.7/x",
        "/file=/etc/passwd",
        "/static/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2f..%2fetc/passwd",
        "/theme.css/../../../../etc/passwd",
    ],
)
def test_no_route_gives_a_file_of_the_machine(client: httpx.Client, path: str) -> None:
    url = httpx.URL(str(client.base_url)).copy_with(raw_path=path.encode())
    response = client.get(url)
    assert "root:" not in response.text
    assert response.status_code < 500


def test_a_folder_or_a_device_is_no_paper(client: httpx.Client, tmp_path: Path) -> None:
    for path in ("/dev/zero", "/proc/self/mem", str(tmp_path / "no")):
        number = client.post("/api/ingest", json={"paths": [path]}).json()["id"]
        for _ in range(200):
            status = client.get(f"/api/ingest/{number}").json()
            if status["state"] != "reading":
                break
        assert status["state"] == "failed" or status["report"]["rejected"]


# What a model may write


class Seen(HTMLParser):
    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def sound(answer: Answer) -> None:
    """Fails unless the answer cites what is there and can be sent and shown."""
    known = {citation.n for citation in answer.citations}
    for sentence in answer.sentences:
        if sentence.support != "unsupported":
            assert set(sentence.citations) <= known
        for piece in sentence.evidence:
            assert piece.span.text
    json.dumps(to_json(answer), ensure_ascii=False)


PIECES = (
    *("It reaches 7 points", "on benchk", "[1]", "[99]", "[1, 2]", "[-1]", "[1", "]", ". ", "! ", "。", "\n", "\n- "),
    *("**", "`", "```\n", "$x^{", "$$", "\\(", "\\frac{1}{", "<b>", "</p>", "<script>", "<img src=x onerror=a()>"),
    *("[a](javascript:b())", "![i](http://192.0.2.7/x)", "https://evil.example", "<|im_end|>", "I don't know.", "😀"),
    *("\x00", "\ud800", "| a | b |\n|---|---|\n", "  ", "9" * 400, "word " * 50, "“", "”", "...", "Method7 ", "&lt;"),
    *("1. ", "e.g. ", "{{question}}"),
)
WRITTEN = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=200), st.just("word " * 8000)
)


def shown(library: Library, written: str) -> tuple[Answer, str]:
    writer = Writer(FakeChatModel(script=[_cut(written)]), {"name": "fake"})
    answerer = Answerer(library.index, library.searcher, Verifier(FakeEncoder(dimension=64)), library.settings, writer)
    exchange = new_exchange("What does Method7 reach?", Filters())
    for event in answerer.stream("How many points does Method7 reach on benchk?"):
        exchange = exchange.after(event)
        page = exchange_html(exchange, Words("en"))
    assert exchange.answer is not None
    return exchange.answer, page


def _cut(written: str) -> list[str]:
    """The text in pieces of uneven length, as a model streams it."""
    chance = random.Random(len(written))
    pieces = []
    while written:
        length = chance.randrange(1, 40)
        pieces.append(written[:length])
        written = written[length:]
    return pieces or [""]


@QUIET
@given(WRITTEN)
def test_whatever_a_model_writes(library: Library, written: str) -> None:
    answer, page = shown(library, written)
    sound(answer)
    seen = Seen(page)
    assert not {"script", "img", "b", "iframe", "style"} & seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert not [
        value for name, value in seen.attributes if name in ("href", "src") and ("evil" in value or ":b" in value)
    ]


def test_a_model_that_fails_in_the_middle_is_told(library: Library) -> None:
    def broken(messages: list[BaseMessage]) -> str:
        raise RuntimeError("no more memory")

    writer = Writer(FakeChatModel(script=[broken]), {"name": "fake"})
    answerer = Answerer(library.index, library.searcher, Verifier(FakeEncoder(dimension=64)), library.settings, writer)
    with pytest.raises(Exception, match="no more memory"):
        answerer.ask("How many points does Method7 reach on benchk?")


def test_code_from_model_folders_is_never_trusted() -> None:
    root = Path(__file__).parent.parent
    named = [
        line.strip()
        for folder in ("rag", "ui", "eval", "scripts")
        for path in (root / folder).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "trust_remote_code" in line
    ]
    assert len(named) >= 4
    assert all("trust_remote_code=False" in line for line in named)
