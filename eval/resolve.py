"""Which papers of a library the references of a question set mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from eval.sets import Item
from rag.types import Paper


class Finder(Protocol):
    """What is needed of `rag.store.index.Index`."""

    def find(self, reference: str) -> Paper | None: ...


@dataclass(frozen=True, slots=True)
class Gold:
    """A relevant paper of a question: the reference as written, its paper (None: not in the library), its grade."""

    reference: str
    paper_id: str | None
    grade: int = 1
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """A reference that no paper of the library answers to. `line` is the set's line."""

    question_id: str
    line: int
    reference: str


def resolve(items: Iterable[Item], index: Finder) -> tuple[dict[str, tuple[Gold, ...]], tuple[Missing, ...]]:
    """Question id -> its relevant papers, and the references that were not found.

    Two references to one paper count once, with the higher grade. A missing one stays in as a paper that can never be
    found, so that it counts as a miss.
    """
    found: dict[str, tuple[Gold, ...]] = {}
    missing: list[Missing] = []
    for item in items:
        golds: dict[str, Gold] = {}
        for place, reference in enumerate(item.relevant):
            grade = item.grades[place] if item.grades else 1
            paper = index.find(reference)
            if paper is None:
                missing.append(Missing(item.id, item.line, reference))
                golds.setdefault(f"missing {reference}", Gold(reference, None, grade))
            else:
                known = golds.get(paper.paper_id)
                if known is None or known.grade < grade:
                    golds[paper.paper_id] = Gold(reference, paper.paper_id, grade, paper.title)
        found[item.id] = tuple(golds.values())
    return found, tuple(missing)
