"""How the server is: alive, ready, its metrics, and who is asking."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from rag.errors import AbstractQAError
from ui.errors import refusals
from ui.metered import Metered
from ui.users import Identity


class Alive(BaseModel):
    """The process answers."""

    status: str


class Ready(BaseModel):
    """Whether questions are answered at once. All but `ready` only for those who are known."""

    ready: bool
    model: str | None = None
    problem: str | None = None
    papers: int | None = None


class Me(BaseModel):
    """Who is asking."""

    user: str
    admin: bool
    sign_in: bool


def router(desk: Metered, asks: bool) -> APIRouter:
    """`/healthz`, `/readyz`, `/metrics` and `/api/me`."""
    routes = APIRouter()

    @routes.get("/healthz", tags=["health"], response_model=Alive)
    def healthz() -> Alive:
        """The process is alive."""
        return Alive(status="ok")

    @routes.get(
        "/readyz",
        tags=["health"],
        response_model=Ready,
        responses={503: {"model": Ready, "description": "Not yet, or the library cannot be opened"}},
    )
    def readyz(request: Request) -> Response:
        """The library opens, and the model is loaded or known not to be: `problem` says why then, and questions are
        answered with the evidence itself."""
        ready, problem, papers = desk.warmed.is_set(), desk.problem, None
        try:
            papers = desk.library.count()
        except AbstractQAError as error:
            ready, problem = False, str(error)
        known = request.state.identity is not None
        body = Ready(ready=ready, model=desk.llm, problem=problem, papers=papers) if known else Ready(ready=ready)
        return JSONResponse(body.model_dump(), status_code=200 if ready else 503)

    @routes.get(
        "/metrics",
        tags=["health"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **refusals(401)},
    )
    def metrics() -> Response:
        """Counts and times in Prometheus' text format."""
        return Response(desk.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    @routes.get("/api/me", tags=["access"], response_model=Me, responses=refusals(401))
    def me(request: Request) -> Me:
        """Who is asking, and whether they may change the library."""
        who: Identity = request.state.identity
        return Me(user=who.user, admin=who.admin, sign_in=asks)

    return routes
