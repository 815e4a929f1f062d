"""Nothing leaves this machine, and nothing is left outside the home: the check itself, and the program under it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.offline_check import WATCH, Check, check, hosts_in, is_outside, other_hosts, written_in

REACHES_OUT = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.7', 80))"


def test_what_strace_says_is_read() -> None:
    trace = """
12 connect(5, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = -1 ENETUNREACH
12 connect(5, {sa_family=AF_INET, sin_port=htons(7860), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
12 connect(5, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0
12 connect(5, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", \
&sin6_addr), sin6_scope_id=0}, 28) = -1 ENETUNREACH
12 connect(5, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", \
&sin6_addr), sin6_scope_id=0}, 28) = 0
12 connect(5, {sa_family=AF_UNIX, sun_path="/run/nscd"}, 110) = -1 ENOENT
12 sendto(5, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("198.51.100.1")}, 16) = 1
"""
    assert hosts_in(trace) == ["192.0.2.7:443", "127.0.0.53:53", "2001:db8::1:80", "198.51.100.1:9"]


def test_files_that_are_made_are_read() -> None:
    trace = """
3 openat(AT_FDCWD, "/a/read", O_RDONLY|O_CLOEXEC) = 3
3 openat(AT_FDCWD, "/a/written", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0666) = 3
3 openat(AT_FDCWD, "/a/refused", O_RDWR|O_CREAT, 0666) = -1 EACCES (Permission denied)
3 mkdir(".cache", 0777) = 0
3 rename("/a/part", "/a/whole") = 0
"""
    found = [str(path) for path in written_in(trace, Path("/here"))]
    assert found == ["/a/written", "/here/.cache", "/a/whole"]


@pytest.mark.parametrize(
    ("host", "port", "outside"),
    [("127.0.0.1", 80, False), ("::1", 80, False), ("127.0.0.1", 53, True), ("example.org", 0, True)],
)
def test_other_hosts_are_told(host: str, port: int, outside: bool) -> None:
    assert is_outside(host, port) is outside


def test_what_a_page_would_fetch_is_told() -> None:
    page = (
        '<link rel="preconnect" href="https://fonts.example.org"><script src="/a.js"></script><a href="http://x.org">'
    )
    assert other_hosts(page, "http://127.0.0.1:1") == ["https://fonts.example.org"]


def test_the_hook_notes_connections(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    environment = os.environ | {"PYTHONPATH": str(WATCH), "WATCH_FILE": str(seen)}
    subprocess.run([sys.executable, "-c", REACHES_OUT], env=environment, check=False, capture_output=True)
    assert "192.0.2.7 80" in seen.read_text().splitlines()


def test_a_program_that_reaches_out_or_leaves_a_file_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.offline_check.PROGRAM", ("-c", "open('left', 'w').close(); " + REACHES_OUT))
    run = Check(tmp_path, tmp_path, "")
    run.command("ask")
    found = run.judge()
    assert "192.0.2.7:80" in found.hosts
    assert found.files == [str(tmp_path / "here" / "left")]


@pytest.mark.model
@pytest.mark.timeout(900)
def test_the_program_reaches_no_other_host_and_leaves_nothing_outside(
    tmp_path: Path, pulled: Callable[[str], Path]
) -> None:
    pulled("all-minilm-l6-v2")
    found = check(tmp_path, pulled("smollm2-135m").parent, "smollm2-135m")
    assert (found.failed, found.hosts, found.files, found.linked) == ([], [], [], [])
    assert found.steps == ["ingest", "ask", "eval", "serve"]
