"""Damages each file of a library in every way, opens the library in a process of its own, and tells what came of it.

    python -m eval.damage [--papers 1100] [--only TEXT] [--verbose]

Each file is emptied, cut in half, filled with random bytes or text, replaced by a folder, made unreadable and removed;
each entry of the manifest and each stamp in the database is made nonsense. What may come of it: `unharmed` (everything
is there, nothing said), `mended` (everything is there, said), `refused` (one sentence), `told` (what was lost is said:
SQLite takes a damaged write-ahead log for one that ends there). Everything else is a failure:
a crash, an unexpected exception, a paper or conversation missing without a word. A file emptied or removed whole that
is a user's own (conversations) leaves nothing behind to notice it by, nor does a write-ahead log of conversations that
ends early, as any that was being written; such cases are counted as `gone`.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click

from eval.crash_test import RandomEncoder
from rag.errors import AbstractQAError
from rag.ingest.prepare import prepare
from rag.settings import Settings, load_settings
from rag.store.database import FILE_NAME
from rag.store.index import Index, PreparedPaper
from rag.types import Paper

GOOD = ("unharmed", "mended", "refused", "told", "gone")
LIMIT_S = 120.0
TEXT = b"This is no part of a library, but a letter. " * 200
# Files whose whole content is one user's data: when all of it is taken away, nothing is left that could say so.
_OWN = ("conversations.sqlite", "settings.toml")


@dataclass(frozen=True, slots=True)
class Case:
    """A file (or `manifest KEY`, `stamps`) and what was done to it."""

    what: str
    how: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: one of GOOD or `failed`, with the sentence that was said."""

    case: Case
    verdict: str
    said: str

    @property
    def good(self) -> bool:
        """Whether the library kept its promise."""
        return self.verdict in GOOD


def make(home: Path, papers: int) -> Path:
    """A library of invented papers with settings and a conversation, as a killed process leaves it (with a WAL)."""
    from ui.conversations import Conversations

    work = home.with_name("work")
    work.mkdir()
    (work / "settings.toml").write_text("k = 7\n")
    encoder = RandomEncoder()
    made = [_paper(number) for number in range(papers)]
    with Index.open(Settings(home=work), encoder) as index:
        vectors = prepare(made, encoder)
        index.put([PreparedPaper(paper, vector) for paper, vector in zip(made[:-1], vectors[:-1], strict=True)])
    kept = Conversations(work)
    with Index.open(Settings(home=work), encoder) as index:
        index.put([PreparedPaper(made[-1], vectors[-1])])
        kept.begin("local", "What do device papers say?")
        shutil.copytree(work, home)  # while both databases are open: with their write-ahead logs
    kept.close()
    shutil.rmtree(work)
    return home


def _paper(number: int) -> Paper:
    return Paper(f"p{number}", f"Method{number}", f"We study device{number}. It reaches {number} points.")


