"""Chat models: transformers on this machine, or a server that speaks OpenAI's protocol, both behind `BaseChatModel`.

Beside LangChain's own arguments, both take at every call
    allowed_citations  numbers 1 to this may stand in [n]; None restricts nothing (a server takes no notice of it)
    max_new_tokens     the most tokens of the reply
    cancel             a threading.Event that stops the reply when set
and TransformersChat, which writes one reply at a time, also
    owner              who asks: owners take turns (None: one of all those who do not say). With it, a chunk without
                       text that has `ahead` in its response_metadata tells how many replies come before, whenever
                       that changes
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, convert_to_openai_messages
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from rag.errors import GenerationError, ModelError
from rag.models.chat_template import ChatTemplate
from rag.models.turns import Place, Turns

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from rag.models.known import ResolvedModel
    from rag.settings import Settings

# Tokens that prompt lookup proposes at once.
LOOKUP_TOKENS = 10
# How long over its time a forward pass may take before the reply is given up, seconds.
GRACE_S = 30.0
_POLL_S = 0.1
# Ends of a turn in the families of models that name only one of them in their configuration.
_END_OF_TURN = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>")


@dataclass(slots=True)
class _Request:
    """One reply in the making. `events` carries lists of token ids, then a finish reason or an exception."""

    ids: list[int]
    kept: int
    system: str
    max_new_tokens: int
    allowed_citations: int | None
    stops: tuple[threading.Event, ...]
    place: Place
    events: queue.SimpleQueue[list[int] | str | Exception] = field(default_factory=queue.SimpleQueue)


class TransformersChat(BaseChatModel):
    """A causal language model of transformers: greedy, with prompt lookup, one reply at a time.

    The model writes in a thread of its own, so that a slow reader holds up nobody; further calls wait their turn, see
    `turns`. Closing the stream, or setting `cancel`, stops it after the forward pass it is in. A reply also ends
    when it takes longer than `answer_seconds`, its waiting not counted, or repeats itself. The last chunk carries usage
    and `finish_reason`: stop, length, cancelled, time_limit or repetition. Raises GenerationError when the model fails
    or is stuck and for a prompt that is too long, and Busy when too many wait.
    """

    model_name: str
    max_new_tokens: int = 220
    answer_seconds: float = 120.0
    _model: Any = PrivateAttr()
    _tokenizer: Any = PrivateAttr()
    _template: Any = PrivateAttr()
    _turns: Any = PrivateAttr()
    _turn_began: float | None = PrivateAttr(default=None)
    _prefix: tuple[str, Any] | None = PrivateAttr(default=None)
    _citation_tokens: Any = PrivateAttr(default=None)

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, **fields: Any) -> None:
        super().__init__(**fields)
        from transformers import GenerationConfig

        from rag.models.decoding import CitationTokens, read_on_from_cache

        self._model = model
        self._tokenizer = tokenizer
        self._turns = Turns(self.model_name)
        self._template = ChatTemplate(tokenizer, self.model_name)
        self._citation_tokens = CitationTokens(tokenizer)
        read_on_from_cache(model)
        # What a model's file recommends (sampling, penalties for repeating the prompt) does not suit quoting evidence.
        model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            eos_token_id=_end_tokens(model, tokenizer), pad_token_id=tokenizer.pad_token_id
        )

    @property
    def _llm_type(self) -> str:
        return "transformers"

    def get_num_tokens(self, text: str) -> int:
        """Tokens of `text` alone."""
        return len(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def warm_up(self, system: str = "") -> None:
        """Read the fixed beginning of prompts with this system message now instead of at the first reply.

        A short reply is written too: the first one of a process is slower than any other.
        """
        messages = [*([SystemMessage(system)] if system else []), HumanMessage("a")]
        self.invoke(messages, max_new_tokens=2)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - LangChain's `stream` reports tokens
        *,
        allowed_citations: int | None = None,
        max_new_tokens: int | None = None,
        cancel: threading.Event | None = None,
        owner: str | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain may add arguments of its own
    ) -> Iterator[ChatGenerationChunk]:
        closed = threading.Event()
        stops = (closed,) if cancel is None else (closed, cancel)
        request = self._request(messages, max_new_tokens or self.max_new_tokens, allowed_citations, stops, owner or "")
        try:
            threading.Thread(target=self._write, args=(request,), daemon=True, name="generation").start()
        except RuntimeError:  # no thread could be had
            request.place.leave()
            raise
        written: list[int] = []
        sent = 0
        ahead = 0
        reason: str | None = None
        try:
            while reason is None:
                event = self._next(request, cancel, bool(written))
                if event is None:
                    if owner is not None and ahead != (ahead := request.place.ahead):
                        told = AIMessageChunk(content="", response_metadata={"ahead": ahead})
                        yield ChatGenerationChunk(message=told)
                    continue
                if isinstance(event, list):
                    written += event
                else:
                    reason = event
                text = self._tokenizer.decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False)
                cut = min((at for word in stop or () if (at := text.find(word)) >= 0), default=None)
                if cut is not None:
                    text, reason = text[:cut], "stop"
                ready = len(text) if reason else len(text) - _held_back(text, stop or ())
                if ready > sent:
                    yield ChatGenerationChunk(message=AIMessageChunk(content=text[sent:ready]))
                    sent = ready
            usage = UsageMetadata(
                input_tokens=len(request.ids),
                output_tokens=len(written),
                total_tokens=len(request.ids) + len(written),
            )
            info = {"finish_reason": reason, "model_name": self.model_name}
            last = AIMessageChunk(content="", usage_metadata=usage, response_metadata=info, chunk_position="last")
            yield ChatGenerationChunk(message=last)
        finally:
            closed.set()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _request(
        self,
        messages: list[BaseMessage],
        max_new_tokens: int,
        allowed_citations: int | None,
        stops: tuple[threading.Event, ...],
        owner: str,
    ) -> _Request:
        plain = [dict(message) for message in convert_to_openai_messages(messages, text_format="string")]
        ids = self._template.render(plain)
        first = [plain[0]] if isinstance(messages[0], SystemMessage) else []
        room = getattr(self._model.config, "max_position_embeddings", 1 << 30) - len(ids)
        if room < 1:
            raise GenerationError(
                f"The prompt has {len(ids):,} tokens and {self.model_name} reads at most {len(ids) + room:,}; "
                "lower `evidence_sentences` or name another model with --llm."
            )
        return _Request(
            ids=ids,
            kept=self._template.fixed(first, ids),
            system=first[0]["content"] if first else "",
            max_new_tokens=min(max_new_tokens, room),
            allowed_citations=allowed_citations,
            stops=stops,
            place=self._turns.line_up(owner),
        )

    def _next(self, request: _Request, cancel: threading.Event | None, begun: bool) -> list[int] | str | None:
        """The next tokens or the reason to finish, None where there is nothing new yet.

        Comes back soon when cancelled, also during another reply. Of a model that is stuck, what has been written
        stands where the reply has `begun`.
        """
        if cancel is not None and cancel.is_set():
            return "cancelled"
        try:
            event = request.events.get(timeout=_POLL_S)
        except queue.Empty:
            # A model that is stuck is given up by those who wait for their turn as well.
            began = self._turn_began
            if began is not None and time.monotonic() > began + self.answer_seconds + GRACE_S:
                if begun:
                    return "time_limit"
                raise GenerationError(
                    f"{self.model_name} did not answer within {self.answer_seconds:g} s; ask again, raise "
                    "`answer_seconds`, or name a smaller model with --llm."
                ) from None
            return None
        if isinstance(event, Exception):
            raise GenerationError(
                f"{self.model_name} failed while it wrote ({type(event).__name__}: {event}); ask again or name "
                "another model with --llm."
            ) from event
        return event

    def _write(self, request: _Request) -> None:
        """Wait for this request's turn and write; runs in a thread of its own."""
        with request.place as place:
            while not place.wait(_POLL_S):
                if any(stop.is_set() for stop in request.stops):
                    return
            try:
                self._turn_began = time.monotonic()
                request.events.put(self._run(request))
            except Exception as error:  # noqa: BLE001 - whatever it is, the reader must hear of it instead of waiting
                request.events.put(error)
            finally:
                self._turn_began = None

    def _run(self, request: _Request) -> str:
        import torch
        from transformers import GenerationConfig

        from rag.models.decoding import CitationLimit, Halt, Streamer

        length = len(request.ids)
        halt = Halt(length, time.monotonic() + self.answer_seconds, request.stops)
        limits = []
        if request.allowed_citations is not None:
            limits.append(
                CitationLimit(self._citation_tokens, self._tokenizer.decode, length, request.allowed_citations)
            )
        table = torch.tensor([request.ids], device=self._model.device)
        written = self._model.generate(
            table,
            attention_mask=torch.ones_like(table),
            cache=deepcopy(self._cache(request.system, request.ids, request.kept)),
            generation_config=GenerationConfig(  # type: ignore[no-untyped-call]
                do_sample=False,
                max_new_tokens=request.max_new_tokens,
                prompt_lookup_num_tokens=LOOKUP_TOKENS,
            ),
            logits_processor=limits,
            stopping_criteria=[halt],
            streamer=Streamer(request.events.put),
        )
        if halt.reason:
            return halt.reason
        ends = self._model.generation_config.eos_token_id
        return "stop" if int(written[0, -1]) in ends else "length"

    def _cache(self, system: str, ids: list[int], kept: int) -> Any:
        """Keys and values of the first `kept` ids, from the last call where `system` is the same.

        It is always read by itself, kept or not, so that the same prompt gives the same text either way.
        """
        import torch
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config)
        if not kept:
            return cache
        key = f"{kept} {system}"
        if self._prefix is None or self._prefix[0] != key:
            with torch.no_grad():
                self._model(torch.tensor([ids[:kept]], device=self._model.device), cache=cache, logits_to_keep=1)
            self._prefix = (key, cache)
        return self._prefix[1]


