"""What is asked: a follow-up made standalone, its kind, filters said in words, and English words to search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag.errors import InputError
from rag.question.followup import Standalone, standalone
from rag.question.kinds import kind_of
from rag.question.language import ENGLISH, NAMES, detect
from rag.question.restrictions import Restriction, restrict
from rag.question.translate import Translation, rewrite, to_english
from rag.texts.terms import content, is_cjk, stems
from rag.types import Filters, Question, Turn

if TYPE_CHECKING:
    from rag.question.translate import Asked
    from rag.store.index import Index

LONGEST = 50_000  # characters; about 8,000 words
RULES_READ = 1_000  # characters; a longer text is a passage to find, not a question to take apart
_VENUES_READ = 50  # papers looked at to see whether a name is a venue's
_SPACES = re.compile(r"\s+")
_TURNS = 4  # turns of the conversation that the model is shown to rewrite a question
_SHOWN = 400  # characters of each
# What no tokenizer and no UTF-8 takes; a shell gives halves of pairs for bytes that are no text.
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")


def understand(
    text: str,
    history: Sequence[Turn],
    index: Index,
    chat: Asked | None = None,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> Question:
    """`text` as a Question, in the light of the conversation and the library.

    `filters` are those set by hand; what the words say is added to them and never overrides them. `chat` translates,
    and rewrites a follow-up that the rules are not sure of; None does without, and then `settled` of the Question says
    whether it would have been asked. Raises InputError for an empty question
    and for one over LONGEST characters.
    """
    text = _UNREADABLE.sub(" ", text)
    history = [replace(turn, content=_UNREADABLE.sub(" ", turn.content)) for turn in history]
    asked = _SPACES.sub(" ", text).strip()
    if not asked:
        raise InputError("The question is empty; write what you want to know.")
    if len(asked) > LONGEST:
        raise InputError(
            f"The question has {len(asked):,} characters, and at most {LONGEST:,} can be read; shorten it, or "
            "ingest a long text as a file and ask about it."
        )
    notes: list[str] = []
    short = len(asked) <= RULES_READ
    alone, settled = _standalone(asked, history, index, chat) if short else (asked, True)
    if alone != asked:
        notes.append(f"Understood as: {alone}")
    language = detect(alone)
    kind, parts = kind_of(alone[:RULES_READ])
    said = (
        restrict(alone, kind, filters, lambda name: _has_venue(index, name)) if short else Restriction(filters, alone)
    )
    notes += said.notes
    search = said.rest
    if language != ENGLISH:
        # A comparison is searched by its sides, which are names: the model is not kept busy with the rest.
        translation = to_english(search, language, None if parts else chat)
        search = translation.text
        settled = settled and (translation.complete or bool(parts))
        parts = tuple(to_english(part, language, None).text for part in parts)
        notes.append(_about_translation(translation, language))
    search, cut = _fit(search, index)
    if cut:
        notes.append(f"Only the first {len(search.split()):,} words of the question are searched; it is very long.")
    return Question(text, alone, search, kind, said.filters, language, parts, tuple(notes), settled or chat is not None)


def _standalone(asked: str, history: Sequence[Turn], index: Index, chat: Asked | None) -> tuple[str, bool]:
    """The question without need of the history, and whether that is sure."""
    ruled: Standalone = standalone(asked, history, lambda title: _title(index, title))
    if ruled.sure or chat is None:
        return ruled.text, ruled.sure
    recent = "\n".join(f"{turn.role.capitalize()}: {turn.content[:_SHOWN]}" for turn in history[-_TURNS:])
    written = rewrite(asked, recent, chat)
    return (written if written and _resolves(written, asked, recent) else ruled.text), True


def _resolves(written: str, asked: str, recent: str) -> bool:
    """Whether `written` keeps the telling words of the question and takes one of the conversation in their place."""
    new, old = stems(written), stems(asked)
    kept = {word.stem for word in content(asked) if word.weight == 1.0}
    return (is_cjk(asked) or kept <= new) and bool(({word.stem for word in content(written)} - old) & stems(recent))


def _title(index: Index, name: str) -> str | None:
    """The title of the paper known as `name`, if there is one."""
    paper = index.find(name)
    return None if paper is None else paper.title


def _has_venue(index: Index, name: str) -> bool:
    """Whether a paper of the library is from a venue with `name` as whole words in it."""
    rows = index.rows(Filters(venue=name))
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?![^\W\d_])", re.IGNORECASE)
    return any(whole.search(paper.venue or "") for paper in index.papers(rows[:_VENUES_READ]).values())


def _about_translation(translation: Translation, language: str) -> str:
    name = NAMES[language]
    if translation.complete or translation.by_model:
        return f"Searched in English for: {translation.text}"
    if language == "zh":
        return f"Searched in English, by a glossary, for: {translation.text}"
    return f"The question is in {name} and was searched as it is; with an answering model it is translated first."


def _fit(text: str, index: Index) -> tuple[str, bool]:
    """`text` cut to what the embedder reads, and whether it was cut."""
    encoder = index.encoder
    if len(text) <= encoder.max_tokens:
        return text, False  # a token has at least one character
    offsets = encoder.token_offsets(text)
    room = encoder.max_tokens - 2  # its first and last token are the model's own
    return (text, False) if len(offsets) <= room else (text[: offsets[room - 1][1]], True)
