"""How long a person waits in the browser, from pressing Enter: `python -m eval.browser_latency --home HOME`.

Starts the server as `abstract-qa serve` does, in a process of its own over a copy of HOME's library, opens the page in
Chromium, asks questions of a set, each in a new conversation, and notes in the page itself when the first source card
and the first text of the answer have been drawn. Needs Chromium and the model that the settings name.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from eval.foreign import load_set
from eval.sets import Item, QuestionSet
from rag.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STEPS = ("first_source", "first_text", "done")
STARTED_S = 600.0
ANSWERED_MS = 300_000.0
# Runs in the page: a frame after each change it looks whether the first card, the first text and the end are there.
_WATCH = """() => {
  const times = window.waited = {};
  const text = ".aqa-draft, .aqa-s, .aqa-refusal, .aqa-total, .aqa-compared";
  const look = () => {
    const live = document.querySelector("#aqa-live .aqa-exchange"), now = performance.now() - times.pressed;
    if (!live || times.pressed === undefined) return;
    if (!("first_source" in times) && document.querySelector(".aqa-sources .aqa-card")) times.first_source = now;
    if (!("first_text" in times) && live.querySelector(text)?.textContent.trim()) times.first_text = now;
    if (!("done" in times) && live.dataset.state !== "running") { times.done = now; times.state = live.dataset.state; }
  };
  document.querySelector("#aqa-box textarea").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && times.pressed === undefined) times.pressed = performance.now();
  }, true);
  const everything = {childList: true, subtree: true, attributes: true, characterData: true};
  new MutationObserver(() => requestAnimationFrame(look)).observe(document.querySelector("#aqa-chat"), everything);
}"""


@contextmanager
def served(home: Path, llm: str | None) -> Iterator[str]:
    """The address of a server over a copy of `home`, its model loaded. Raises InputError when it does not come up."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        shutil.copytree(home, copy, ignore=shutil.ignore_patterns("conversations.sqlite*", "models", "runs"))
        if (home / "models").is_dir():
            (copy / "models").symlink_to((home / "models").resolve())
        command = [sys.executable, "-c", "from rag.cli import main; main()", "serve", "--home", str(copy)]
        command += ["--port", str(port), *(["--llm", llm] if llm else [])]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium as the system has it. Raises InputError where it has none."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise InputError("Chromium is not installed (`apt-get install chromium`).")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    import httpx

    until = time.monotonic() + STARTED_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise InputError("The server did not come up; try `abstract-qa serve` to see why.")


def waited(page: Page, address: str, question: str) -> dict[str, float]:
    """Milliseconds from pressing Enter to each of `STEPS`; a step that did not happen is not there."""
    page.goto(address)
    page.locator(".aqa-welcome").wait_for()
    page.locator(".aqa-rail-frame").wait_for()
    page.evaluate(_WATCH)
    box = page.locator("#aqa-box textarea")
    box.fill(question)
    box.press("Enter")
    page.wait_for_function("() => 'done' in window.waited", timeout=ANSWERED_MS)
    times: dict[str, Any] = page.evaluate("() => window.waited")
    if times["state"] != "done":
        raise InputError(f"The answer to {question!r} ended as {times['state']}.")
    return {step: round(float(times[step]), 1) for step in STEPS if step in times}


def drawn(questions: QuestionSet, count: int, seed: int) -> list[Item]:
    """Up to `count` of the questions that stand alone, drawn at random, in the order of the set."""
    alone = [item for item in questions.items if not item.history and not item.filters]
    places = sorted(random.Random(seed).sample(range(len(alone)), min(count, len(alone))))
    return [alone[place] for place in places]


def summary(rows: Sequence[dict[str, float]]) -> dict[str, dict[str, float | int]]:
    """For each step its median, 95th percentile and largest value in milliseconds, and for how many it happened."""
    found: dict[str, dict[str, float | int]] = {}
    for step in STEPS:
        values = [row[step] for row in rows if step in row]
        if values:
            found[step] = {
                "median_ms": round(statistics.median(values), 1),
                "p95_ms": round(float(np.percentile(values, 95)), 1),
                "max_ms": max(values),
                "n": len(values),
            }
    return found


@click.command()
@click.option("--home", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--set", "path", type=click.Path(path_type=Path, exists=True), help="Default: the set on the seeds.")
@click.option("-n", "--questions", type=click.IntRange(1), default=30, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the questions.")
@click.option("--llm", help="Another model than the settings'.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write all figures to this file too.")
def main(home: Path, path: Path | None, questions: int, seed: int, llm: str | None, out: Path | None) -> None:
    """Measure the waiting in a real browser."""
    chosen = drawn(load_set(path or Path(__file__).parent / "sets" / "seeds_mixed.jsonl"), questions, seed)
    rows: list[dict[str, float]] = []
    try:
        with served(home, llm) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for item in chosen:
                rows.append(waited(page, address, item.question))
                shown = "  ".join(f"{step} {rows[-1][step]:,.0f} ms" for step in STEPS if step in rows[-1])
                click.echo(f"{item.id}: {shown}")
    except InputError as error:
        raise click.ClickException(str(error)) from None
    figures = summary(rows)
    for step, found in figures.items():
        click.echo(
            f"{step}: median {found['median_ms']:,.0f} ms, p95 {found['p95_ms']:,.0f} ms, "
            f"most {found['max_ms']:,.0f} ms (n = {found['n']})"
        )
    if out is not None:
        asked = [{"id": item.id, "question": item.question, **row} for item, row in zip(chosen, rows, strict=True)]
        out.write_text(json.dumps({"summary": figures, "questions": asked}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