def cases(home: Path) -> Iterator[Case]:
    """Every damage there is for the library under `home`."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            for how in DAMAGES:
                yield Case(path.relative_to(home).as_posix(), how)
    # Read-only, since closing the last connection that may write empties the write-ahead log.
    with closing(sqlite3.connect(f"{(home / FILE_NAME).as_uri()}?mode=ro", uri=True)) as database:
        keys = [key for (key,) in database.execute("SELECT key FROM manifest")]
    for key in keys:
        yield from (Case(f"manifest {key}", how) for how in ("nonsense", "removed"))
    yield from (Case("stamps", how) for how in ("nonsense", "removed"))


def _random(path: Path) -> None:
    path.write_bytes(random.Random(path.name).randbytes(max(64, path.stat().st_size)))


def _half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "half": _half,
    "random": _random,
    "text": lambda path: path.write_bytes(TEXT),
    "folder": _folder,
    "unreadable": lambda path: path.chmod(0),
    "removed": lambda path: path.unlink(),
}


def damage(home: Path, case: Case) -> None:
    """Do it."""
    part, _, key = case.what.partition(" ")
    if part not in ("manifest", "stamps"):
        DAMAGES[case.how](home / case.what)
        return
    with closing(sqlite3.connect(home / FILE_NAME)) as database:
        if part == "stamps":
            nonsense = "UPDATE stamps SET size = 'x', mtime = 'y', digest = ''"
            database.execute(nonsense if case.how == "nonsense" else "DELETE FROM stamps")
        elif case.how == "nonsense":
            database.execute("UPDATE manifest SET value = 'nonsense' WHERE key = ?", (key,))
        else:
            database.execute("DELETE FROM manifest WHERE key = ?", (key,))
        database.commit()


def look(home: Path) -> dict[str, Any]:
    """Open everything under `home` and use it, as a user would."""
    from ui.conversations import Conversations

    settings = load_settings(home)
    with Index.open(settings, RandomEncoder()) as index:
        rows = index.rows()
        last = rows[-1] if rows else 0
        found = {
            "k": settings.k,
            "papers": len(index.papers(rows)),
            "dense": bool(rows) and index.dense(index.vectors([last])[last].chunks[0], 1)[0][0] == last,
            "lexical": bool(rows) and index.lexical(index.papers([last])[last].title, 1)[0][0] == last,
            "problems": list(index.verify().problems),
            "notes": list(index.notes),
        }
    kept = Conversations(home)
    try:
        found["conversations"] = len(kept.listed("local"))
    finally:
        kept.close()
    return found


def without_override() -> None:
    """Have the rights of files hold for root as well, in this process."""
    libc = ctypes.CDLL(None)
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    for place in (0, 1):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of the effective and the permitted ones
        data[place] &= ~0b110
    libc.capset(header, data)


def _child(home: str, pipe: Connection) -> None:
    without_override()
    try:
        pipe.send(("found", look(Path(home))))
    except AbstractQAError as error:
        pipe.send(("refused", str(error)))
    except BaseException as error:  # noqa: BLE001 - what escapes is what is looked for
        pipe.send(("escaped", f"{type(error).__name__}: {error}"))


def run(case: Case, whole: Path, scratch: Path, papers: int) -> Outcome:
    """Damage a copy of the library and look at it in another process."""
    home = scratch / "damaged"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(whole, home)
    damage(home, case)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["eval.crash_test", "chromadb", "tantivy", "ui.conversations"])
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(str(home), theirs))
    process.start()
    theirs.close()
    try:
        kind, said = ours.recv() if ours.poll(LIMIT_S) else ("escaped", f"no end within {LIMIT_S:.0f} s")
    except EOFError:
        process.join()
        kind, said = "escaped", f"the process died with status {process.exitcode}"
    process.kill()
    process.join()
    return Outcome(case, *judged(case, kind, said, papers))


def judged(case: Case, kind: str, said: Any, papers: int) -> tuple[str, str]:
    """Verdict and what was said, of what the other process sent."""
    if kind != "found":
        one = kind == "refused" and "\n" not in said and said.endswith((".", "`"))
        return ("refused" if one else "failed"), said
    notes = " ".join(said["notes"])
    lost = [
        name
        for name, wrong in {
            "papers": said["papers"] != papers,
            "dense": not said["dense"],
            "lexical": not said["lexical"],
            "problems": bool(said["problems"]) and not notes,
            "settings": said["k"] != 7,
            "conversations": said["conversations"] != 1,
        }.items()
        if wrong
    ]
    if not lost:
        return ("mended" if notes else "unharmed"), notes
    if lost == ["papers"] and " lost " in notes:
        return "told", notes
    whole = case.how in ("empty", "removed") and case.what.startswith((*_OWN, FILE_NAME))
    whole = whole or case == Case("conversations.sqlite-wal", "half")
    return ("gone" if whole else "failed"), f"lost: {', '.join(lost)} {notes} {said['problems']}"


@click.command()
@click.option("--papers", default=1100, show_default=True, help="Chroma keeps no vector files below 1,000.")
@click.option("--only", default="", help="Only cases whose file or damage holds this text.")
@click.option("--verbose", is_flag=True, help="A line for each case.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def main(papers: int, only: str, verbose: bool, as_json: bool) -> None:
    """See the module."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        whole = make(scratch / "whole", papers)
        for case in cases(whole):
            if only not in f"{case.what} {case.how}":
                continue
            outcome = run(case, whole, scratch, papers)
            outcomes.append(outcome)
            if verbose or not outcome.good:
                click.echo(f"{outcome.verdict:9} {case.what} {case.how}: {outcome.said}", err=as_json)
    counts = Counter(outcome.verdict for outcome in outcomes)
    if as_json:
        click.echo(json.dumps({"cases": len(outcomes), **counts}))
    else:
        click.echo(f"{len(outcomes)} cases: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
