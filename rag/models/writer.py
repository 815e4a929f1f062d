"""The model at work: a prompt goes in, tokens and whole sentences come out."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from rag.answering import prompting
from rag.answering.prompting import Prompt
from rag.errors import AbstractQAError, GenerationError
from rag.events import Stage, Token
from rag.question.language import ENGLISH
from rag.texts.text import split_sentences

# A model may leave the full stop off a short answer; a longer text without one was cut off.
SHORT = 60
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_ENDED = re.compile(r"[.!?。！？…][\"'”’)\]]*(?:\s*\[[\d,\s]+\])*\s*$")


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole sentence as the model wrote it."""

    text: str


@dataclass(frozen=True, slots=True)
class CutShort:
    """The time for an answer was over before the model had ended; what came before it stands."""


class Writer:
    """A chat model that writes answers. `description` is what an Answer says of its model."""

    def __init__(self, chat: BaseChatModel, description: Mapping[str, str | int | float | bool | None]) -> None:
        self.chat = chat
        self.description = description

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` for this model, or four characters each where it cannot say."""
        try:
            return self.chat.get_num_tokens(text)
        except (ImportError, NotImplementedError, OSError):
            # LangChain falls back to a tokenizer from the hub, which is not there offline.
            return max(1, len(text) // 4)

    def warm_up(self) -> None:
        """Do what would make the first answer slower than the others. Raises GenerationError when the model fails."""
        if (warm_up := getattr(self.chat, "warm_up", None)) is not None:
            warm_up(prompting.system(ENGLISH))

    def _accepted(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of `options` that the model has by name: another package's may refuse the rest."""
        named = inspect.signature(self.chat._stream).parameters
        return {name: value for name, value in options.items() if name in named}

    def asked_by(self, owner: str, cancel: threading.Event | None = None) -> Runnable[Any, AIMessage]:
        """The model for short questions of the program's own on behalf of `owner`, given up when `cancel` is set."""
        return self.chat.bind(**self._accepted({"owner": owner, "cancel": cancel}))

    def write(
        self, prompt: Prompt, cancel: threading.Event | None = None, owner: str = ""
    ) -> Iterator[Token | Draft | Stage | CutShort]:
        """Tokens as they come, and after each whole sentence a Draft of it.

        While the model writes for others, the Stage "waiting" says how many come before; `owner` is who asks, since
        owners take turns. A last sentence that was cut off is not given as a Draft; a CutShort follows where the time
        was over. Stops when `cancel` is set. Raises GenerationError when the model fails, Busy when too many wait.
        """
        messages = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        wanted = {"allowed_citations": prompt.papers, "cancel": cancel, "owner": owner}
        text = ""
        given = 0
        cut_short = False
        try:
            with closing(self.chat.stream(messages, **self._accepted(wanted))) as chunks:  # type: ignore[type-var]
                for chunk in chunks:
                    if cancel is not None and cancel.is_set():
                        break
                    cut_short = cut_short or chunk.response_metadata.get("finish_reason") == "time_limit"
                    if (ahead := chunk.response_metadata.get("ahead")) is not None:
                        yield Stage("waiting", ahead) if ahead else Stage("reading")
                    # A server may send halves of pairs, which no tokenizer and no UTF-8 takes.
                    piece = str(chunk.text).encode("utf-8", "replace").decode()
                    if not piece:
                        continue
                    text += piece
                    yield Token(piece)
                    whole = _whole_sentences(text[given:])
                    for sentence, _ in whole:
                        yield Draft(sentence)
                    given += whole[-1][1] if whole else 0
        except AbstractQAError:
            raise
        except Exception as error:  # any integration's own errors end up here
            raise GenerationError(
                f"The language model failed ({error}); ask again or name another with --llm."
            ) from error
        if cancel is None or not cancel.is_set():
            yield from (Draft(sentence) for sentence in _last_sentences(text[given:], cut_short))
        if cut_short:
            yield CutShort()


def _last_sentences(rest: str, cut_short: bool) -> Iterator[str]:
    """Sentences of what stands after the last one that was certainly over.

    A longer one without an end was cut off, and so was any where the model was stopped.
    """
    for line in rest.splitlines():
        for span in split_sentences(_BULLET.sub("", line).strip()):
            if _ENDED.search(span.text) or (len(span.text) <= SHORT and not cut_short):
                yield span.text


def _whole_sentences(text: str) -> list[tuple[str, int]]:
    """Sentences of `text` that are certainly over, each with the offset after it."""
    whole: list[tuple[str, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        ended = line.endswith("\n")
        body = _BULLET.sub(lambda mark: " " * len(mark[0]), line)
        spans = split_sentences(body)
        for place, span in enumerate(spans):
            # The last sentence of an open line may go on, with a citation if with nothing else.
            if ended or place < len(spans) - 1:
                whole.append((span.text, start + span.end))
        start += len(line)
    return whole
