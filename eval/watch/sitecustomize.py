"""Put on a process's path: notes in $WATCH_FILE each address its Python code connects to and each name it looks up."""

import contextlib
import os
import sys

_FILE = os.environ.get("WATCH_FILE")


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        if not (isinstance(address, tuple) and len(address) > 1):
            return  # a Unix socket
        host, port = address[:2]
    elif event == "socket.getaddrinfo":
        host, port = arguments[0], arguments[1] if isinstance(arguments[1], int) else 0
        if host in (None, b"localhost", "localhost", ""):
            return
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    with contextlib.suppress(OSError), open(_FILE or os.devnull, "a", encoding="utf-8") as kept:  # noqa: PTH123 - small
        kept.write(f"{host} {port}\n")


if _FILE:
    sys.addaudithook(_hook)
