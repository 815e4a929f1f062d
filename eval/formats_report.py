"""Prints, file by file, the entries a folder of exports holds against the papers that the readers make of them.

    python -m eval.formats_report FOLDER

Entries are counted without the readers, by a mark that each format puts at every entry. `rest` is what is left of
them after papers and rejections; it is 0 where nothing vanished. Abstracts are likewise counted by their mark, and
compared with the abstracts read.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import click

from rag.readers import FileRead, encoding, read
from rag.types import Record, Rejected

# Format found -> (mark of an entry, mark of an abstract that is not empty).
MARKS: dict[str, tuple[str, str]] = {
    "bibtex": (r"(?im)^\s*@(?!comment|string|preamble)\w+\s*[{(]", r"(?im)^\s*abstract\s*=\s*[{\"]\s*[^}\"\s]"),
    "ris": (r"(?m)^\s*TY\s\s?-", r"(?m)^\s*(?:AB|N2)\s\s?-[ \t]*\S"),
    "medline": (r"(?m)^(?:PMID- |OWN - ERIC|<\d+\. >)", r"(?m)^AB  -\s*\S"),
    "pubmed_xml": (r"<Pubmed(?:Book)?Article[\s>]", r"<Abstract>"),
    "wos": (r"(?m)^PT \w", r"(?m)^AB \S"),
    "endnote_xml": (r"<record>", r"<abstract>"),
    "refworks": (r"(?m)^RT ", r"(?m)^AB \S"),
    "refer": (r"(?m)^%0 (?![^\n]*\n%0 )", r"(?m)^%X \S"),
    "acl_xml": (r"<paper[\s>]", r"<abstract>"),
    "arxiv_atom": (r"<entry[\s>]", r"<summary[\s>]"),
    "markdown": (r"(?m)^#{1,6} +(?!.*(?:Collection|大模型相关研究))", r"(?m)(?:\*\*Abstract\*\*|摘要：)"),
}


def marks(path: Path, found: str | None) -> tuple[int, int] | None:
    """(entries, entries with an abstract) by the marks of the format; None where there are none to go by."""
    data = path.read_bytes()
    text = encoding.decode(data).replace("\r\n", "\n").replace("\r", "\n")
    if found in MARKS:
        entry, abstract = MARKS[found]
        return len(re.findall(entry, text)), len(re.findall(abstract, text))
    if found == "jsonl":
        lines = [json.loads(line) for line in text.split("\n") if line.strip()]
        return len(lines), sum(bool(line.get("abstract") or line.get("summary")) for line in lines)
    if found == "json":
        abstracts = len(re.findall(r'"abstract": "\S', text))
        return len(re.findall(r'"title":', text)), abstracts
    if found == "csv":
        mark = max("\t;,", key=text.split("\n", 1)[0].count)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=mark) if row]
        headed = any(cell.strip().lower() in ("title", "document title") for cell in rows[0])
        return len(rows) - headed, -1
    if found == "plain":
        blocks = [block for block in re.split(r"\n\s*\n", text) if len(block) > 100]
        return len(blocks), len(blocks)
    return None


def _line(name: str, found: str, *counts: int | str) -> str:
    widths = (7, 5, 8, 5, 9, 5)
    return f"{name[-58:]:58} {found:12} " + " ".join(
        f"{count:>{width}}" for count, width in zip(counts, widths, strict=True)
    )


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Print the table; exit status 1 where entries are missing."""
    missing = 0
    click.echo(
        f"{'file':58} {'format':12} {'entries':>7} {'read':>5} {'rejected':>8} {'rest':>5} {'abstracts':>9} {'read':>5}"
    )
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        items = list(read(path))
        records = [item for item in items if isinstance(item, Record)]
        rejected = [item for item in items if isinstance(item, Rejected)]
        closing = next((item for item in items if isinstance(item, FileRead)), None)
        found = closing.format if closing else None
        counted = marks(path, found)
        entries, abstracts = counted if counted else (0, 0)
        with_abstract = sum(bool(record.abstract) for record in records)
        rest = entries - len(records) - len(rejected)
        missing += max(0, rest)
        stated = str(abstracts) if abstracts >= 0 else "-"
        name = str(path.relative_to(folder))
        click.echo(_line(name, found or "-", entries, len(records), len(rejected), rest, stated, with_abstract))
        for item in rejected[:3]:
            click.echo(f"    line {item.line or '-'}: {item.reason[:110]}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