def _held_back(text: str, stop: tuple[str, ...] | list[str]) -> int:
    """Characters at the end that may still change: half of a character, or the beginning of a stop string."""
    half = len(text) - len(text.rstrip("\ufffd"))
    begun = (
        size for word in stop for size in range(min(len(word) - 1, len(text)), 0, -1) if text.endswith(word[:size])
    )
    return max(half, max(begun, default=0))


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Every token that ends a reply."""
    stated = model.generation_config.eos_token_id
    ends = set(stated if isinstance(stated, list) else [] if stated is None else [stated])
    if tokenizer.eos_token_id is not None:
        ends.add(tokenizer.eos_token_id)
    added = tokenizer.get_added_vocab()
    ends.update(added[word] for word in _END_OF_TURN if word in added)
    return sorted(ends)


def load_chat_model(resolved: ResolvedModel, settings: Settings) -> BaseChatModel:
    """The chat model in the folder `resolved.path` or behind `resolved.url`. Raises ModelError when unusable."""
    if resolved.url is not None:
        from rag.models.server_chat import ServerChat

        return ServerChat.at(resolved.url, resolved.name, settings)
    from rag import quiet

    with quiet.imports():
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

    from rag.models.hardware import device, use_bf16

    if settings.threads:
        torch.set_num_threads(settings.threads)
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(resolved.path), local_files_only=True, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            str(resolved.path),
            dtype=torch.bfloat16 if use_bf16(settings.dtype) else torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(
            f"{resolved.path} holds no usable language model ({error}); name another with --llm."
        ) from error
    model.to(torch.device(device()))  # type: ignore[arg-type]
    return TransformersChat(
        model.eval(),  # type: ignore[no-untyped-call]
        tokenizer,
        model_name=resolved.name,
        max_new_tokens=settings.max_new_tokens,
        answer_seconds=settings.answer_seconds,
    )
