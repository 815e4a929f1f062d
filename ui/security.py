"""Who may talk to the server: hosts it answers to, origins whose pages may change something, where it may listen."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from rag.errors import SettingsError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
Next = Callable[[Request], Awaitable[Response]]
# Gradio's page has scripts and styles in itself; nothing may come from, or go to, another host.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; media-src 'self' blob:; worker-src 'self' "
    "blob:; frame-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, means this machine alone."""
    if host.lower() in ("localhost", "ip6-localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_binding(host: str, *, signed_in: bool, allowed: bool) -> None:
    """Raises SettingsError where others could reach the server although nobody has to sign in."""
    if not (is_loopback(host) or signed_in or allowed):
        raise SettingsError(
            f"On {host} anybody who reaches this machine could read and change the library; use --host 127.0.0.1, or "
            "add --allow-unauthenticated if that is meant."
        )


def guard(bound: str) -> Callable[[Request, Next], Awaitable[Response]]:
    """A middleware. Bound to loopback, it answers only to names of this machine, so that a page of another site cannot
    reach it by a name that points here; and no page of another origin may send what changes something."""

    def is_ours(host: str) -> bool:
        return not is_loopback(bound) or is_loopback(host)

    async def middleware(request: Request, go_on: Next) -> Response:
        host = request.headers.get("host", "")
        if not is_ours(_name(host)):
            return _refused(421, "This server answers only to localhost and 127.0.0.1.")
        origin = request.headers.get("origin")
        if request.method not in SAFE_METHODS and origin and urlsplit(origin).netloc != host:
            return _refused(403, "Requests from pages of another site are refused.")
        response = await go_on(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        return response

    return middleware


def _name(host: str) -> str:
    """The host without its port."""
    return urlsplit(f"//{host}").hostname or ""


def _refused(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"type": "refused", "message": message}}, status_code=status)
