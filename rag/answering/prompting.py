"""Evidence made into a prompt: sentences under their paper's number, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import prompts
from rag.answering.evidence import neutralise
from rag.types import Evidence, Paper, Question

LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "it": "Italian",
    "ru": "Russian",
    "ar": "Arabic",
    "he": "Hebrew",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is given. `evidence` is in the prompt, `left_out` did not fit the budget.

    `papers` is the number of papers in the prompt; they are numbered from 1 without a gap, and `numbers` gives for
    each of these numbers the `n` its paper has in `evidence`.
    """

    system: str
    user: str
    evidence: tuple[Evidence, ...]
    left_out: tuple[Evidence, ...]
    numbers: Mapping[int, int]

    @property
    def papers(self) -> int:
        return len(self.numbers)


def system(language: str) -> str:
    """The system message for answers in `language` (ISO 639-1); the same for all questions in it."""
    return prompts.load("answer_system").render(language=LANGUAGES.get(language, "English"))


def build(
    question: Question,
    evidence: Sequence[Evidence],
    papers: Mapping[str, Paper],
    *,
    budget: int,
    count_tokens: Callable[[str], int],
) -> Prompt:
    """A prompt for `question` from `evidence`, given in order of importance.

    `budget` is the most tokens the evidence may take, as `count_tokens` counts them; what does not fit is left out
    from the end, but the first sentence always stays. `papers` holds the paper of every piece of evidence by its id.
    """
    kept: list[Evidence] = []
    left_out: list[Evidence] = []
    used = 0
    for piece in evidence:
        cost = count_tokens(piece.span.text) + 4
        if kept and used + cost > budget:
            left_out.append(piece)
        else:
            kept.append(piece)
            used += cost
    order: dict[int, int] = {}
    for piece in kept:
        order.setdefault(piece.n, len(order) + 1)
    lines: list[str] = []
    for n, number in order.items():
        sentences = sorted((piece for piece in kept if piece.n == n), key=lambda piece: piece.span.start)
        lines.append(f"[{number}] {_heading(papers[sentences[0].paper_id])}")
        lines.extend(f"- {neutralise(piece.span.text)}" for piece in sentences)
    return Prompt(
        system=system(question.language),
        user=prompts.load("answer_user").render(evidence="\n".join(lines), question=neutralise(question.standalone)),
        evidence=tuple(kept),
        left_out=tuple(left_out),
        numbers={number: n for n, number in order.items()},
    )


def _heading(paper: Paper) -> str:
    return neutralise(paper.title) + (f" ({paper.where})" if paper.where else "")
