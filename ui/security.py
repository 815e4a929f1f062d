"""Who may talk to the server: hosts it answers to, origins whose pages may change something, where it may listen."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from rag.errors import SettingsError

SAFE_METHODS = frozenset({"GET", "HEAD"})
# Gradio's page has scripts and styles in itself; nothing may come from, or go to, another host.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; media-src 'self' blob:; worker-src 'self' "
    "blob:; frame-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: a form would then be sent with the origin "null", as if from elsewhere.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, means this machine alone."""
    if host.lower() in ("localhost", "ip6-localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def check_binding(host: str, *, signed_in: bool, allowed: bool) -> None:
    """Raises SettingsError where others could reach the server although nobody has to sign in."""
    if not (is_loopback(host) or signed_in or allowed):
        raise SettingsError(
            f"On {host} anybody who reaches this machine could read and change the library; add a user "
            "(`abstract-qa users add NAME --admin`), use --host 127.0.0.1, or add --allow-unauthenticated if that is "
            "meant."
        )


class Hosts:
    """The names a server answers to, so that a page of another site cannot reach it by a name that points here.

    Bound to loopback, names of loopback; bound elsewhere, every address (a page cannot make one point elsewhere), this
    machine's name and what it was bound as. `further` are names beside these; `*` is all of them.
    """

    def __init__(self, bound: str, further: tuple[str, ...] = ()) -> None:
        self._loopback = is_loopback(bound)
        self._names = {name.lower().rstrip(".") for name in further}
        if not self._loopback:
            self._names |= {bound.lower(), "localhost", socket.gethostname().lower(), socket.getfqdn().lower()}

    def known(self, host: str) -> bool:
        """Whether a request with this `Host` header is answered."""
        name = _name(host)
        if "*" in self._names or name in self._names:
            return True
        return is_loopback(name) or (not self._loopback and _address(name) is not None)


def is_foreign(host: str, origin: str | None, site: str | None) -> bool:
    """Whether a request came from a page of another origin; `site` is the header Sec-Fetch-Site."""
    if origin is not None:
        return urlsplit(origin).netloc.lower() != host.lower()
    return site not in (None, "same-origin", "none")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _name(host: str) -> str:
    """The host without its port, in lower case."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""
