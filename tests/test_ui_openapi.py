"""The OpenAPI description is what the server does: shapes, errors, methods, and one sentence for all bad input."""

import httpx
import pytest

from rag.answer_json import paper_json, search_json, to_json
from tests.fakes_ui import FakeLibrary, make_papers
from tests.served import serving
from ui import schema


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(FakeLibrary(tmp_path_factory.mktemp("home"))) as running:
        yield running


@pytest.fixture(scope="module")
def described(server):
    return httpx.get(f"{server.address}/openapi.json").json()


def shape_is(model, value):
    """The model has the value's fields, all the way down."""
    fields = model.model_fields
    assert set(fields) == set(value), model.__name__
    model.model_validate(value, strict=True)
    for name, field in fields.items():
        inner = [
            part
            for part in (field.annotation, *getattr(field.annotation, "__args__", ()))
            if hasattr(part, "model_fields")
        ]
        nested = value[name][:1] if isinstance(value[name], list) else [value[name]]
        for part in inner:
            for one in nested:
                if isinstance(one, dict):
                    shape_is(part, one)


@pytest.mark.parametrize("question", ["How does KiteNet steer?", "list them", "nothing"])
def test_the_shapes_are_those_of_the_answers(tmp_path, question):
    library = FakeLibrary(tmp_path)
    answer = library.ask(question)
    shape_is(schema.AnswerShape, to_json(answer))
    shape_is(schema.SearchShape, search_json("x", answer.passages))
    shape_is(schema.PaperShape, paper_json(make_papers()[0]))


def test_every_route_says_its_errors_and_its_answer(described):
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            good = [responses[status] for status in responses if status.startswith("2")]
            assert good, f"{method} {path}"
            assert good[0]["content"], f"{method} {path}"
            for status, response in responses.items():
                if status.startswith(("4", "5")) and path != "/readyz":
                    (content,) = response["content"].items()
                    expected = {"$ref": "#/components/schemas/ErrorBody"}
                    assert content == ("application/json", {"schema": expected}), f"{method} {path} {status}"
            if path.startswith(("/api", "/v1")):
                assert "401" in responses, f"{method} {path}"
    assert "HTTPValidationError" not in described["components"]["schemas"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/ask", b"{"),
        ("POST", "/api/ask", b'{"question": "\\ud800"}'),
        ("POST", "/api/ask", b'{"question": "x", "stream": 1}'),
        ("POST", "/api/ask", b'{"question": "x", "k": "5"}'),
        ("POST", "/api/ask", b'{"question": "x", "year_to": false}'),
        ("POST", "/api/ask", b'{"question": "x", "year_to": 1e400}'),
        ("POST", "/api/ask", b'{"question": "   "}'),
        ("POST", "/api/ask", b'{"question": "   ", "stream": true}'),
        ("POST", "/api/search", b"[]"),
        ("POST", "/api/ingest", b'{"paths": []}'),
        ("POST", "/v1/chat/completions", b'{"messages": [{"role": "assistant"}]}'),
        ("POST", "/v1/chat/completions", b'{"messages": [{"role": "user", "content": " "}], "stream": true}'),
        ("GET", "/api/papers?offset=99999999999999999999", None),
        ("GET", "/api/papers?year_from=-1", None),
        ("GET", "/api/search?q=x&k=x", None),
        ("GET", "/api/papers/%00", None),
        ("GET", "/api/papers/p1/export?format=exe", None),
        ("GET", "/api/nothing", None),
    ],
)
def test_bad_input_is_told_in_one_sentence(server, method, path, body):
    answer = httpx.request(method, server.address + path, content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500
    message = answer.json()["error"]["message"]
    assert message.endswith(".")
    assert "\n" not in message


def test_a_method_that_is_not_there_says_which_are(server):
    answer = httpx.options(f"{server.address}/api/conversations/x")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PATCH")
    assert answer.json()["error"]["message"] == "OPTIONS is not answered at this address."
