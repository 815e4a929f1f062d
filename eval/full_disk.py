"""Runs what writes on a disk that is full, or in a folder that is read-only, and tells what the user is told.

    python -m eval.full_disk [--json]

In a mount namespace of its own with a small tmpfs as disk (as root, or where users may make one). Reading papers, a
conversation, an export, a backup and a model are written until the disk is full; then again on a disk that is
read-only. Exit status 1 when a command ends in anything but status 1 and one sentence, when a paper that was stored is
lost, or when the library does not work again once there is room.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval.crash_test import RandomEncoder
from rag.errors import AbstractQAError
from rag.ingest.run import IngestOptions, ingest
from rag.settings import Settings
from rag.store.index import Index, backup
from rag.types import Filters
from ui.conversations import Conversations
from ui.exchange import new_exchange

INSIDE = "--inside"
FEW = 40  # papers that are stored before
DISK = 60_000_000
ROOM = 6_000_000  # for what is written until the disk is full
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
MOUNT = f'mount -t tmpfs -o size={DISK} tmpfs "$1"'
# The two stages are processes of their own: what the first one still has open keeps a disk from becoming read-only.
STAGES = f"""{MOUNT} && "$2" -m eval.full_disk {INSIDE} "$1" full && mount -o remount,ro "$1" &&
"$2" -m eval.full_disk {INSIDE} "$1" read-only && mount -o remount,rw "$1" &&
"$2" -m eval.full_disk {INSIDE} "$1" afterwards"""


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried, whether it ended as it should, and what was said."""

    what: str
    good: bool
    said: str


def possible() -> bool:
    """Whether this machine lets a process mount a tmpfs of its own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([*NAMESPACE, MOUNT, "sh", folder], capture_output=True, check=False)
        except OSError:
            return False
    return done.returncode == 0


def run() -> list[Tried]:
    """All of it, on a small disk of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*NAMESPACE, STAGES, "sh", folder, sys.executable]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=550)
    if done.returncode:
        return [Tried("the whole run", False, done.stderr[-2000:])]
    return [Tried(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]


def _refused(what: str, act: Callable[[], object]) -> Tried:
    """An act that must end in one sentence."""
    try:
        act()
    except AbstractQAError as error:
        return Tried(what, "\n" not in str(error), str(error))
    except BaseException as error:  # noqa: BLE001 - what escapes is what is looked for
        return Tried(what, False, f"{type(error).__name__}: {error}")
    return Tried(what, False, "nothing was said")


def _opened(home: Path) -> Index:
    return Index.open(Settings(home=home), RandomEncoder())


def _papers(folder: Path, count: int, name: str) -> Path:
    file = folder / f"{name}.jsonl"
    lines = (
        json.dumps({"title": f"{name} {n}", "abstract": f"We study {name}{n} at length. It has {n} parts. " * 8})
        for n in range(count)
    )
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def _fill(disk: Path, leave: int, name: str = "ballast") -> Path:
    """A file that takes all room of the disk but `leave` bytes."""
    state = os.statvfs(disk)
    ballast = disk / name
    ballast.write_bytes(b"\0" * max(0, state.f_bavail * state.f_frsize - leave))
    return ballast


def inside(disk: Path, stage: str) -> Iterator[Tried]:
    """What is tried at a stage, on the small disk."""
    home = disk / "home"
    with tempfile.TemporaryDirectory() as elsewhere:
        few, many = (_papers(Path(elsewhere), n, name) for n, name in ((FEW, "first"), (4000, "second")))
        if stage == "full":
            with _opened(home) as index:
                ingest([few], index, IngestOptions())
                kept = Conversations(home)
                ballast = _fill(disk, ROOM)
                yield _refused("reading papers, disk full", lambda: ingest([many], index, IngestOptions()))
            rest = _fill(disk, 0, "rest")
            yield _refused("a conversation, file open", lambda: _converse(kept))
            yield from _written(disk, home)
            ballast.unlink()
            rest.unlink()
            yield _works(home, "with room again, same process")
        elif stage == "read-only":
            yield _refused("reading papers, disk read-only", lambda: _read(home, few))
            yield from _written(disk, home)
        else:
            yield _works(home, "with room again, new process")


def _read(home: Path, file: Path) -> None:
    with _opened(home) as index:
        ingest([file], index, IngestOptions())


def _written(disk: Path, home: Path) -> list[Tried]:
    """A conversation, a backup, an export and a model."""
    return [
        _refused("a conversation", lambda: _converse(Conversations(home))),
        _refused("a backup", lambda: backup(Settings(home=home), disk / "kept.sqlite")),
        _command("an export", home, "papers", "export", "-o", str(disk / "papers.bib")),
        _command("pulling a model", home, "models", "pull", "smollm2-135m", models=disk / "models"),
    ]


def _converse(kept: Conversations) -> None:
    with closing(kept):
        conversation = kept.begin("local", "Who?")
        for _ in range(50):
            conversation = conversation.with_exchange(new_exchange("Why? " * 1000, Filters()))
            kept.save("local", conversation)


def _command(what: str, home: Path, *arguments: str, models: Path | None = None) -> Tried:
    """A command that must end with status 1 and a sentence."""
    program = [sys.executable, "-c", "from rag.cli import main; main()", *arguments, "--home", str(home)]
    environment = os.environ | ({} if models is None else {"ABSTRACT_QA_MODELS": str(models)})
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=120)
    lines = done.stderr.strip().splitlines()
    return Tried(what, done.returncode == 1 and len(lines) == 1 and "Traceback" not in done.stderr, done.stderr.strip())


def _works(home: Path, what: str) -> Tried:
    """Whether the library has all that was stored and takes more once there is room."""
    try:
        with _opened(home) as index:
            problems = " ".join((*index.notes, *index.verify().problems))
            return Tried(what, len(index) >= FEW and not index.verify().problems, f"{len(index)} papers. {problems}")
    except AbstractQAError as error:
        return Tried(what, False, str(error))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def main(as_json: bool) -> None:
    """See the module."""
    if not possible():
        raise click.ClickException("this machine lets no process mount a tmpfs of its own")
    tried = run()
    if as_json:
        click.echo(json.dumps([asdict(entry) for entry in tried], indent=2))
    else:
        for entry in tried:
            click.echo(f"{'ok' if entry.good else 'FAILED':6} {entry.what}: {entry.said}")
    sys.exit(not all(entry.good for entry in tried))


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        for entry in inside(Path(sys.argv[2]), sys.argv[3]):
            click.echo(json.dumps(asdict(entry)))
    else:
        main()
