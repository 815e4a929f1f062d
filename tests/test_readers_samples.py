"""The real sample files: each entry that a marker of its format counts becomes a record."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag.papers.export import export
from rag.papers.identity import paper_from
from rag.readers import FileRead, read
from rag.types import Paper, Record, Rejected
from tests.conftest import DATA

FORMATS = DATA / "formats"
# What begins an entry, counted without the readers. `(?!…)` leaves out what BibTeX has beside entries.
MARKERS = {
    ".bib": r"(?mi)^\s*@(?!string|preamble|comment|\s)\w+\s*\{",
    ".ris": r"(?m)^\ufeff?TY  -",
    ".nbib": r"(?m)^(?:PMID|OWN )- (?!NLM)",
    ".cgi": r"(?m)^<\d+\. >",
    ".ciw": r"(?m)^PT ",
    ".enw": r"(?m)^%T ",
    ".xml": r"<(?:PubmedArticle|PubmedBookArticle|record|paper)[ >]",
}
TEXTS = {"wos_txt": r"(?m)^PT ", "RefWorks": r"(?m)^\ufeff?RT ", "Refer": r"(?m)^%0 "}
FOLDERS = ("acl_xml", "bibtex", "chinese", "endnote_xml_etc", "nbib_medline", "ris", "wos_txt")

FILES = [path for folder in FOLDERS for path in sorted((FORMATS / folder).glob("*"))] if FORMATS.is_dir() else []

pytestmark = [pytest.mark.data, pytest.mark.skipif(not FILES, reason="the sample data are not beside the checkout")]


def marker(path: Path) -> str:
    if path.suffix in MARKERS:
        return MARKERS[path.suffix]
    return next(pattern for part, pattern in TEXTS.items() if part in str(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_entry_is_accounted_for(path: Path) -> None:
    present = len(re.findall(marker(path), path.read_bytes().decode("utf-8").replace("\r\n", "\n")))
    found = list(read(path))
    records = [item for item in found if isinstance(item, Record)]
    rejected = [item for item in found if isinstance(item, Rejected)]
    assert present > 0
    assert len(records) + len(rejected) == present
    assert not rejected
    assert [item.rejected for item in found if isinstance(item, FileRead)] == [0]
    assert all(record.title or record.abstract for record in records)
    titles = [re.sub(r"\$[^$]*\$", "", record.title or "") for record in records]
    assert not any(re.search(r"<\w+>|[{}]|\\[a-z\"']", title) for title in titles)


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    """Every paper of every sample file, of all formats."""
    paths = [path for path in sorted(FORMATS.rglob("*")) if path.is_file()]
    return [paper_from(item) for path in paths for item in read(path) if isinstance(item, Record)]


@pytest.mark.parametrize("format_", ["bibtex", "ris", "csv", "jsonl"])
def test_papers_of_all_samples_survive_export_and_reading(format_: Any, papers: list[Paper], tmp_path: Path) -> None:
    path = tmp_path / "papers"
    path.write_text("".join(export(papers, format_)), encoding="utf-8")
    found = [item for item in read(path) if not isinstance(item, FileRead)]
    again = [paper_from(item) for item in found if isinstance(item, Record)]
    assert len(again) == len(found) == len(papers) > 1000
    assert [replace(paper, sources=()) for paper in again] == [replace(paper, sources=()) for paper in papers]
