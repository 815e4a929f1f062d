"""The gate before everything: every request is given an id, is known or sent away, is kept apart, logged and counted.

It is deny by default: without a signed-in user or a key only the sign-in page and the two health routes answer, and of
Gradio's routes only those of `ui.private.ROUTES` are there at all.
"""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui import logs
from ui.accounts import Accounts
from ui.metered import Metered
from ui.private import Private, Refused, route_of
from ui.security import HEADERS, SAFE_METHODS, Hosts, is_foreign, is_loopback
from ui.sessions import COOKIE, Sessions
from ui.signin import PATH as SIGN_IN
from ui.users import EVERYBODY, Identity

LOG = logging.getLogger("abstract_qa.access")
LARGEST_BODY = 4 * 2**20
# Open to whoever reaches the server; everything else needs a user.
PUBLIC = frozenset({SIGN_IN, "/healthz", "/readyz", "/favicon.ico", "/robots.txt"})
# Routes of this program; all others have to be Gradio's.
OWN = re.compile(r"/(?:api|v1|language)/.+|/(?:healthz|readyz|metrics|openapi\.json|sign-in|sign-out)")
# Routes of Gradio's whose answers name files; they are read here, so they are not to be compressed.
NAMING = frozenset({"upload", "events", "called", "direct"})
_BELIEVED_OF_A_PROXY = re.compile(rb"x-forwarded-.*|forwarded|x-real-ip|x-gradio-user|via")


class Gate:
    """An ASGI middleware before Gradio's `app`, and before `own`, which has the routes of this program.

    Without `accounts` nobody has to sign in and everybody is the user `local`.
    """

    def __init__(
        self,
        app: ASGIApp,
        own: ASGIApp,
        hosts: Hosts,
        desk: Metered,
        private: Private,
        mounts: tuple[str, ...],
        accounts: Accounts | None,
        sessions: Sessions | None,
    ) -> None:
        self._app = app
        self._own = own
        self._hosts = hosts
        self._desk = desk
        self._private = private
        self._mounts = mounts
        self._accounts = accounts
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, began = uuid.uuid4().hex[:16], time.perf_counter()
        token = logs.REQUEST_ID.set(request_id)
        seen: dict[str, object] = {"status": 0, "route": "(none)", "user": None, "complete": False}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                _decorate(MutableHeaders(raw=message["headers"]), request_id, str(scope["path"]))
            seen["complete"] = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        try:
            await self._serve(dict(scope), receive, sending, request_id, seen)
        except Refused as refused:
            await _refusal(refused)(scope, receive, sending)
        except Exception as error:
            if seen["status"] and seen["route"] in ("events", "called") and "already started" in str(error):
                # Gradio raises once it has said in the stream that it knows no such tab: that ends the stream well.
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            LOG.exception("a request failed", extra={"fields": {"request_id": request_id, "route": seen["route"]}})
            if seen["complete"]:
                return
            if seen["status"]:
                raise  # in the middle of an answer: all that is left is to break off
            said = f"The server failed at this; its log says why, under {request_id}."
            await _json(500, "ServerError", said)(scope, receive, sending)
        finally:
            logs.REQUEST_ID.reset(token)
            took = time.perf_counter() - began
            method = scope["method"] if re.fullmatch("[A-Z]{1,8}", scope["method"]) else "other"
            route = str(seen["route"])
            self._desk.metrics.requests.labels(method, route, str(seen["status"])).inc()
            self._desk.metrics.request_seconds.labels(route).observe(took)
            level = logging.DEBUG if route in ("asset", "heartbeat") else logging.INFO
            logs.event(
                LOG, level, "request", request_id=request_id, user=seen["user"], method=method, route=route,
                status=seen["status"], ms=round(1000 * took, 1),
            )  # fmt: skip

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, request_id: str, seen: dict[str, object]
    ) -> None:
        headers = Headers(scope=scope)
        method, path = str(scope["method"]), str(scope["path"])
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._hosts.known(host):
            raise Refused(
                421, "This server does not answer to that name; use its address, or name it in allowed_hosts."
            )
        foreign = is_foreign(host, headers.get("origin"), headers.get("sec-fetch-site"))
        if method not in SAFE_METHODS and foreign:
            raise Refused(403, "Requests from pages of another site are refused.")
        direct = not any(_BELIEVED_OF_A_PROXY.fullmatch(name) for name, _ in scope["headers"])
        scope["headers"] = [(k, v) for k, v in scope["headers"] if not _BELIEVED_OF_A_PROXY.fullmatch(k)]

        mount, within = self._within(path)
        if mount != "/" and path == mount:
            raise Refused(303, f"{mount}/")
        own = bool(OWN.fullmatch(path))
        name, parts = (path, {}) if own else route_of(method, within)
        seen["route"] = "api" if own else name
        who = self._identity(headers)
        if who is None and path == "/metrics" and direct and _from_here(scope):
            who = Identity("metrics")
        if who is None and path not in PUBLIC:
            raise _asked_to_sign_in(name, method, scope)
        seen["user"] = who.user if who else None
        scope["state"] = {**scope.get("state", {}), "user": who.user if who else None, "identity": who}
        body = b""
        if method not in SAFE_METHODS and name != "upload":
            body = await _whole(receive)
        if not own and who is not None:
            body = self._private.admit(who, mount, name, parts, scope, body)
            if name in ("join", "call", "direct"):
                self._desk.asked_by(json.loads(body).get("session_hash") or "", request_id)
        if name in NAMING and who is not None:
            send = self._telling(who, name, send)
            scope["headers"] = [(k, v) for k, v in scope["headers"] if k != b"accept-encoding"]
        if method not in SAFE_METHODS and name != "upload":
            scope["headers"] = _sized(scope["headers"], len(body))
            receive = _again(body, receive)
        try:
            await (self._own if own else self._app)(scope, receive, send)
        finally:
            template = getattr(scope.get("route"), "path", None)
            if own and template:
                seen["route"] = template

    def _within(self, path: str) -> tuple[str, str]:
        """The page's mount and the path within it."""
        for mount in self._mounts:
            if mount != "/" and (path == mount or path.startswith(mount + "/")):
                return mount, path[len(mount) :] or "/"
        return "/", path

    def _identity(self, headers: Headers) -> Identity | None:
        if self._accounts is None or self._sessions is None:
            return EVERYBODY
        given = headers.get("authorization")
        if given is not None:
            # Who sends a key means it: a wrong one is refused, whatever cookie comes with it.
            kind, _, text = given.partition(" ")
            key = self._accounts.key(text.strip()) if kind.lower() == "bearer" else None
            if key is None:
                return None
            owner = self._accounts.book().user(key.user) if key.user else None
            if key.user and owner is None:
                return None
            return Identity(key.user or f"key:{key.name}", key.admin and (owner is None or owner.admin), by_key=True)
        user = self._sessions.user(_cookie(headers))
        return None if user is None else Identity(user.name, user.admin)

    def _telling(self, who: Identity, name: str, send: Send) -> Send:
        """Note whose files are named before the names go out. Events come in one piece; other answers are joined."""
        held: list[bytes] = []

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.body":
                held.append(message.get("body", b""))
                if name in ("events", "called") or not message.get("more_body"):
                    self._private.told(who.user, name, b"".join(held))
                    held.clear()
            await send(message)

        return sending


