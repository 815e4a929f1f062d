"""Signing in, keys, limits, hosts, headers, logs and metrics on real servers."""

import io
import json
import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from rag.errors import InputError, SettingsError
from rag.settings import Settings
from tests.fakes_ui import FakeLibrary
from tests.served import PASSWORD, serving
from ui import logs
from ui.accounts import Accounts
from ui.app import Access
from ui.metered import Fenced
from ui.security import Hosts, is_foreign
from ui.signin import PER_ADDRESS


class Limited(FakeLibrary):
    def __init__(self, home, **settings):
        super().__init__(home)
        self.settings = Settings(home=home, llm="none", **settings)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with serving(Limited(home, questions_per_minute=3), ("*anna", "bert"), log_questions=False) as running:
        yield running


@pytest.fixture
def nobody(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def key(server):
    return Accounts(server.library.settings.home).add_key("program", admin=True)


def test_the_page_leads_to_signing_in_and_back(nobody):
    sent = nobody.get("/?c=abc", headers={"Accept": "text/html"})
    assert sent.status_code == 303
    assert sent.headers["location"] == "/sign-in?next=%2F%3Fc%3Dabc"
    page = nobody.get(sent.headers["location"])
    assert 'name="next" value="/?c=abc"' in page.text
    signed = nobody.post("/sign-in", data={"name": "Anna ", "password": PASSWORD, "next": "/?c=abc"})
    assert (signed.status_code, signed.headers["location"]) == (303, "/?c=abc")
    cookie = signed.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert nobody.get("/").status_code == 200
    assert nobody.get("/api/me").json() == {"user": "anna", "admin": True, "sign_in": True}


@pytest.mark.parametrize(
    "then",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nSet-Cookie: x=1"],
)
def test_signing_in_leads_nowhere_else(nobody, then):
    assert nobody.post("/sign-in", data={"name": "anna", "password": PASSWORD, "next": then}).headers["location"] == "/"


def test_a_wrong_password_and_an_unknown_name_are_told_the_same_in_both_languages(nobody):
    wrong = nobody.post("/sign-in", data={"name": "bert", "password": "x"})
    unknown = nobody.post("/sign-in", data={"name": "zoe", "password": "x"})
    assert wrong.status_code == unknown.status_code == 401
    assert "The name or the password is not right." in wrong.text
    assert wrong.text.replace("bert", "zoe") == unknown.text
    chinese = nobody.post("/sign-in", data={"name": "bert", "password": "x", "language": "zh"})
    assert "用户名或密码不正确。" in chinese.text
    assert 'lang="zh"' in chinese.text
    assert nobody.post("/sign-in", data={"name": '"><script>1', "password": "x"}).text.count("<script>") == 1


def test_signing_out_ends_the_session_whoever_kept_the_cookie(server):
    with server.signed_in("anna") as anna:
        kept = dict(anna.cookies)
        assert anna.post("/sign-out").status_code == 303
        assert httpx.get(f"{server.address}/api/me", cookies=kept).status_code == 401


def test_a_removed_user_and_a_changed_password_end_sessions(server):
    accounts = Accounts(server.library.settings.home)
    accounts.add_user("gone", PASSWORD)
    with server.signed_in("gone") as gone:
        assert gone.get("/api/me").status_code == 200
        accounts.set_password("gone", PASSWORD)
        assert gone.get("/api/me").status_code == 401
    with server.signed_in("gone") as gone:
        accounts.remove_user("gone")
        assert gone.get("/api/me").status_code == 401


def test_attempts_are_limited_by_address_and_name(tmp_path):
    with serving(FakeLibrary(tmp_path), ("anna",)) as server, server.client() as client:
        for _ in range(PER_ADDRESS):
            assert client.post("/sign-in", data={"name": "anna", "password": "x"}).status_code == 401
        # Not even the right password then, nor an address that is only said to be another.
        for headers in (
            {},
            {"X-Forwarded-For": "192.0.2.7"},
            {"Forwarded": "for=192.0.2.7"},
            {"X-Real-IP": "192.0.2.7"},
        ):
            late = client.post("/sign-in", data={"name": "anna", "password": PASSWORD}, headers=headers)
            assert late.status_code == 429
            assert int(late.headers["retry-after"]) > 60
            assert "Too many attempts" in late.text


def test_a_key_is_a_user_of_its_own_and_a_wrong_one_is_refused(server, key, nobody):
    allowed = {"Authorization": f"Bearer {key}"}
    assert nobody.get("/api/me", headers=allowed).json()["user"] == "key:program"
    for text in (f"Bearer {key}x", "Bearer", f"Basic {key}", key, "Bearer none"):
        assert nobody.get("/api/papers", headers={"Authorization": text}).status_code == 401
    with server.signed_in("anna") as anna:
        assert anna.get("/api/papers", headers={"Authorization": "Bearer wrong"}).status_code == 401
    refused = nobody.get("/api/papers")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["error"]["message"].startswith("Sign in, or send a key")


def test_a_key_of_a_user_is_that_user_and_no_more(server, nobody):
    accounts = Accounts(server.library.settings.home)
    of_bert = {"Authorization": f"Bearer {accounts.add_key('berts', user='bert', admin=True)}"}
    assert nobody.get("/api/me", headers=of_bert).json() == {"user": "bert", "admin": False, "sign_in": True}


def test_openai_and_mcp_clients_with_a_key(server, key):
    import anyio
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from openai import AuthenticationError, OpenAI

    asked = [{"role": "user", "content": "How does KiteNet steer?"}]
    with OpenAI(base_url=f"{server.address}/v1", api_key=key, max_retries=0) as client:
        assert "[1]" in client.chat.completions.create(model="abstract-qa", messages=asked).choices[0].message.content
    with OpenAI(base_url=f"{server.address}/v1", api_key="none") as client, pytest.raises(AuthenticationError):
        client.models.list()

    async def use():
        async with (
            httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
            streamable_http_client(f"{server.address}/gradio_api/mcp/", http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            return await session.call_tool("search_papers", {"query": "kites", "k": 2})

    with ThreadPoolExecutor(1) as pool:
        found = json.loads(pool.submit(anyio.run, use).result().content[0].text)
    assert len(found["papers"]) == 2


def test_who_asks_too_often_waits_and_others_do_not(server):
    with server.signed_in("bert") as bert, server.signed_in("anna") as anna:
        answers = [bert.post("/api/ask", json={"question": "How?", "stream": bool(n % 2)}) for n in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) <= 60
        assert "more than 3 questions in a minute" in answers[-1].json()["error"]["message"]
        # By no other interface either, in the shape that its clients know.
        chat = {"messages": [{"role": "user", "content": "How?"}]}
        for stream in (False, True):
            refused = bert.post("/v1/chat/completions", json={**chat, "stream": stream})
            assert refused.status_code == 429
            assert refused.json()["error"]["type"] == "rate_limit_error"
        tool = bert.post("/gradio_api/run/ask", json={"data": ["How?", "", 0, 0], "session_hash": "b"})
        assert "more than 3 questions" in tool.text
        assert anna.post("/api/ask", json={"question": "How?"}).status_code == 200


@pytest.mark.parametrize("path", ["//api/conversations", "/zh/api/conversations", "/api/conversations/", "/API/me"])
def test_other_spellings_of_a_path_open_nothing(server, nobody, path):
    assert nobody.get(path).status_code in (401, 404)
    with server.signed_in("anna") as anna:
        assert anna.get(path).status_code == 404


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
def test_no_method_gets_past_the_gate(nobody, method):
    for path in ("/api/conversations", "/", "/gradio_api/queue/join", "/openapi.json"):
        assert nobody.request(method, path).status_code in (303, 401, 404, 405)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-User": "anna"},
        {"Remote-User": "anna"},
        {"X-Forwarded-User": "anna"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Gradio-User": "anna"},
        {"Cookie": "abstract_qa_session=anna"},
        {"Cookie": "abstract_qa_session="},
        {"Cookie": "access-token=anna; username=anna"},
        {"Cookie": 'abstract_qa_session="\\'},
    ],
)
def test_no_header_makes_one_somebody(nobody, headers):
    assert nobody.get("/api/me", headers=headers).status_code == 401


def test_gradios_own_signing_in_is_not_there(server, nobody):
    for path in ("/login", "/logout", "/gradio_api/token", "/monitoring", "/gradio_api/vibe-code", "/gradio_api/runs"):
        assert nobody.get(path).status_code == 404
        with server.signed_in("anna") as anna:
            assert anna.get(path).status_code == 404


def test_pages_of_other_sites_change_and_read_nothing(server):
    with server.signed_in("anna") as anna:
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": server.address.replace("127.0.0.1", "localhost")},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            assert anna.post("/api/search", json={"query": "x"}, headers=headers).status_code == 403
            assert anna.post("/sign-out", headers=headers).status_code == 403
            assert anna.options("/gradio_api/queue/join", headers=headers).status_code == 403
            read = anna.get("/gradio_api/info", headers=headers)
            assert not [name for name in read.headers if name.startswith("access-control-")]
        assert anna.post("/api/search", json={"query": "x"}, headers={"Origin": server.address}).status_code == 200


def test_every_answer_has_its_headers(server):
    with server.signed_in("anna") as anna:
        for path in ("/", "/api/papers", "/nothing", "/sign-in", "/gradio_api/info"):
            headers = anna.get(path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["cache-control"] == "no-store"
            assert re.fullmatch("[0-9a-f]{16}", headers["x-request-id"])


def test_a_body_too_long_or_too_deep_is_refused_at_once(server):
    with server.signed_in("anna") as anna:
        assert anna.post("/api/search", content=b"x" * (5 * 2**20)).status_code == 413
        deep = b"[" * 200_000
        for path in ("/api/search", "/gradio_api/queue/join"):
            assert anna.post(path, content=deep, headers={"Content-Type": "application/json"}).status_code in (400, 422)


def test_hosts():
    here = Hosts("127.0.0.1")
    assert [
        here.known(host) for host in ("localhost:7860", "127.0.0.1", "[::1]:1", "evil.example", "192.0.2.1", "")
    ] == [
        *(True, True, True),
        *(False, False, False),
    ]
    there = Hosts("0.0.0.0", ("papers.example",))
    assert [
        there.known(host) for host in ("192.0.2.1:80", "papers.example", "PAPERS.example.", "evil.example", "[")
    ] == [
        *(True, True, True),
        *(False, False),
    ]
    assert Hosts("0.0.0.0", ("*",)).known("any.example")
    assert is_foreign("a:1", "http://b:1", None)
    assert not is_foreign("a:1", "http://A:1", None)


def test_a_server_bound_elsewhere_answers_to_no_foreign_name(tmp_path):
    library = Limited(tmp_path, allowed_hosts=("papers.example",))
    with serving(library, host="0.0.0.0", allow_unauthenticated=True) as server, server.client() as client:
        begun = client.post("/api/ingest", json={"paths": ["/etc/passwd"]}).json()
        for _ in range(100):
            reading = client.get(begun["status"]).json()
            if reading["state"] != "reading":
                break
            time.sleep(0.05)
        assert "ingest_folders" in reading["error"]
        assert client.get("/api/papers", headers={"Host": "rebound.example"}).status_code == 421
        assert client.get("/api/papers", headers={"Host": "papers.example"}).status_code == 200
        assert client.get("/api/papers").status_code == 200


def test_whether_people_have_to_sign_in(tmp_path):
    accounts = Accounts(tmp_path)
    assert Access().asks(accounts) is False
    with pytest.raises(SettingsError, match="users add"):
        Access(sign_in=True).asks(accounts)
    accounts.add_user("anna", PASSWORD)
    assert Access().asks(accounts) is True
    assert Access(sign_in=False).asks(accounts) is False


def test_the_fence_follows_links_and_lets_uploads_and_named_folders_through(tmp_path):
    inside, uploads, outside = (tmp_path / name for name in ("inside", "uploads", "outside"))
    for folder in (inside, uploads, outside):
        folder.mkdir()
        (folder / "a.txt").write_text("x")
    (inside / "link.txt").symlink_to(outside / "a.txt")

    class Recorder:
        def ingest(self, paths):
            return [str(path) for path in paths]

    fenced = Fenced(Recorder(), (inside,), uploads)
    assert fenced.ingest([inside / "a.txt", uploads / "a.txt"]) == [str(inside / "a.txt"), str(uploads / "a.txt")]
    for path in (outside / "a.txt", inside / "link.txt", inside / ".." / "outside" / "a.txt", "/etc/passwd"):
        with pytest.raises(InputError, match="ingest_folders"):
            fenced.ingest([path])


@pytest.fixture
def written():
    """What the program logs, as JSON lines."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.Formatter("json"))
    logger = logging.getLogger(logs.ROOT)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(level)


def lines_of(written, *events):
    """The logged lines once each of `events` is among them: some are written after the answer has gone out."""
    for _ in range(200):
        lines = [json.loads(line) for line in written.getvalue().splitlines()]
        if not set(events) - {line["event"] for line in lines}:
            return lines
        time.sleep(0.05)
    raise AssertionError(f"no {events} in the log")


def test_the_log_has_the_request_and_no_question_and_no_secret(server, key, nobody, written):
    allowed = {"Authorization": f"Bearer {key}"}
    with server.signed_in("anna") as anna:
        cookie = anna.cookies["abstract_qa_session"]
        answer = anna.get("/api/search", params={"q": "heliotropes"})
        anna.post("/api/ask", json={"question": "What of heliotropes, fail?"})
        anna.get(f"/heliotropes/{key}")
        pages = [anna.get(path).text for path in ("/", "/config", "/openapi.json", "/metrics", "/gradio_api/info")]
    nobody.post("/api/ask", json={"question": "What of heliotropes?"}, headers=allowed)
    nobody.post("/sign-in", data={"name": "heliotropes", "password": "heliotropes"})
    time.sleep(0.3)
    text = written.getvalue()
    for secret in (key, cookie, PASSWORD, "heliotropes"):
        assert secret not in text
        assert all(secret not in page for page in pages)
    lines = [json.loads(line) for line in text.splitlines()]
    search = next(line for line in lines if line.get("request_id") == answer.headers["x-request-id"])
    assert (search["event"], search["user"], search["route"]) == ("request", "anna", "/api/search")
    assert search["status"] == 200
    assert search["ms"] > 0
    failed, asked = (line for line in lines if line["event"] == "question")
    assert (failed["status"], failed["user"]) == ("failed", "anna")
    assert (asked["status"], asked["user"], asked["interface"]) == ("answered", "key:program", "http")
    assert asked["request_id"] in {line["request_id"] for line in lines if line["event"] == "request"}
    assert asked["ms"]["total"] == 2100


def test_a_question_of_the_page_has_the_id_of_its_request(server, written):
    functions = server.mounts["/"].get_blocks().fns
    typed = next(n for n, fn in functions.items() if fn.fn and fn.fn.__qualname__ == "page.<locals>.typed")
    body = {"data": ["How does it log?", None, "", "", "", 5], "fn_index": typed, "session_hash": "tab"}
    with server.signed_in("anna") as anna:
        joined = anna.post("/gradio_api/queue/join", json=body)
        assert "process_completed" in anna.get("/gradio_api/queue/data", params={"session_hash": "tab"}).text
    asked = next(line for line in lines_of(written, "question") if line["event"] == "question")
    assert (asked["user"], asked["interface"]) == ("anna", "page")
    assert asked["request_id"] == joined.headers["x-request-id"]


def test_what_users_asked_is_the_servers_own_on_disk(tmp_path):
    (tmp_path / "feedback.jsonl").write_text("")
    with serving(FakeLibrary(tmp_path)):
        for name in ("feedback.jsonl", "conversations.sqlite"):
            assert (tmp_path / name).stat().st_mode & 0o077 == 0, name


def test_secrets_are_hidden_and_a_line_stays_a_line(monkeypatch):
    monkeypatch.setenv("ABSTRACT_QA_API_KEY", "server-key-123")
    record = logging.LogRecord("abstract_qa", logging.INFO, "", 0, "a\nb server-key-123", (), None)
    record.fields = {
        "cookie": "abstract_qa_session=abcDEF",
        "header": "Bearer xyz",
        "key": "aqa_0123456789abcdef01",
        "n": "1\n2",
    }
    for shape in ("text", "json"):
        line = logs.Formatter(shape).format(record)
        assert "\n" not in line
        for secret in ("server-key-123", "abcDEF", "xyz", "aqa_0"):
            assert secret not in line


def test_questions_are_in_the_log_when_asked_for(tmp_path, written):
    with serving(FakeLibrary(tmp_path), log_questions=True) as server, server.client() as client:
        client.post("/api/ask", json={"question": "What of heliotropes?"})
    asked = lines_of(written, "question")
    assert [line["question"] for line in asked if line["event"] == "question"] == ["What of heliotropes?"]


def test_metrics_count_what_happened_and_are_not_everybodys(server, key, nobody):
    nobody.post("/api/ask", json={"question": "nothing"}, headers={"Authorization": f"Bearer {key}"})
    text = nobody.get("/metrics").text
    assert 'abstract_qa_questions_total{interface="http",status="abstained"} 1.0' in text
    assert "abstract_qa_papers 6.0" in text
    assert re.search(r'abstract_qa_answer_seconds_bucket\{le="3.0",until="total"\} [1-9]', text)
    assert 'route="/api/ask"' in text
    # A proxy on this machine is on loopback too, but those behind it are not.
    for name in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"):
        assert nobody.get("/metrics", headers={name: "127.0.0.1"}).status_code == 401


def test_health_tells_strangers_no_more_than_whether(server, nobody):
    assert nobody.get("/healthz").json() == {"status": "ok"}
    assert nobody.get("/readyz").json() == {"ready": True, "model": None, "problem": None, "papers": None}
    with server.signed_in("anna") as anna:
        assert anna.get("/readyz").json() == {"ready": True, "model": "none", "problem": None, "papers": 6}


def test_a_library_that_does_not_open_is_not_ready(tmp_path):
    from rag.errors import LibraryDamaged

    class Damaged(FakeLibrary):
        broken = False

        def count(self, *given):
            if self.broken:
                raise LibraryDamaged("The index is torn.")
            return super().count(*given)

    library = Damaged(tmp_path)
    with serving(library) as server, server.client() as client:
        assert client.get("/readyz").status_code == 200
        library.broken = True
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["problem"]) == (503, "The index is torn.")


def test_an_error_of_the_program_is_one_sentence_with_an_id_and_is_logged(server, written, monkeypatch):
    def broken(*given):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(server.library, "search", broken)
    with server.signed_in("anna") as anna:
        answer = anna.get("/api/search", params={"q": "x"})
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["error"]["message"]
    logged = next(line for line in lines_of(written, "a request failed") if line["event"] == "a request failed")
    assert logged["request_id"] == answer.headers["x-request-id"]
    assert "secret detail" in logged["traceback"]


def test_the_other_language_without_its_slash_is_found(nobody):
    assert nobody.get("/zh").headers["location"] == "/zh/"


def test_without_users_nobody_signs_in_and_there_is_no_such_page(tmp_path):
    with serving(FakeLibrary(tmp_path)) as server, server.client() as client:
        assert client.get("/").status_code == 200
        assert client.get("/sign-in").status_code == 404
        assert client.get("/api/me").json() == {"user": "local", "admin": True, "sign_in": False}
        # Whatever key a program sends because it has to send one.
        assert client.get("/v1/models", headers={"Authorization": "Bearer none"}).status_code == 200
