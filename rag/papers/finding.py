"""The keys under which the library knows a paper, and the paper that a reference means."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rag.papers.identifiers import arxiv_of, doi_of, openreview_of, pmid_of
from rag.papers.identity import keys, plain
from rag.papers.identity import near_keys as _near_keys
from rag.types import Paper

if TYPE_CHECKING:
    from rag.store.records import Records

_PLACE = re.compile(r"(?P<name>.+)#(?P<position>\d{1,9})")


# Each abstract is asked for several times on its way into the library.
near_keys = lru_cache(maxsize=4096)(_near_keys)


def index_keys(paper: Paper) -> tuple[str, ...]:
    """All keys of a paper: those that identify it, those that propose near-duplicates, and its label if untitled."""
    label = () if paper.titled else (f"label:{plain(paper.title)}",)
    return (*keys(paper), *near_keys(paper.abstract), *label)


def find_row(records: Records, reference: str) -> int | None:
    """Row of the paper meant: by id or alias, `FILE#POSITION`, DOI, arXiv, PubMed or OpenReview id, or exact title.

    None where no paper is meant, or where a title is that of several.
    """
    reference = reference.strip()
    exact = records.rows_of_ids([reference])
    if exact:
        return exact[0]
    place = _PLACE.fullmatch(reference)
    if place:
        row = records.at(place["name"], int(place["position"]))
        if row is not None:
            return row
    identifiers = {
        "id": reference,
        "doi": doi_of(reference),
        "arxiv": arxiv_of(reference, bare=True),
        "openreview": openreview_of(reference),
        "pmid": pmid_of(reference, bare=True),
    }
    cased = ("id", "openreview")
    wanted = [f"{kind}:{value if kind in cased else value.lower()}" for kind, value in identifiers.items() if value]
    found = records.rows_of_keys(wanted)
    for key in wanted:
        if key in found:
            return found[key][0]
    title = plain(reference)
    named = records.rows_of_keys([f"title:{title}", f"label:{title}"]) if title else {}
    rows = sorted({row for rows in named.values() for row in rows})
    return rows[0] if len(rows) == 1 else None