def _asked_to_sign_in(name: str, method: str, scope: Scope) -> Refused:
    if name == "page" and method in SAFE_METHODS:
        query = scope["query_string"].decode("latin-1")
        then = str(scope["path"]) + (f"?{query}" if query else "")
        return Refused(303, f"{SIGN_IN}?next={quote(then, safe='')}")
    return Refused(401, "Sign in, or send a key of this server: Authorization: Bearer KEY.")


def _refusal(refused: Refused) -> Response:
    if refused.status == 303:
        return RedirectResponse(refused.message, status_code=303)
    response = _json(refused.status, "Refused", refused.message)
    if refused.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if refused.status == 405:
        response.headers["Allow"] = "GET, HEAD, POST"
    return response


def _json(status: int, kind: str, message: str) -> Response:
    """As all errors of the interface; `detail` is what Gradio's page shows."""
    return JSONResponse({"error": {"type": kind, "message": message}, "detail": message}, status_code=status)


def _decorate(headers: MutableHeaders, request_id: str, path: str) -> None:
    for name in [name for name in headers if name.lower().startswith("access-control-")]:
        del headers[name]
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers["X-Request-ID"] = request_id
    if not re.search(r"/(?:assets|static|svelte)/|/theme\.css$", path):
        headers["Cache-Control"] = "no-store"


def _from_here(scope: Scope) -> bool:
    client = scope.get("client")
    return client is not None and is_loopback(client[0])


def _cookie(headers: Headers) -> str:
    cookies = SimpleCookie()
    try:
        cookies.load("; ".join(headers.getlist("cookie")))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


async def _whole(receive: Receive) -> bytes:
    """The request's body. Raises Refused for one that is too large."""
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        piece = message.get("body", b"")
        size += len(piece)
        if size > LARGEST_BODY:
            raise Refused(413, f"The body is longer than {LARGEST_BODY // 2**20} MiB.")
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


def _again(body: bytes, receive: Receive) -> Receive:
    """What receives the body once more, and then whatever comes after it."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _sized(headers: list[tuple[bytes, bytes]], size: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name not in (b"content-length", b"transfer-encoding")]
    return [*kept, (b"content-length", str(size).encode())]
