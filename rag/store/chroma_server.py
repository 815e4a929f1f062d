"""The address of a Chroma server, and whether one that this program can use answers there."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from rag.errors import SettingsError, StorageError

PORT = 8000
WAIT_S = 10.0
# Longer than the largest batch takes; a server that hangs must not hang its readers.
ANSWER_S = 120.0
_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Chroma server is."""

    host: str
    port: int
    secure: bool

    @property
    def url(self) -> str:
        """`http://HOST:PORT`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}"


def parse(place: str) -> Address:
    """The address in the setting `store`. Raises SettingsError for what is none."""
    try:
        parts = urlsplit(place)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme not in ("http", "https") or parts.path.strip("/"):
        raise SettingsError(f"store = {place!r} is no address of a Chroma server; expected http://HOST:PORT.")
    secure = parts.scheme == "https"
    return Address(host, port or (443 if secure else PORT), secure)


def check(address: Address) -> None:
    """Raises StorageError, saying what is there instead, unless a Chroma server of version 1 answers."""
    import httpx

    found = None
    try:
        for api in ("v2", "v1"):
            answer = httpx.get(f"{address.url}/api/{api}/version", timeout=WAIT_S)
            if answer.is_success:
                found = answer.text.strip().strip('"')
                break
    except httpx.HTTPError as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise StorageError(
            f"No Chroma server answers at {address.url} ({what}); is it running? Start one with `chroma run --path "
            f"FOLDER --port {address.port}`, or leave out the setting `store` to keep the index in the home."
        ) from None
    if found is None or not found[:1].isdigit():
        raise StorageError(f"What answers at {address.url} is no Chroma server; check the address given as store.")
    if found.partition(".")[0] != _VERSION:
        raise StorageError(
            f"The Chroma server at {address.url} has version {found}, this program needs {_VERSION}.x; update it with "
            "`pip install -U chromadb`."
        )
