"""Kill an ingest, and what answers questions, with `kill -9` at random moments and look at what is there after each.

    python -m eval.crash_test FILE [--kills 50] [--papers 3000] [--seed 1] [--home DIR]
    python -m eval.crash_test FILE --answering [--kills 50]

FILE is JSON lines (or .jsonl.gz). Vectors are random, so that only reading and storing is tried. Prints one line a kill
and ends with status 1 when a paper was lost or doubled or the three parts of the library did not agree; with
`--answering`, when an answer that was given is not in its conversation, or one is there twice.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from rag.ingest.run import IngestOptions, ingest
from rag.models.embeddings import Encoder, FloatArray, Offsets, unit
from rag.settings import Settings
from rag.store.index import Index

CHILD = "--child"
ANSWERING = "--child-answering"


class RandomEncoder(Encoder):
    """A fixed random vector for each text."""

    name = fingerprint = "random"
    dimension = 384
    max_tokens = 256

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return self.encode_with_spans(texts, [()] * len(texts))[0]

    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        vectors = unit(np.array([self._vector(text) for text in texts], dtype=np.float32))
        return vectors, [
            np.repeat(vector[None], len(wanted), axis=0) for vector, wanted in zip(vectors, spans, strict=True)
        ]

    def token_offsets(self, text: str) -> Offsets:
        # Four characters a token, as English text has it with this kind of tokenizer.
        return [(start, min(start + 4, len(text))) for start in range(0, len(text), 4)]

    def _vector(self, text: str) -> FloatArray:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)


def _open(home: Path, *, write: bool = False) -> Index:
    return Index.open(Settings(home=home), RandomEncoder(), write=write)


def _kill(home: Path, file: Path, after_s: float) -> None:
    command = [sys.executable, "-m", "eval.crash_test", CHILD, str(home), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is not None:
            process.stdout.readline()
        time.sleep(after_s)
        process.kill()


def _answer(home: Path) -> None:
    """Answer one question after another in one conversation, as the page does, and say how many are kept."""
    from types import SimpleNamespace
    from typing import Any, cast

    from rag.library import Library
    from rag.types import Filters
    from ui.chat import Asked, Chat
    from ui.conversations import Conversations
    from ui.desk import Desk
    from ui.text import Words

    with Library(Settings(home=home, llm="none"), _open(home)) as library:
        desk = Desk(library, "none")
        desk.warmed.set()
        chat = Chat(desk, Conversations(home), Words("en"))
        request = cast(Any, SimpleNamespace(session_hash="tab"))
        conversation: str | None = None
        click.echo("opened")
        for number in range(10_000):
            for update in chat.ask(Asked(f"What is paper {number} about?"), conversation, Filters(), 5, request):
                conversation = update[0]
            click.echo(f"{conversation} {number + 1}")


def _killed_answering(home: Path, after_s: float) -> tuple[str | None, int]:
    """Kill what answers; the conversation and how many answers it said were kept."""
    command = [sys.executable, "-m", "eval.crash_test", ANSWERING, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None:
            return None, 0
        process.stdout.readline()
        time.sleep(after_s)
        process.kill()
        lines = process.stdout.read().splitlines()
    whole = [line.split() for line in lines if len(line.split()) == 2]
    return (whole[-1][0], int(whole[-1][1])) if whole else (None, 0)


def _try_answering(place: Path, kills: int, longest_s: float, moments: random.Random) -> None:
    from ui.conversations import Conversations

    for number in range(1, kills + 1):
        conversation, given = _killed_answering(place, moments.uniform(0.0, longest_s))
        kept = Conversations(place)
        found = kept.load("local", conversation)
        kept.close()
        exchanges = found.exchanges if found else ()
        done = [one for one in exchanges if one.state == "done"]
        click.echo(f"{number}: {given} answers given, {len(done)} kept, {len(exchanges) - len(done)} begun")
        doubled = len({one.exchange_id for one in exchanges}) != len(exchanges)
        if len(done) < given or doubled or len(exchanges) > given + 1:
            raise click.ClickException(f"after kill {number}: {given} answers were given, {len(exchanges)} are there")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--kills", default=50, show_default=True)
@click.option("--papers", default=3000, show_default=True)
@click.option("--longest-s", default=6.0, show_default=True, help="Latest moment, from the opening of the library.")
@click.option("--seed", default=1, show_default=True)
@click.option("--home", type=click.Path(path_type=Path), default=None, help="Where (default: a temporary folder).")
@click.option("--answering", is_flag=True, help="Kill what answers questions instead.")
def main(file: Path, kills: int, papers: int, longest_s: float, seed: int, home: Path | None, answering: bool) -> None:
    """See the module."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        place = home or Path(scratch) / "home"
        part = Path(scratch) / "papers.jsonl"
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            part.write_text("".join(line for _, line in zip(range(papers), lines, strict=False)))
        if answering:
            with _open(place, write=True) as index:
                ingest([part], index, IngestOptions())
            _try_answering(place, kills, longest_s, moments)
            return
        stored = 0
        for number in range(1, kills + 1):
            # Reading all of it takes some seconds; once it is all in, it is forgotten and begun again.
            _kill(place, part, moments.uniform(0.0, longest_s))
            start = time.monotonic()
            with _open(place) as index:
                repaired_s = time.monotonic() - start
                health = index.verify()
                notes = " ".join(index.notes) or "nothing to do"
                click.echo(f"{number}: {len(index)} papers, opened in {repaired_s:.2f} s; {notes}")
                if health.problems or len(index) < stored:
                    raise click.ClickException(f"after kill {number}: {health} and {stored} papers before")
                stored = len(index)
                if stored >= papers * 0.98:
                    index.remove([paper.paper_id for paper in index.papers(index.rows()[::2]).values()])
                    stored = len(index)
        with _open(place, write=True) as index:
            report = ingest([part], index, IngestOptions())
            held = index.papers(index.rows()).values()
            places = sorted(source.position for paper in held for source in paper.sources)
            health = index.verify()
            click.echo(f"At the end: {report.papers} papers of {papers} entries, {health}")
            if health.problems or report.rejected or places != list(range(1, papers + 1)):
                raise click.ClickException("an entry is lost, doubled or rejected, or the parts do not agree")


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        with _open(Path(sys.argv[2]), write=True) as opened:
            click.echo("opened")
            ingest([sys.argv[3]], opened, IngestOptions())
    elif sys.argv[1:2] == [ANSWERING]:
        _answer(Path(sys.argv[2]))
    else:
        main()
