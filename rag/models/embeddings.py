"""Sentence-transformers behind LangChain's `Embeddings`, with what ingest and retrieval need beyond it.

`Encoder` is the seam: unit vectors of texts, vectors of spans within a text from the same forward pass, and the
tokenizer's view of a text. `load_encoder` gives one for a model on this machine, `DeferredEncoder` one that is loaded
when it is needed, `wrap` one for any LangChain Embeddings.
"""

from __future__ import annotations

import re
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rag.errors import ModelError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from rag.models.known import ResolvedModel
    from rag.settings import Settings

FloatArray = NDArray[np.float32]
Offsets = list[tuple[int, int]]

# Tokens of one forward pass, padding included. Larger batches gain nothing on a processor and cost memory.
BATCH_TOKENS = 8192
GPU_BATCH_TOKENS = 131_072
# Up to so many tokens a second thread gains nothing, and waiting for it costs ten times the pass on a busy machine.
ONE_THREAD_TOKENS = 256
_ROUGH_TOKEN = re.compile(r"\w+|[^\w\s]")


class Encoder(Embeddings):
    """Texts to vectors of unit length.

    `name` and `fingerprint` identify the model (the fingerprint changes when its weights do), `dimension` is the
    vectors' length, `max_tokens` the most tokens of a text that are read, special tokens included. `loaded` False says
    that finding out the latter two would cost the loading of the model; `when_loaded` is then called after it, and what
    it raises, the loading raises.
    """

    name: str
    fingerprint: str
    dimension: int
    max_tokens: int
    loaded: bool = True
    when_loaded: Callable[[], None] | None = None

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of shape (len(texts), dimension), in the order of `texts`. What exceeds `max_tokens` is not read."""

    @abstractmethod
    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Vectors of texts, and of spans within each.

        `spans[i]` are character offsets (start, end) into `texts[i]`. Returns the text vectors, (n, dimension), and
        for each text its spans' vectors, (len(spans[i]), dimension). A span that lies beyond what the model reads
        has the vector 0.
        """

    @abstractmethod
    def token_offsets(self, text: str) -> Offsets:
        """Character offsets (start, end) of every token of the whole `text`, special tokens left out."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """LangChain's way to ask for `encode`."""
        vectors: list[list[float]] = self.encode(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """LangChain's way to ask for the vector of one text."""
        return self.embed_documents([text])[0]


def unit(vectors: FloatArray) -> FloatArray:
    """Rows scaled to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatArray = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def tokens_within(offsets: Sequence[tuple[int, int]], start: int, end: int) -> NDArray[np.bool_]:
    """Which tokens lie wholly in the characters `start` to `end`. Empty tokens (special ones) never do."""
    table = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
    inside: NDArray[np.bool_] = (table[:, 0] >= start) & (table[:, 1] <= end) & (table[:, 1] > table[:, 0])
    return inside


class SentenceTransformerEncoder(Encoder):
    """A sentence-transformers model. Safe to use from several threads; a query does not wait for an ingest's batch."""

    def __init__(self, model: SentenceTransformer, name: str, fingerprint: str) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self._model = model
        dimension = model.get_embedding_dimension()
        if dimension is None:
            raise ModelError(f"{name} states no embedding dimension; name a sentence-transformers model.")
        self.dimension = dimension
        self._tokenizer = model.tokenizer
        if not getattr(self._tokenizer, "is_fast", False):
            raise ModelError(f"{name} has no fast tokenizer, which gives offsets; name a model with tokenizer.json.")
        limit = model.max_seq_length or self._tokenizer.model_max_length
        self.max_tokens = int(min(limit, 8192))
        self._budget = BATCH_TOKENS if model.device.type == "cpu" else GPU_BATCH_TOKENS
        # Everything after the transformer adds up token vectors: cheap, and too coarse in bf16.
        for module in list(model)[1:]:
            module.float()
        self._tokenizing = threading.Lock()
        # Unlike torch.set_num_threads, this limits the calling thread alone.
        self._openmp = ThreadpoolController().select(user_api="openmp")

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return self.encode_with_spans(texts, [()] * len(texts))[0]

    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        whole = np.zeros((len(texts), self.dimension), np.float32)
        parts = [np.zeros((len(wanted), self.dimension), np.float32) for wanted in spans]
        if not len(texts):
            return whole, parts
        ids, offsets = self._tokenize(texts)
        for rows in _batches([len(row) for row in ids], self._budget):
            vectors, hidden = self._forward([ids[row] for row in rows], any(len(spans[row]) for row in rows))
            whole[rows] = vectors
            for place, row in enumerate(rows):
                for part, (start, end) in enumerate(spans[row]):
                    inside = np.flatnonzero(tokens_within(offsets[row], start, end))
                    if len(inside):
                        parts[row][part] = hidden[place, inside].mean(axis=0)
        return unit(whole), [unit(rows) for rows in parts]

    def token_offsets(self, text: str) -> Offsets:
        # Straight from the tokenizer within: transformers' own call takes several times as long for one text.
        with self._tokenizing:
            self._tokenizer.backend_tokenizer.no_truncation()
            found = self._tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        offsets: Offsets = found.offsets
        return offsets

    def _tokenize(self, texts: Sequence[str]) -> tuple[list[list[int]], list[Offsets]]:
        # A fast tokenizer keeps truncation as state that two threads must not change at once.
        with self._tokenizing:
            found = self._tokenizer(
                list(texts), truncation=True, max_length=self.max_tokens, return_offsets_mapping=True, verbose=False
            )
        return found["input_ids"], found["offset_mapping"]

    def _forward(self, ids: Sequence[Sequence[int]], with_tokens: bool) -> tuple[FloatArray, FloatArray]:
        """Text vectors by the model's own modules, and token vectors, (rows, tokens, d), empty where not wanted."""
        import torch

        longest = max(len(row) for row in ids)
        padding = self._tokenizer.pad_token_id or 0
        table = torch.full((len(ids), longest), padding, dtype=torch.long)
        mask = torch.zeros((len(ids), longest), dtype=torch.long)
        for place, row in enumerate(ids):
            table[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        device = self._model.device
        torch.get_num_threads()  # torch sets a new thread's number once, here rather than within the limit
        few = table.numel() <= ONE_THREAD_TOKENS
        with self._openmp.limit(limits=1) if few else nullcontext(), torch.inference_mode():
            found = self._model[0]({"input_ids": table.to(device), "attention_mask": mask.to(device)})
            found["token_embeddings"] = found["token_embeddings"].float()
            for module in list(self._model)[1:]:
                found = module(found)
        vectors: FloatArray = found["sentence_embedding"].cpu().numpy()
        tokens = found["token_embeddings"].cpu().numpy() if with_tokens else np.zeros((0, 0, 0), np.float32)
        return vectors, tokens


def _batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Rows in batches of like length, longest first, each of at most `budget` tokens with padding, or of one row."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batches: list[list[int]] = []
    while order:
        count = max(1, budget // max(1, lengths[order[0]]))
        batches.append(order[:count])
        order = order[count:]
    return batches


class WrappedEncoder(Encoder):
    """Any LangChain Embeddings as an Encoder. Spans are embedded as texts of their own."""

    def __init__(self, embeddings: Embeddings, name: str, max_tokens: int) -> None:
        self.name = name
        self.max_tokens = max_tokens
        self._embeddings = embeddings
        probe = self._embed(["dimension"])
        self.dimension = probe.shape[1]
        # Nothing says when a served model's weights change; its name and dimension are all there is to go by.
        self.fingerprint = f"{name}:{self.dimension}"

    def encode(self, texts: Sequence[str]) -> FloatArray:
        if not len(texts):
            return np.zeros((0, self.dimension), np.float32)
        return unit(self._embed(texts))

    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        pieces = [text[start:end] for text, wanted in zip(texts, spans, strict=True) for start, end in wanted]
        vectors = self.encode([*texts, *pieces])
        ends = np.cumsum([len(texts), *(len(wanted) for wanted in spans)])
        return vectors[: len(texts)], [vectors[ends[i] : ends[i + 1]] for i in range(len(texts))]

    def token_offsets(self, text: str) -> Offsets:
        """Words and signs stand in for tokens, since LangChain's Embeddings says nothing of its tokenizer."""
        return [found.span() for found in _ROUGH_TOKEN.finditer(text)]

    def _embed(self, texts: Sequence[str]) -> FloatArray:
        return np.asarray(self._embeddings.embed_documents(list(texts)), dtype=np.float32)


def wrap(embeddings: Embeddings, name: str, max_tokens: int) -> Encoder:
    """An Encoder around `embeddings`; one that is an Encoder already is given back as it is."""
    return embeddings if isinstance(embeddings, Encoder) else WrappedEncoder(embeddings, name, max_tokens)


class DeferredEncoder(Encoder):
    """An Encoder that is loaded when something but its name is first wanted of it. Safe to use from several threads.

    Every method, and asking for `dimension` or `max_tokens`, may raise what loading raises.
    """

    def __init__(self, name: str, fingerprint: str, load: Callable[[], Encoder]) -> None:
        """`load` gives the encoder of that name and fingerprint; it is called once, or again after it failed."""
        self.name = name
        self.fingerprint = fingerprint
        self.loaded = False
        self._load = load
        self._loading = threading.Lock()
        self._inner: Encoder | None = None

    def load(self) -> Encoder:
        """The encoder itself."""
        with self._loading:
            if self._inner is None:
                made = self._load()
                self.dimension, self.max_tokens = made.dimension, made.max_tokens
                self.loaded = True
                if self.when_loaded is not None:
                    try:
                        self.when_loaded()
                    except BaseException:
                        self.loaded = False
                        raise
                self._inner = made
            return self._inner

    def __getattr__(self, name: str) -> int:
        # Asked only for what has not been set yet.
        if name not in ("dimension", "max_tokens"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        found: int = getattr(self.load(), name)
        return found

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return self.load().encode(texts)

    def encode_with_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        return self.load().encode_with_spans(texts, spans)

    def token_offsets(self, text: str) -> Offsets:
        return self.load().token_offsets(text)


def load_encoder(resolved: ResolvedModel, settings: Settings) -> Encoder:
    """The embedder in the folder `resolved.path`. Raises ModelError when that holds no sentence-transformers model."""
    from rag import quiet

    with quiet.imports():
        import torch
        from sentence_transformers import SentenceTransformer

    from rag.models.hardware import device, use_bf16

    if resolved.path is None:
        raise ModelError(f"{resolved.name} is no local model; embedders behind an address are not supported.")
    if settings.threads:
        torch.set_num_threads(settings.threads)
    place = device(apple=True)
    kwargs: dict[str, Any] = {"dtype": torch.bfloat16 if use_bf16(settings.dtype, place) else torch.float32}
    try:
        model = SentenceTransformer(
            str(resolved.path), device=place, local_files_only=True, trust_remote_code=False, model_kwargs=kwargs
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(
            f"{resolved.path} holds no usable sentence-transformers model ({error}); name another with --embedder."
        ) from error
    return SentenceTransformerEncoder(model.eval(), resolved.name, resolved.fingerprint)
