"""A real server over a library of invented papers, in a thread, with users who sign in."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from tests.fakes_ui import FakeLibrary
from ui.accounts import Accounts

PASSWORD = "correct horse battery"


@dataclass
class Server:
    """`app` answers at `address`."""

    app: Any
    address: str
    library: FakeLibrary

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=60, **options)

    @contextmanager
    def signed_in(self, name: str) -> Iterator[httpx.Client]:
        with self.client() as client:
            answer = client.post("/sign-in", data={"name": name, "password": PASSWORD})
            assert answer.status_code == 303, answer.text
            yield client

    @property
    def mounts(self) -> dict[str, Any]:
        """Gradio's applications by their path."""
        from starlette.routing import Mount

        return {route.path or "/": route.app for route in self.app.routes if isinstance(route, Mount)}


@contextmanager
def serving(
    library: FakeLibrary, users: tuple[str, ...] = (), host: str = "127.0.0.1", **access: Any
) -> Iterator[Server]:
    """A server on loopback; users with a `*` before their name are admins. `host` is what it takes to be bound to."""
    from ui.app import Access, build

    accounts = Accounts(library.settings.home)
    for name in users:
        accounts.add_user(name.removeprefix("*"), PASSWORD, admin=name.startswith("*"))

    async def make() -> Any:
        return build(library, host, warm=False, access=Access(**access))  # type: ignore[arg-type]

    with ThreadPoolExecutor(1) as pool:
        # Made inside a running loop: without one Gradio makes a loop for each page and leaves it open.
        app = pool.submit(asyncio.run, make()).result()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, log_level="critical", log_config=None, timeout_graceful_shutdown=1, proxy_headers=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.02)
        try:
            yield Server(app, f"http://127.0.0.1:{listening.getsockname()[1]}", library)
        finally:
            server.should_exit = True
            thread.join()
