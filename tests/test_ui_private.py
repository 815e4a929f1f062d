"""Two users on one real server: by no route there is does one reach what is the other's."""

import re
import time
from contextlib import suppress

import httpx
import pytest
from starlette.routing import Mount

from tests.fakes_ui import FakeLibrary
from tests.served import serving
from ui import rights

SECRET = "the question about heliotropes"
HASH = "annashash123"
# Open to everybody who reaches the server, by the way they are served.
OPEN = {"/sign-in", "/healthz", "/readyz", "/favicon.ico", "/robots.txt"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    library = FakeLibrary(tmp_path_factory.mktemp("home"), pause=0.01)
    with serving(library, ("*anna", "*bert", "carl")) as running:
        yield running


@pytest.fixture(scope="module")
def anna(server):
    with server.signed_in("anna") as client:
        yield client


@pytest.fixture(scope="module")
def bert(server):
    with server.signed_in("bert") as client:
        yield client


def function(server, name, mount="/"):
    """Number of the event that a function of the page answers."""
    functions = server.mounts[mount].get_blocks().fns
    return next(n for n, fn in functions.items() if fn.fn and fn.fn.__qualname__ == f"page.<locals>.{name}")


def join(client, server, name, data, session=HASH):
    body = {"data": data, "fn_index": function(server, name), "session_hash": session, "trigger_id": 1}
    answer = client.post("/gradio_api/queue/join", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["event_id"]


def events(client, session=HASH):
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as answer:
        return "".join(answer.iter_text())


@pytest.fixture(scope="module")
def hers(server, anna):
    """What is anna's, by the names that routes have for such things."""
    join(anna, server, "typed", [SECRET, None, "", "", "", 5])
    assert SECRET in events(anna)
    (conversation,) = anna.get("/api/conversations").json()["conversations"]
    whole = anna.get(f"/api/conversations/{conversation['id']}").json()
    uploaded = anna.post("/gradio_api/upload", files={"files": ("mine.txt", SECRET)}).json()[0]
    # A question that is being answered for a minute, in a tab of its own.
    running = join(anna, server, "typed", [f"slow {SECRET}", None, "", "", "", 5], "annasother")
    return {
        "conversation_id": conversation["id"],
        "exchange_id": whole["exchanges"][0]["id"],
        "session_hash": HASH,
        "event_id": running,
        "path_or_url": uploaded,
        "path": uploaded.lstrip("/"),
        "url_path": uploaded,
        "number": "0" * 32,
        "paper_id": "p1",
        "language": "en",
        "api_name": "ask",
        "page": "",
        "run": "1",
        "component_id": "1",
        "segment_id": "1",
        "ext": "ts",
        "id": "1",
        "environment": "client",
        "type": "x",
        "file_name": "x",
        "size": "1",
        "key": "x",
    }


def every_route(server):
    """(method, path) of every route of the program and of Gradio's two pages."""
    for route, prefix in (*flat(server.app.state.own.routes, ""), *flat(server.app.routes, "")):
        for method in sorted(getattr(route, "methods", None) or {"GET", "POST"}):
            yield method, prefix + route.path


def flat(routes, prefix):
    for route in routes:
        if isinstance(route, Mount):
            inner = getattr(route.app, "routes", None)
            if inner is None:
                yield route, prefix
            else:
                yield from flat(inner, prefix + route.path)
        elif hasattr(route, "path"):
            yield route, prefix
        else:  # routers that were included
            yield from ((one, prefix + route.include_context.prefix) for one in route.original_router.routes)


def filled(path, names):
    """The path with what is anna's in its places; a place that is not known here has to be named above."""
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: str(names[found[1]]), path)


def sent(client, method, path, names):
    """What is answered, as far as it comes within a moment."""
    ours = {key: names[key] for key in ("session_hash", "event_id")}
    body = {**ours, "data": ["mine", None, "", "", "", 5], "fn_index": 0, "component_id": 1, "fn_name": "x"}
    body |= {"rating": "down", "title": "taken", "question": "x", "query": "x", "paths": ["x"], "messages": []}
    options = {"params": {**ours, "upload_id": "x", "q": "x"}, "json": body} if method != "GET" else {}
    options.setdefault("params", {**ours, "upload_id": "x", "q": "x", "deep_link": "x"})
    text = ""
    with suppress(httpx.TimeoutException), client.stream(method, path, timeout=1.5, **options) as answer:
        status = answer.status_code
        for piece in answer.iter_text():
            text += piece
            if len(text) > 200_000 or "ALIVE" in text:
                break
        return status, text
    return 0, text


def test_the_routes_are_all_there(server):
    paths = {path for _, path in every_route(server)}
    assert {"/api/conversations/{conversation_id}", "/gradio_api/queue/data", "/zh/gradio_api/queue/data"} <= paths
    assert {"/gradio_api/file={path_or_url:path}", "/gradio_api/mcp/sse", "/sign-in", "/metrics"} <= paths
    assert len(paths) > 150


def test_nobody_reaches_anything_without_signing_in(server, hers):
    with server.client() as nobody:
        for method, path in every_route(server):
            if path in OPEN or path == "/metrics":  # from this machine the metrics may be read
                continue
            status, text = sent(nobody, method, filled(path, hers), hers)
            assert status in (303, 401, 403, 404, 405), f"{method} {path}: {status}"
            assert SECRET not in text, f"{method} {path}"


def test_no_route_gives_or_changes_what_is_another_users(server, anna, bert, hers):
    before = anna.get("/api/conversations").json()
    for method, path in every_route(server):
        if path in ("/sign-out", "/login", "/login/"):
            continue
        status, text = sent(bert, method, filled(path, hers), hers)
        assert status != 500, f"{method} {path}: {text[:200]}"
        assert SECRET not in text, f"{method} {path}: {status}"
        if any(f"{{{name}}}" in path for name in ("conversation_id", "exchange_id", "event_id")):
            assert status in (404, 405), f"{method} {path}: {status}"
    assert anna.get("/api/conversations").json() == before
    one = anna.get(f"/api/conversations/{hers['conversation_id']}").json()
    assert one["exchanges"][0]["rating"] is None
    assert one["title"] != "taken"
    # What runs for anna runs still: nobody stopped it.
    queue = server.mounts["/"].get_blocks()._queue
    assert hers["event_id"] in queue.event_ids_to_events
    assert not server.library.cancelled.is_set()
    assert SECRET in anna.get(f"/api/conversations/{hers['conversation_id']}").text


def test_anothers_tab_is_not_heard_not_stopped_and_not_joined(server, anna, bert, hers):
    # The same number of a tab is another tab for another user.
    assert '"session_not_found":true' in events(bert, "annasother")
    assert bert.get(f"/gradio_api/call/ask/{hers['event_id']}").status_code == 404
    stop = {"data": [], "fn_index": function(server, "stopped"), "session_hash": "annasother"}
    assert bert.post("/gradio_api/run/any", json=stop).status_code == 200
    cancel = {"session_hash": "annasother", "fn_index": function(server, "typed"), "event_id": hers["event_id"]}
    assert bert.post("/gradio_api/cancel", json=cancel).status_code == 200
    time.sleep(0.5)
    assert not server.library.cancelled.is_set()
    # A name put into the tab's number is not taken for one.
    for session in ("anna|page|annasother", "annasother|x", ["annasother"], None, "x" * 65):
        assert bert.post("/gradio_api/queue/join", json={**stop, "session_hash": session}).status_code in (400, 422)


@pytest.mark.parametrize("route", ["cancel", "reset"])
def test_a_question_of_anothers_that_waits_its_turn_stays_in_the_queue(server, anna, bert, hers, monkeypatch, route):
    blocks = server.mounts["/"].get_blocks()
    number = function(server, "typed")
    waiting = blocks._queue.event_queue_per_concurrency_id[blocks.fns[number].concurrency_id]
    while not waiting.current_concurrency:  # until the answer that runs for a minute has begun
        time.sleep(0.05)
    monkeypatch.setattr(waiting, "concurrency_limit", waiting.current_concurrency)  # what is asked now has to wait
    queued = join(anna, server, "typed", [SECRET, None, "", "", "", 5], f"waiting{route}")
    assert [event._id for event in waiting.queue] == [queued]
    for session in (f"waiting{route}", "bertstab"):
        cancel = {"session_hash": session, "fn_index": number, "event_id": queued}
        assert bert.post(f"/gradio_api/{route}", json=cancel).status_code == 200
        assert [event._id for event in waiting.queue] == [queued]
    if route == "cancel":
        cancel = {"session_hash": f"waiting{route}", "fn_index": number, "event_id": queued}
        assert anna.post("/gradio_api/cancel", json=cancel).status_code == 200
        assert waiting.queue == []
    else:
        monkeypatch.undo()
        assert SECRET in events(anna, f"waiting{route}")


def test_her_own_tab_can_stop_it(server, anna, hers):
    stop = {"data": [], "fn_index": function(server, "stopped"), "session_hash": "annasother"}
    assert anna.post("/gradio_api/run/any", json=stop).status_code == 200
    assert server.library.cancelled.wait(10)


def test_a_conversation_of_another_cannot_be_opened_or_gone_on_with(server, anna, bert, hers):
    data = ["and then?", hers["conversation_id"], "", "", "", 5]
    join(bert, server, "typed", data, "bertstab")
    assert SECRET not in events(bert, "bertstab")
    assert len(anna.get(f"/api/conversations/{hers['conversation_id']}").json()["exchanges"]) == 1
    assert hers["conversation_id"] not in bert.get("/api/conversations").text
    act = {"data": [None, ""], "fn_index": function(server, "chosen_conversation"), "session_hash": "bertstab"}
    for event in ({"act": "open"}, {"act": "delete"}, {"act": "rename", "title": "taken"}):
        event["id"] = hers["conversation_id"]
        assert bert.post("/gradio_api/queue/join", json={**act, "event_data": event}).status_code == 200
        assert SECRET not in events(bert, "bertstab")
    assert anna.get(f"/api/conversations/{hers['conversation_id']}").json()["title"] == SECRET


def test_uploads_are_their_uploaders(anna, bert, server, hers):
    path = hers["path_or_url"]
    assert anna.get(f"/gradio_api/file={path}").text == SECRET
    for spelling in (path, path.replace("/mine", "/./mine"), path.replace("/mine", "/x/../mine"), f"/{path}"):
        assert bert.get(f"/gradio_api/file={spelling}").status_code == 404, spelling
        assert bert.get(f"/zh/gradio_api/file={spelling}").status_code == 404, spelling
    # Nor once it has been typed and is shown again.
    join(bert, server, "typed", [f"What is in {path}?", None, "", "", "", 5], "bertstab")
    assert path in events(bert, "bertstab")
    assert bert.get(f"/gradio_api/file={path}").status_code == 404
    # Not as what another event is given, either.
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    body = {"data": [[file]], "fn_index": 0, "session_hash": "bertstab"}
    assert bert.post("/gradio_api/queue/join", json=body).status_code == 403


def test_exports_are_theirs_who_made_them(server, anna, bert, hers):
    assert anna.post(f"/api/exchanges/{hers['exchange_id']}/feedback", json={"rating": "up"}).status_code == 200
    functions = server.mounts["/"].get_blocks().fns
    for name in ("library_tab.<locals>.saved", "evaluation_tab.<locals>.saved"):
        number = next(n for n, fn in functions.items() if fn.fn and fn.fn.__qualname__ == name)
        values = [getattr(component, "value", None) for component in functions[number].inputs]
        body = {"data": values, "fn_index": number, "session_hash": HASH}
        assert anna.post("/gradio_api/queue/join", json=body).status_code == 200
        (path,) = set(re.findall(r'"path":"([^"]+)"', events(anna)))
        assert anna.get(f"/gradio_api/file={path}").status_code == 200
        assert bert.get(f"/gradio_api/file={path}").status_code == 404, name


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "http://example.org/x", "file:///etc/passwd"])
def test_files_beside_the_uploads_are_not_there(anna, path):
    assert anna.get(f"/gradio_api/file={path}").status_code == 404
    assert anna.get(f"/gradio_api/file/{path}").status_code == 404


