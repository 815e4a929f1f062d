"""Questions in other languages made English for the search.

Chinese has a glossary of the field's terms in the package, which works at once and without a model; a chat model, where
there is one, translates the sentence, and both are searched. Other languages need the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import prompts
from rag.errors import GenerationError
from rag.question.language import NAMES

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import Runnable

    # A chat model, or one with arguments bound to it.
    Asked = Runnable[Any, AIMessage]

_RUN = re.compile(r"[\u3400-\u9fff]+|[^\u3400-\u9fff]+")
_CJK = re.compile(r"[\u3400-\u9fff]")
_OUTSIDE_LATIN = re.compile(r"[^\x00-\u024f\u2010-\u2027\u0370-\u03ff]")
_PUNCTUATION = re.compile(r"[，。？！：；、“”‘’《》（）【】「」…—]+")
# Share of Chinese characters that the glossary must know for the model's translation to be left out.
COVERED = 0.7


@dataclass(frozen=True, slots=True)
class Translation:
    """English for the search. `by_model`: a model had a part in it; `complete`: the whole text is in it."""

    text: str
    by_model: bool
    complete: bool


def to_english(text: str, language: str, chat: Asked | None) -> Translation:
    """English words to search for `text`, written in `language` (ISO 639-1). Without a way, `text` itself."""
    terms, covered = glossary(text) if language == "zh" else (text, 0.0)
    if chat is None or covered >= COVERED:
        return Translation(terms or text, False, covered >= COVERED)
    written = _ask(chat, prompts.load("translate_question").render(language=NAMES[language], question=text))
    if not written or len(_OUTSIDE_LATIN.findall(written)) * 4 > len(written):
        return Translation(terms or text, False, False)
    # The model gives the sentence, the glossary the terms it may have missed.
    return Translation(f"{written} {terms}" if language == "zh" else written, True, True)


def rewrite(question: str, conversation: str, chat: Asked) -> str | None:
    """`question` made standalone by the model; None where its answer is no question of a sensible length."""
    written = _ask(chat, prompts.load("rewrite_question").render(conversation=conversation, question=question))
    return written if written and len(written) <= 3 * len(question) + 200 else None


def _ask(chat: Asked, prompt: str) -> str:
    """The first line of the model's answer, without quotation marks; empty where the model failed."""
    try:
        written = chat.invoke(prompt, stop=["\n"]).text.strip()
    except GenerationError:
        return ""  # the search goes on with what there is
    return written.splitlines()[0].strip(" \"'“”") if written else ""


def lost(text: str) -> float:
    """Share, 0 to 1, of the Chinese characters of `text` that the glossary does not know; 0 where there are none."""
    return 1 - glossary(text)[1] if _CJK.search(text) else 0.0


def glossary(text: str) -> tuple[str, float]:
    """English terms for the Chinese in `text`, with its Latin words kept in place, and the share of characters known.

    The longest term that fits is taken, from left to right. A single character beside one that the glossary does not
    know is most likely part of an unknown word, and says nothing.
    """
    out: list[str] = []
    known = total = 0
    for run in _RUN.findall(text):
        if not _CJK.match(run):
            out.append(_PUNCTUATION.sub(" ", run).strip())
            continue
        total += len(run)
        pieces = _pieces(run)
        for place, (size, english) in enumerate(pieces):
            beside = pieces[max(0, place - 1) : place + 2]
            if english is None or (size == 1 and english and any(other is None for _, other in beside)):
                continue
            out.append(english)
            known += size
    return " ".join(piece for piece in out if piece), known / total if total else 0.0


def _pieces(run: str) -> list[tuple[int, str | None]]:
    """A run of Chinese characters as terms: how many characters, and the English, None for an unknown character."""
    terms, longest = _terms()
    found: list[tuple[int, str | None]] = []
    at = 0
    while at < len(run):
        size = next((n for n in range(min(longest, len(run) - at), 0, -1) if run[at : at + n] in terms), 0)
        found.append((size or 1, terms.get(run[at : at + (size or 1)])))
        at += size or 1
    return found


@cache
def _terms() -> tuple[dict[str, str], int]:
    """The glossary, Chinese to English ("" for words that say nothing to a search), and its longest term's length."""
    source = resources.files("rag").joinpath("data", "glossary_zh.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in source.splitlines() if line and not line.startswith("#"))
    terms = {row[0]: row[1] for row in rows}
    return terms, max(map(len, terms))
