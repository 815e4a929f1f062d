"""Load on a real server on this machine: many users, a slow reader, clients that go away, a hundred questions at once.

    python -m eval.load_test [--seconds 600] [--users 8] [--llm NAME] [--home DIR] [--json]

Starts `abstract-qa serve` on a free port of loopback over the sample library (or the one in DIR) and keeps it busy for
the time given. Each user asks, streams, searches and lists in turn; beside them one reads its stream a little at a
time, and others close the connection in the middle of one. Halfway a hundred questions come at once. Exit status 1 for
an answer that is neither right nor a clear "busy" (429 or 503 with a sentence), a stream that does not end with
`answer` or `error`, a server that does not answer afterwards, or memory that grew by more than a tenth.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import httpx
import numpy as np

PROGRAM = (sys.executable, "-c", "from rag.cli import main; main()")
QUESTIONS = (
    "Which paper learns to play Atari games?",
    "How does word2vec learn the vectors of words?",
    "What is attention used for in translation?",
    "How many papers are about images?",
    "List the papers about language models",
    "Compare dropout and batch normalisation",
    "What do residual connections change?",
    "哪篇论文研究图像识别？",
    "Who found water on the moon?",
)
BURST = 100
GROWTH = 0.10
ANSWER_S = 600.0


@dataclass(slots=True)
class Seen:
    """What came of all requests; safe to write from several threads."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, result: str, seconds: float) -> None:
        """One request of a kind and what came of it."""
        with self.lock:
            self.counts[kind, result] += 1
            if result == "ok":
                self.seconds[kind].append(seconds)

    def fail(self, kind: str, what: str) -> None:
        """Something that must not happen."""
        with self.lock:
            self.counts[kind, "failed"] += 1
            self.failures.append(f"{kind}: {what}"[:400])


def judged(status: int, body: str) -> str | None:
    """`ok`, `busy`, or None for an answer that must not be."""
    if status == 200:
        return "ok"
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return "busy" if status in (429, 503) and isinstance(message, str) and message.endswith(".") else None


def ending(stream: str) -> str | None:
    """The name of the last event of a stream of server-sent events, None where it is cut off."""
    names = re.findall(r"^event: (\w+)$", stream, re.MULTILINE)
    return names[-1] if names and stream.endswith("\n\n") and names[-1] in ("answer", "error") else None


class Load:
    """Clients of one server until `until` (monotonic seconds)."""

    def __init__(self, address: str, until: float, seen: Seen) -> None:
        self.address = address
        self.until = until
        self.seen = seen

    def user(self, seed: int) -> None:
        """One user: asks, streams, searches, lists."""
        chance = random.Random(seed)
        with self._client() as client:
            while time.monotonic() < self.until:
                question = chance.choice(QUESTIONS)
                match chance.randrange(10):
                    case 0 | 1 | 2 | 3:
                        self._request("ask", lambda q=question: client.post("/api/ask", json={"question": q}))  # type: ignore[misc]
                    case 4 | 5 | 6:
                        self.stream(client, question)
                    case 7 | 8:
                        self._request("search", lambda q=question: client.get("/api/search", params={"q": q}))  # type: ignore[misc]
                    case _:
                        self._request("papers", lambda: client.get("/api/papers", params={"limit": 20}))

    def stream(self, client: httpx.Client, question: str, pause_s: float = 0.0, kind: str = "stream") -> None:
        """A question whose answer comes in events, read with a pause after each piece."""
        began = time.monotonic()
        body = {"question": question, "stream": True}
        try:
            with client.stream("POST", "/api/ask", json=body) as response:
                pieces = []
                for piece in response.iter_bytes(256 if pause_s else None):
                    pieces.append(piece)
                    time.sleep(pause_s)
                text = b"".join(pieces).decode()
        except httpx.HTTPError as error:
            self.seen.fail(kind, f"{type(error).__name__}: {error}")
            return
        result = judged(response.status_code, text)
        if result == "ok":
            last = ending(text)
            result = None if last is None else "ok" if last == "answer" else "busy"
        self._told(kind, result, response.status_code, text[-300:], began)

    def slow(self) -> None:
        """One who reads 256 bytes at a time, with a rest after each."""
        with self._client() as client:
            while time.monotonic() < self.until:
                self.stream(client, QUESTIONS[0], 0.2, "slow reader")

    def leaving(self) -> None:
        """One who goes away in the middle of a stream, again and again."""
        chance = random.Random(0)
        while time.monotonic() < self.until:
            body = {"question": chance.choice(QUESTIONS), "stream": True}
            try:
                with self._client() as client, client.stream("POST", "/api/ask", json=body) as response:
                    next(response.iter_bytes(16), b"")
            except httpx.HTTPError as error:
                self.seen.fail("gone away", f"{type(error).__name__}: {error}")
            else:
                self.seen.note("gone away", "ok", 0.0)
            time.sleep(0.3)

    def burst(self) -> None:
        """A hundred questions at once, each answered or told to come again."""

        def one(number: int) -> None:
            with self._client() as client:
                body = {"question": QUESTIONS[number % len(QUESTIONS)]}
                self._request("burst", lambda: client.post("/api/ask", json=body))

        _all([lambda n=number: one(n) for number in range(BURST)])  # type: ignore[misc]

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=ANSWER_S, trust_env=False)

    def _request(self, kind: str, ask: Callable[[], httpx.Response]) -> None:
        began = time.monotonic()
        try:
            response = ask()
        except httpx.HTTPError as error:
            self.seen.fail(kind, f"{type(error).__name__}: {error}")
            return
        self._told(kind, judged(response.status_code, response.text), response.status_code, response.text, began)

    def _told(self, kind: str, result: str | None, status: int, text: str, began: float) -> None:
        if result is None:
            self.seen.fail(kind, f"status {status}: {text}")
            return
        self.seen.note(kind, result, time.monotonic() - began)
        if result == "busy":
            time.sleep(0.5)  # as a client that was told to come again does


