"""The dense index keeps the same promises in a folder and on a Chroma server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.errors import SettingsError, StorageError
from rag.index import Index
from rag.settings import Settings
from tests.fakes import FakeEncoder
from tests.library import fill, in_step, paper

SERVER = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; app()"


def opened_with(home: Path, store: str) -> Index:
    return Index.open(Settings(home=home, store=store), FakeEncoder(dimension=64))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Chroma server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-c", SERVER, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture(params=["folder", "server"])
def store(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "folder" else str(request.getfixturevalue("server"))


def test_papers_are_stored_found_replaced_and_removed(store: str, tmp_path: Path) -> None:
    with opened_with(tmp_path, store) as index:
        rows = fill(index, [paper(number) for number in range(12)])
        question = index.encoder.encode([f"{paper(4).title}. {paper(4).abstract}"])[0]
        assert index.dense(question, 1)[0][0] == rows[4]
        index.remove(["p4"])
        fill(index, [paper(5, title="Zebras", abstract="They zigzag.")])
        assert index.dense(question, 1)[0][0] != rows[4]
        in_step(index)
    with opened_with(tmp_path, store) as index:
        assert index.notes == ()
        assert index.dense(index.encoder.encode(["Zebras. They zigzag."])[0], 1)[0][0] == rows[5]


def test_an_index_made_anew_holds_the_same(store: str, tmp_path: Path) -> None:
    with opened_with(tmp_path, store) as index:
        fill(index, [paper(number) for number in range(6)])
        question = index.encoder.encode([paper(2).abstract])[0]
        before = index.dense(question, 6)
        index.rebuild()
        after = index.dense(question, 6)
        assert [row for row, _ in after] == [row for row, _ in before]
        in_step(index)


def test_two_libraries_on_one_server_are_apart(server: str, tmp_path: Path) -> None:
    with opened_with(tmp_path / "a", server) as one, opened_with(tmp_path / "b", server) as two:
        fill(one, [paper(1)])
        fill(two, [paper(2), paper(3)])
        in_step(one)
        in_step(two)


def test_a_library_moves_between_folder_and_server(server: str, tmp_path: Path) -> None:
    with opened_with(tmp_path, "") as index:
        fill(index, [paper(1)])
    for store in (server, "", server):
        with opened_with(tmp_path, store) as index:
            assert len(index.notes) == 1
            fill(index, [paper(len(index) + 1)])
            in_step(index)


def test_a_server_that_does_not_answer_is_a_clear_error(tmp_path: Path) -> None:
    with opened_with(tmp_path, "http://127.0.0.1:9") as index, pytest.raises(StorageError, match="is it running"):
        fill(index, [paper(1)])


def test_a_wrong_address_is_a_clear_error(tmp_path: Path) -> None:
    with opened_with(tmp_path, "somewhere") as index, pytest.raises(SettingsError, match="http://HOST:PORT"):
        fill(index, [paper(1)])
