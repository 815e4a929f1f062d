"""Errors over HTTP: always `{"error": {"type", "message"}}`, one sentence, described for every route."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from rag.errors import AbstractQAError, InputError
from ui.limits import TooMany
from ui.logs import REQUEST_ID

_MEANINGS = {
    400: "What was given cannot be used; the sentence says why",
    401: "Nobody is signed in and no key was sent",
    403: "Only for admins, or from a page of another site",
    404: "There is none of that name",
    413: "The body is too long",
    422: "What was given does not have the described shape",
    429: "Too many questions; `Retry-After` says when again",
    500: "The server failed; its log says why",
    503: "Asking again later can help",
}


class Problem(BaseModel):
    """What went wrong."""

    type: str
    message: str


class ErrorBody(BaseModel):
    """An error."""

    error: Problem


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The described errors of a route."""
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in statuses}


def answers(model: type[BaseModel], *refused: int, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """The described answers of a route. They are described only: nothing is checked or left out at run time."""
    return {status: {"model": model}, **refusals(*refused)}


def problem(kind: str, message: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error as it is sent."""
    return JSONResponse({"error": {"type": kind, "message": message}}, status_code=status, headers=headers)


def status_of(error: AbstractQAError) -> int:
    """400 for what was given, 429 for too much of it, 503 where asking again helps, else 500."""
    if isinstance(error, TooMany):
        return 429
    return 400 if isinstance(error, InputError) else 503 if error.retry else 500


def headers_of(error: AbstractQAError) -> dict[str, str]:
    """When to ask again, where that helps."""
    wait = error.wait if isinstance(error, TooMany) else 5
    return {"Retry-After": str(wait)} if error.retry else {}


def error_response(error: AbstractQAError, status: int | None = None) -> JSONResponse:
    """The error as it is sent; `status` instead of its own."""
    return problem(type(error).__name__, str(error), status or status_of(error), headers_of(error))


def admin(request: Request) -> None:
    """A dependency: only admins may. Raises HTTPException."""
    who = request.state.identity
    if who is None or not who.admin:
        raise HTTPException(403, "Only an admin of this server may do that.")


Admin = Depends(admin)


def install(app: FastAPI) -> None:
    """Answer every error in the one shape."""

    async def told(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, AbstractQAError)
        return error_response(error)

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(_methods(app, request.url.path))
        said = {404: "There is nothing at this address.", 405: f"{request.method} is not answered at this address."}
        plain = HTTPStatus(error.status_code).phrase
        message = said.get(error.status_code, error.detail) if error.detail == plain else error.detail
        if message == "There was an error parsing the body":
            message = "The body is not JSON."
        return problem("Refused", str(message), error.status_code, headers)

    async def misshapen(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
        if first["type"] == "json_invalid":
            return problem("InputError", "The body is not JSON.", 422)
        return problem("InputError", f"{where or 'The body'}: {first['msg']}.".encode("utf-8", "replace").decode(), 422)

    async def failed(_request: Request, _error: Exception) -> JSONResponse:
        said = f"The server failed at this; its log says why, under {REQUEST_ID.get()}."
        return problem("ServerError", said, 500)

    app.add_exception_handler(AbstractQAError, told)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, misshapen)
    app.add_exception_handler(Exception, failed)


def _methods(app: FastAPI, path: str) -> list[str]:
    """The methods that are described for a path."""
    found: set[str] = set()
    for template, operations in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template.replace("{paper_id}", ".+")), path):
            found |= {method.upper() for method in operations}
    return sorted(found)


def describe(app: FastAPI, *, keys: bool) -> None:
    """Say in the OpenAPI description that keys are wanted, and give 422 the shape it really has."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            for path in schema["paths"].values():
                for operation in path.values():
                    found = operation["responses"].get("422")
                    if found:
                        found["description"] = _MEANINGS[422]
                        found["content"] = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
            if keys:
                schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
                schema["security"] = [{"key": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
