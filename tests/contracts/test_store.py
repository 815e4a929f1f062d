"""The dense index keeps the same promises in a folder and on a Chroma server."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rag.errors import SettingsError, StorageError
from rag.settings import Settings
from rag.store.dense import Dense
from rag.store.index import Index
from tests.fakes import FakeEncoder
from tests.library import entry, fill, in_step, paper, write_jsonl

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
            if not _listening(process, port):
                pytest.skip("no Chroma server can be started here")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _listening(process: subprocess.Popen[bytes], port: int) -> bool:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        if process.poll() is not None:
            return False
        time.sleep(0.1)
    return False


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


@contextmanager
def answering(answers: Mapping[str, str]) -> Iterator[str]:
    """The address of a server that says these things at these paths, and 404 elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in answers else 404)
            self.end_headers()
            self.wfile.write(answers.get(self.path, "").encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_address[1]}"
        finally:
            made.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"/api/v1/version": '"0.4.24"'}, "has version 0.4.24, this program needs 1.x"),
        ({"/api/v2/version": '"2.0.0"'}, "has version 2.0.0"),
        ({"/": "hello"}, "is no Chroma server"),
        ({"/api/v2/version": "<html>"}, "is no Chroma server"),
    ],
)
def test_what_is_no_chroma_server_of_this_version_is_named(
    answers: Mapping[str, str], said: str, tmp_path: Path
) -> None:
    with (
        answering(answers) as address,
        opened_with(tmp_path, address) as index,
        pytest.raises(StorageError, match=said),
    ):
        fill(index, [paper(1)])
    # The paper is safe: without the server it is there.
    with opened_with(tmp_path, "") as index:
        assert len(index) == 1
        in_step(index)


def test_a_collection_that_went_is_made_anew_by_the_next_question(server: str, tmp_path: Path) -> None:
    with opened_with(tmp_path, server) as index:
        rows = fill(index, [paper(number) for number in range(6)])
        name = index._derived.dense().name
    assert Dense.drop(server, name, (FakeEncoder(dimension=64).fingerprint,))
    with opened_with(tmp_path, server) as index:
        question = index.encoder.encode([f"{paper(4).title}. {paper(4).abstract}"])[0]
        assert index.dense(question, 1)[0][0] == rows[4]
        in_step(index)


def test_a_collection_of_another_embedder_is_left_alone(server: str, tmp_path: Path) -> None:
    with opened_with(tmp_path, server) as index:
        fill(index, [paper(number) for number in range(3)])
        dense = index._derived.dense()
        dense.claim("another")
        name, held = dense.name, dense.count()
    with opened_with(tmp_path, server) as index:
        assert len(index.dense(index.encoder.encode([paper(1).abstract])[0], 3)) == 3
        in_step(index)
        assert index._derived.dense().name != name
    with closing(Dense(server, name)) as other:
        assert (other.made_by, other.count()) == ("another", held)


def test_several_processes_ask_while_one_writes(server: str, tmp_path: Path) -> None:
    """One home, one server: a reader that was open before sees what another process puts in, and is never refused."""
    home = tmp_path / "home"
    with opened_with(home, server) as reader:
        fill(reader, [paper(number) for number in range(4)])
        file = write_jsonl(tmp_path / "more.jsonl", [entry(number) for number in range(4, 60)])
        program = (
            "import sys; from pathlib import Path; from rag.ingest.run import IngestOptions, ingest;"
            "from tests.contracts.test_store import opened_with\n"
            "with opened_with(Path(sys.argv[1]), sys.argv[2]) as index: ingest([sys.argv[3]], index, IngestOptions())"
        )
        question = reader.encoder.encode([f"{paper(2).title}. {paper(2).abstract}"])[0]
        expected = reader.dense(question, 1)[0][0]
        with subprocess.Popen([sys.executable, "-c", program, str(home), server, str(file)]) as writer:
            while writer.poll() is None:
                assert reader.dense(question, 1)[0][0] == expected
                time.sleep(0.05)
        assert writer.returncode == 0
        late = reader.encoder.encode([f"{paper(50).title}. {paper(50).abstract}"])[0]
        assert reader.papers([reader.dense(late, 1)[0][0]]).popitem()[1].paper_id == "p50"
    with opened_with(home, server) as index:
        in_step(index)


def test_a_reader_follows_to_a_collection_made_anew(server: str, tmp_path: Path) -> None:
    with opened_with(tmp_path, server) as reader, opened_with(tmp_path, server) as other:
        rows = fill(other, [paper(number) for number in range(6)])
        question = other.encoder.encode([f"{paper(4).title}. {paper(4).abstract}"])[0]
        assert reader.dense(question, 1)[0][0] == rows[4]
        other.rebuild()
        assert reader.dense(question, 1)[0][0] == rows[4]


def test_a_wrong_address_is_a_clear_error(tmp_path: Path) -> None:
    with opened_with(tmp_path, "somewhere") as index, pytest.raises(SettingsError, match="http://HOST:PORT"):
        fill(index, [paper(1)])