def test_every_event_of_the_page_is_somebodys(server):
    for mount, app in server.mounts.items():
        for fn in app.get_blocks().fns.values():
            if fn.fn is not None:
                name = fn.fn.__qualname__
                assert (name in rights.EVERYBODYS) != (name in rights.ADMINS), (
                    f"{mount}: say in ui/rights.py whose {name} is"
                )


def test_a_reader_asks_but_changes_nothing(server):
    with server.signed_in("carl") as carl:
        assert carl.get("/api/me").json() == {"user": "carl", "admin": False, "sign_in": True}
        assert carl.post("/api/ask", json={"question": "How?"}).status_code == 200
        assert carl.post("/api/ingest", json={"paths": ["/etc/passwd"]}).status_code == 403
        assert carl.get("/api/ingest/x").status_code == 403
        for number, fn in server.mounts["/"].get_blocks().fns.items():
            if fn.fn is not None and fn.fn.__qualname__ in rights.ADMINS:
                body = {"data": [], "fn_index": number, "session_hash": "carlstab"}
                assert carl.post("/gradio_api/queue/join", json=body).status_code == 403, fn.name
                assert carl.post(f"/zh/gradio_api/run/{fn.name}", json=body).status_code in (403, 404), fn.name


def test_an_admin_reads_only_from_named_folders(anna, tmp_path):
    path = tmp_path / "papers.txt"
    path.write_text("A paper.")
    begun = anna.post("/api/ingest", json={"paths": [str(path)]}).json()
    for _ in range(100):
        state = anna.get(begun["status"]).json()
        if state["state"] != "reading":
            break
        time.sleep(0.05)
    assert state["state"] == "failed"
    assert "ingest_folders" in state["error"]
