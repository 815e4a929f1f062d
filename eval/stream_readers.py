"""Writes large files of several formats and reads them, to see how fast and in how much memory.

    python -m eval.stream_readers PAPERS.jsonl[.gz] [--size GB] [--format NAME ...]

A file of each format is made by repeating the papers, each time with another number in its title, and read in a process
of its own. Prints a line per format: records, rejections, records and megabytes a second of processor time, and the
memory (resident, at its highest) when a tenth was read and at the end, which are alike where a file is streamed.
Nothing is embedded or stored.
"""

from __future__ import annotations

import csv
import io
import resource
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import click
import orjson

from rag.papers.own import escape
from rag.readers import read
from rag.types import Record, Rejected

MIB = 1 << 20


def _jsonl(record: Record, title: str) -> str:
    entry = {"title": title, "abstract": record.abstract, "authors": record.authors, "year": record.year}
    return orjson.dumps(entry).decode() + "\n"


def _csv(record: Record, title: str) -> str:
    held = io.StringIO()
    csv.writer(held).writerow([title, record.abstract, "; ".join(record.authors), record.year or ""])
    return held.getvalue()


def _bibtex(record: Record, title: str) -> str:
    fields = {"title": title, "author": " and ".join(record.authors), "abstract": record.abstract}
    lines = "".join(f"  {name} = {{{escape(value)}}},\n" for name, value in fields.items() if value)
    return f"@article{{key,\n{lines}  year = {{{record.year or ''}}}\n}}\n\n"


def _ris(record: Record, title: str) -> str:
    authors = "".join(f"AU  - {name}\n" for name in record.authors)
    return f"TY  - JOUR\nTI  - {title}\n{authors}PY  - {record.year or ''}\nAB  - {record.abstract}\nER  - \n\n"


def _json(record: Record, title: str) -> str:
    return ",\n" + _jsonl(record, title).rstrip()


# Format -> (what stands first, an entry, what stands last).
WRITERS: dict[str, tuple[str, Callable[[Record, str], str], str]] = {
    "jsonl": ("", _jsonl, ""),
    "json": ('[{"title": "The first"}', _json, "]"),
    "csv": ("title,abstract,authors,year\n", _csv, ""),
    "bibtex": ("", _bibtex, ""),
    "ris": ("", _ris, ""),
}


def write(path: Path, name: str, papers: Path, size: int) -> int:
    """Fill `path` with at least `size` bytes of entries; returns how many there are."""
    first, entry, last = WRITERS[name]
    records = [item for item in read(papers) if isinstance(item, Record)]
    count = written = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(first)
        while written < size:
            for record in records:
                count += 1
                text = entry(record, f"{record.title or 'Untitled'} ({count})")
                file.write(text)
                written += len(text.encode())
                if written >= size:
                    break
        file.write(last)
    return count


def measure(path: Path) -> tuple[int, int, float, int, int]:
    """(records, rejections, seconds of processor time, peak MiB at a tenth, peak MiB at the end) of reading `path`."""
    began = time.process_time()
    records = rejected = early = 0
    tenth = path.stat().st_size // 10
    seen = 0
    for item in read(path):
        if isinstance(item, Record):
            records += 1
            seen += len(item.abstract) + len(item.title or "")
            if not early and seen > tenth:
                early = _peak()
        else:
            rejected += isinstance(item, Rejected)
    return records, rejected, time.process_time() - began, early, _peak()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@click.command()
@click.argument("papers", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--size", default=1.0, show_default=True, help="Gigabytes of each file.")
@click.option("--format", "names", multiple=True, type=click.Choice(list(WRITERS)), help="Only these formats.")
def main(papers: Path, size: float, names: tuple[str, ...]) -> None:
    """Write and read a large file of each format and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names or WRITERS:
            path = Path(folder) / f"papers.{name}"
            count = write(path, name, papers, int(size * 1e9))
            megabytes = path.stat().st_size / 1e6
            with get_context("spawn").Pool(1) as pool:
                records, rejected, seconds, early, peak = pool.apply(measure, (path,))
            path.unlink()
            click.echo(
                f"{name:7} {megabytes:6.0f} MB, {count} entries: {records} records, {rejected} rejected, "
                f"{records / seconds:.0f} records/s, {megabytes / seconds:.1f} MB/s, memory {early} MiB at a tenth, "
                f"{peak} MiB at the end"
            )


if __name__ == "__main__":
    main()
