"""What all tests share: a home of their own, no settings from outside, no network beyond this machine."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag.settings import ENV_PREFIX, default_home
from tests.fakes import FakeChatModel, FakeEncoder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
# Where pulled models are, read before the tests' clean environment hides it; None where the default home has them.
MODELS = os.environ.get(ENV_PREFIX + "MODELS")


def _is_loopback(address: Any) -> bool:
    if not isinstance(address, tuple):  # a Unix socket
        return True
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return bool(address[0] == "localhost")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to another host fails at once, so that no test leans on the network."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        if not _is_loopback(address):
            raise ConnectionRefusedError(f"tests may not connect to {address!r}")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        return connect_ex(self, address) if _is_loopback(address) else 111

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home in the test's own folder, also the default one; no `ABSTRACT_QA_*` variable from outside."""
    for variable in [name for name in os.environ if name.startswith(ENV_PREFIX)]:
        monkeypatch.delenv(variable)
    path = tmp_path / "home"
    monkeypatch.setenv(ENV_PREFIX + "HOME", str(path))
    monkeypatch.setenv(ENV_PREFIX + "OFFLINE", "1")
    monkeypatch.setattr("rag.models.hardware._kept_under", [path])
    return path


@pytest.fixture
def encoder() -> FakeEncoder:
    """A fresh FakeEncoder."""
    return FakeEncoder()


@pytest.fixture
def chat() -> FakeChatModel:
    """A fresh FakeChatModel; set its `script`."""
    return FakeChatModel()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real sample data beside the checkout; skips where it is absent."""
    if not DATA.is_dir():
        pytest.skip("the real sample data, ../shared/data, is not beside this checkout")
    return DATA


@pytest.fixture(scope="session")
def tiny_chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real language model that knows `tiny.REPLIES`; takes a few seconds to make."""
    from tests import tiny

    return tiny.chat_folder(tmp_path_factory.mktemp("tiny-chat"))


@pytest.fixture(scope="session")
def tiny_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real sentence-transformers model with random weights that reads at most 32 tokens."""
    from tests import tiny

    return tiny.encoder_folder(tmp_path_factory.mktemp("tiny-encoder"))


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """The ready folder of a known model by its name; the test skips where it was not pulled."""
    from rag.models.known import find

    def folder(name: str) -> Path:
        with monkeypatch.context() as outside:
            if MODELS is not None:
                outside.setenv(ENV_PREFIX + "MODELS", MODELS)
            outside.delenv(ENV_PREFIX + "HOME")
            found = find(name, default_home())
        return found or pytest.skip(f"{name} is not on this machine; abstract-qa models pull {name}")

    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium, one for all tests: Playwright does not start twice in a process."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed (`apt-get install chromium`)")
    from playwright.sync_api import sync_playwright

    arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()