def _all(jobs: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def server(home: Path, llm: str) -> Iterator[tuple[str, int]]:
    """A server process: its address and process id. What it says goes to `server.log` in the home."""
    model = ("--llm", llm) if llm else ("--no-llm",)
    with (home / "server.log").open("w") as log:
        command = [*PROGRAM, "serve", "--home", str(home), "--port", "0", *model]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
            try:
                said = process.stdout.readline() if process.stdout else ""
                found = re.search(r"http://\S+", said)
                if found is None:
                    raise click.ClickException(f"the server said {said!r}; see {log.name}")
                with httpx.Client(base_url=found[0], trust_env=False, timeout=60) as client:
                    for _ in range(600):
                        if client.get("/readyz").status_code == 200:
                            break
                        time.sleep(0.5)
                yield found[0], process.pid
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(address: str, pid: int, seconds: float, users: int) -> dict[str, Any]:
    """Warm up, load for so many seconds, let it rest, and report."""
    warm = Seen()
    # As many at once as ever, so that what is made once per thread and per kind of question is there.
    Load(address, 0, warm).burst()
    until = time.monotonic() + min(30.0, seconds / 2)
    _all([lambda seed=seed: Load(address, until, warm).user(seed) for seed in range(users)])  # type: ignore[misc]
    time.sleep(5)
    before = resident(pid)
    seen, peak = Seen(), [before]
    load = Load(address, time.monotonic() + seconds, seen)
    watching = threading.Event()

    def watch() -> None:
        while not watching.wait(1):
            peak.append(resident(pid))

    def halfway() -> None:
        time.sleep(seconds / 2)
        load.burst()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    users_ = [lambda seed=seed: load.user(seed) for seed in range(users)]
    _all([*users_, load.slow, load.leaving, load.leaving, halfway])
    time.sleep(10)
    after = resident(pid)
    watching.set()
    afterwards = Seen()
    with httpx.Client(base_url=address, timeout=120, trust_env=False) as client:
        Load(address, 0, afterwards).stream(client, QUESTIONS[0], kind="afterwards")
    growth = after / before - 1
    failures = [*warm.failures, *seen.failures, *afterwards.failures]
    if not afterwards.counts["afterwards", "ok"]:
        failures.append("the server does not answer afterwards")
    if growth > GROWTH:
        failures.append(f"memory grew by {growth:.0%}")
    return {
        "seconds": seconds,
        "users": users,
        "requests": {f"{kind} {result}": count for (kind, result), count in sorted(seen.counts.items())},
        "p50_s": {kind: round(float(np.median(values)), 3) for kind, values in sorted(seen.seconds.items())},
        "p95_s": {kind: round(float(np.quantile(values, 0.95)), 3) for kind, values in sorted(seen.seconds.items())},
        "memory_mb": {"before": before >> 20, "peak": max(peak) >> 20, "after": after >> 20},
        "growth": round(growth, 4),
        "failures": failures,
    }


def markdown(report: dict[str, Any]) -> str:
    """The report for people."""
    lines = [
        f"{report['users']} users for {report['seconds']:.0f} s: memory {report['memory_mb']['before']} MB before, "
        f"{report['memory_mb']['peak']} MB at most, {report['memory_mb']['after']} MB after ({report['growth']:+.1%}).",
        "",
        "| request | times | median s | 95% s |",
        "| --- | --- | --- | --- |",
    ]
    for name, count in report["requests"].items():
        kind = name.rsplit(" ", 1)[0]
        times = (report["p50_s"].get(kind, ""), report["p95_s"].get(kind, "")) if name.endswith(" ok") else ("", "")
        lines.append(f"| {name} | {count} | {times[0]} | {times[1]} |")
    lines += ["", "Failures: " + (f"{len(report['failures'])}" if report["failures"] else "none")]
    return "\n".join([*lines, *(f"- {failure}" for failure in report["failures"][:20])])


@click.command()
@click.option("--seconds", default=600.0, show_default=True)
@click.option("--users", default=8, show_default=True)
@click.option("--llm", default="", help="Answering model (default: none, answers are quotations).")
@click.option("--home", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A library that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def main(seconds: float, users: int, llm: str, home: Path | None, as_json: bool) -> None:
    """See the module."""
    with tempfile.TemporaryDirectory() as scratch:
        place = home or Path(scratch)
        if home is None:
            subprocess.run([*PROGRAM, "ingest", "--sample", "--home", scratch], check=True, stdout=subprocess.DEVNULL)
        with server(place, llm) as (address, pid):
            report = measure(address, pid, seconds, users)
    click.echo(json.dumps(report, indent=2) if as_json else markdown(report))
    sys.exit(bool(report["failures"]))


if __name__ == "__main__":
    main()
