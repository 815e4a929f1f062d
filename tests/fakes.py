"""Fakes that implement the program's own seams, are deterministic, and record how they were called."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.chat_models import BaseChatModel, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, Field, PrivateAttr

from rag.models.embeddings import Encoder, FloatArray, Offsets, tokens_within, unit

_TOKEN = re.compile(r"\w+|[^\w\s]")


def bag_of_words(tokens: Sequence[str], dimension: int) -> FloatArray:
    """Counts of words hashed into `dimension` places, not scaled. Case and a plural's s do not matter; no signs."""
    vector = np.zeros(dimension, np.float32)
    for token in tokens:
        if token[0].isalnum():
            word = token.lower()
            word = word[:-1] if len(word) > 3 and word.endswith("s") else word
            vector[zlib.crc32(word.encode()) % dimension] += 1
    return vector


class FakeEncoder(Encoder):
    """Hashed bags of words: texts are as near as the words they share. A text without words gets the first axis.

    `calls` keeps the texts of every call, so that a test can say what was embedded and how often.
    """

    def __init__(self, dimension: int = 512, max_tokens: int = 256, name: str = "fake-encoder") -> None:
        self.name = name
        self.fingerprint = f"{name}:{dimension}:{max_tokens}"
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.calls: list[tuple[str, ...]] = []

    @property
    def texts(self) -> list[str]:
        """Every text that was embedded, in order."""
        return [text for call in self.calls for text in call]

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return self.encode_with_spans(texts, [()] * len(texts))[0]

    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        self.calls.append(tuple(texts))
        whole = np.zeros((len(texts), self.dimension), np.float32)
        parts = [np.zeros((len(wanted), self.dimension), np.float32) for wanted in spans]
        for row, text in enumerate(texts):
            # Two tokens are kept for the special ones that a real model adds.
            offsets = self.token_offsets(text)[: self.max_tokens - 2]
            words = [text[start:end] for start, end in offsets]
            whole[row] = bag_of_words(words, self.dimension)
            if not whole[row].any():
                whole[row, 0] = 1
            for part, (start, end) in enumerate(spans[row]):
                inside = tokens_within(offsets, start, end)
                parts[row][part] = bag_of_words(
                    [word for word, within in zip(words, inside, strict=True) if within], self.dimension
                )
        return unit(whole), [unit(vectors) for vectors in parts]

    def token_offsets(self, text: str) -> Offsets:
        return [found.span() for found in _TOKEN.finditer(text)]


class FakeEmbeddings(Embeddings):
    """A plain LangChain Embeddings that knows nothing of this program; its vectors are not of unit length."""

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.calls: list[tuple[str, ...]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(tuple(texts))
        vectors: list[list[float]] = [
            (bag_of_words(_TOKEN.findall(text), self.dimension) + 0.01).tolist() for text in texts
        ]
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


Piece = str | Exception | AIMessageChunk
Reply = str | Sequence[Piece] | Callable[[list[BaseMessage]], str]


@dataclass(frozen=True)
class ChatCall:
    """One call of a FakeChatModel: what it was given."""

    messages: tuple[BaseMessage, ...]
    stop: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        """All messages' text, for a look at what the model saw."""
        return "\n".join(str(message.text) for message in self.messages)


class FakeChatModel(BaseChatModel):
    """Says what it is told to say.

    `script` holds one reply a call, the last one again and again: a string (streamed word by word), a list of pieces
    (streamed as they are; an exception among them is raised in its place), or a function of the messages. `calls`
    records every call; `closed_early` counts streams that their consumer closed before the end.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    script: list[Any] = Field(default_factory=lambda: ["I do not know."])
    calls: list[ChatCall] = Field(default_factory=list)
    closed_early: int = 0
    _turn: int = PrivateAttr(default=0)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def get_num_tokens(self, text: str) -> int:
        return len(_TOKEN.findall(text))

    def _pieces(self, messages: list[BaseMessage]) -> list[Piece]:
        reply: Reply = self.script[min(self._turn, len(self.script) - 1)]
        self._turn += 1
        if callable(reply):
            reply = reply(messages)
        return re.findall(r"\s*\S+|\s+$", reply) if isinstance(reply, str) else list(reply)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        allowed_citations: int | None = None,
        owner: str | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        named = {"allowed_citations": allowed_citations, "owner": owner}
        options = {**kwargs, **{name: value for name, value in named.items() if value is not None}}
        self.calls.append(ChatCall(tuple(messages), tuple(stop or ()), options))
        finished = False
        try:
            for piece in self._pieces(messages):
                if isinstance(piece, Exception):
                    finished = True
                    raise piece
                chunk = piece if isinstance(piece, AIMessageChunk) else AIMessageChunk(content=piece)
                yield ChatGenerationChunk(message=chunk)
            finished = True
            # A stream must hold a chunk at least, also where the script is an empty string.
            yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))
        finally:
            if not finished:
                self.closed_early += 1

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))
