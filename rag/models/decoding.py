"""What steers transformers' `generate` while it writes: when it stops, which citation numbers it may write.

Imports transformers; import this module inside functions only.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, PreTrainedModel, PreTrainedTokenizerBase, StoppingCriteria
from transformers.generation.streamers import BaseStreamer

# A list of citations that is still open at the end of the text: "[", whole numbers, and the digits of the last one.
_OPEN = re.compile(r"\[\s*(?:\d+\s*[,;–-]\s*)*(?P<digits>\d*)$")
_DIGITS = re.compile(r"\s*(?P<digits>\d+)")
_BRACKETED = re.compile(r"\[\s*(?P<digits>\d+)")
# Tokens of the text's end that are looked at; a list of citations longer than this does not occur.
_TAIL = 32
# The shortest stretch that counts as a loop, and the longest period looked for, in tokens.
LOOP_TOKENS = 16
LOOP_PERIOD = 64


def loops(tokens: Sequence[int]) -> bool:
    """Whether `tokens` ends in the same stretch three times or more, over at least LOOP_TOKENS tokens."""
    for period in range(1, min(LOOP_PERIOD, len(tokens) // 3) + 1):
        length = period * max(3, -(-LOOP_TOKENS // period))
        if len(tokens) < length:
            continue
        tail = tokens[-length:]
        if all(tail[place] == tail[place - period] for place in range(period, length)):
            return True
    return False


class Halt(StoppingCriteria):
    """Stops generation when told to, when its time is over, or when it goes round in circles; `reason` says which.

    `prompt_tokens` is the prompt's length, `deadline` is by `time.monotonic`. Looked at after every forward pass.
    """

    def __init__(self, prompt_tokens: int, deadline: float, stops: Sequence[threading.Event]) -> None:
        self.reason: str | None = None
        self._prompt_tokens = prompt_tokens
        self._deadline = deadline
        self._stops = stops

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ARG002
        if any(stop.is_set() for stop in self._stops):
            self.reason = "cancelled"
        elif time.monotonic() > self._deadline:
            self.reason = "time_limit"
        elif loops(input_ids[0, self._prompt_tokens :].tolist()):
            self.reason = "repetition"
        return torch.full((input_ids.shape[0],), self.reason is not None, device=input_ids.device, dtype=torch.bool)


class Streamer(BaseStreamer):
    """Hands every new batch of token ids on; the prompt, which `generate` puts first, is left out."""

    def __init__(self, put: Callable[[list[int]], None]) -> None:
        self._put = put
        self._prompt_seen = False

    def put(self, value: torch.Tensor) -> None:
        if self._prompt_seen:
            self._put(value.reshape(-1).tolist())
        self._prompt_seen = True

    def end(self) -> None:
        """The end is told by the thread that called `generate`, together with how it ended."""


class CitationTokens:
    """Which tokens would make a citation number that does not exist, for one tokenizer.

    Byte-level and sentence-piece vocabularies write digits, brackets and commas as themselves, and a leading space as
    a sign of their own, so the vocabulary's own spelling of a token suffices.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._digits: list[tuple[int, str]] = []
        self._bracketed: list[tuple[int, str]] = []
        for token, number in tokenizer.get_vocab().items():
            text = token.replace("Ġ", " ").replace("▁", " ")
            if found := _DIGITS.match(text):
                self._digits.append((number, found[0]))
            if found := _BRACKETED.search(text):
                self._bracketed.append((number, found["digits"]))
        self._known: dict[tuple[str | None, int], torch.Tensor] = {}

    def forbidden(self, begun: str | None, allowed: int) -> torch.Tensor:
        """Ids of tokens that may not come next, shape (m,).

        `begun` holds the digits already written of a citation's number, "" directly after its bracket or comma, and
        None outside a citation. Numbers 1 to `allowed` exist.
        """
        key = (begun, allowed)
        if key not in self._known:
            ids = [number for number, digits in self._bracketed if not _exists(digits, allowed)]
            if begun is not None:
                for number, text in self._digits:
                    # After a digit, a token with a space before its own begins another word, not more of the number.
                    digits = begun + text if begun else text.strip()
                    if digits.isdigit() and not _exists(digits, allowed):
                        ids.append(number)
            self._known[key] = torch.tensor(ids, dtype=torch.long)
        return self._known[key]


def _exists(digits: str, allowed: int) -> bool:
    return not digits.startswith("0") and 1 <= int(digits) <= allowed


class CitationLimit(LogitsProcessor):
    """Lets only the numbers 1 to `allowed` follow a "[" in what is generated; other text in brackets stays free.

    A prefix of an existing number exists itself, so the rule can be applied digit by digit. With prompt lookup it is
    called for every proposed token, and a proposal with a wrong number is cut off before the model sees it.
    """

    def __init__(
        self, tokens: CitationTokens, decode: Callable[[list[int]], str], prompt_tokens: int, allowed: int
    ) -> None:
        self._tokens = tokens
        self._decode = decode
        self._prompt_tokens = prompt_tokens
        self._allowed = allowed

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        start = max(self._prompt_tokens, input_ids.shape[1] - _TAIL)
        opened = _OPEN.search(self._decode(input_ids[0, start:].tolist()))
        forbidden = self._tokens.forbidden(opened["digits"] if opened else None, self._allowed)
        if not len(forbidden):
            return scores
        # Prompt lookup passes the same made-up scores for every proposal, so they must not be changed in place.
        return scores.index_fill(1, forbidden.to(scores.device), -torch.inf)


def read_on_from_cache(model: PreTrainedModel) -> None:
    """Make `generate` with prompt lookup read only what a given cache does not hold yet.

    Assisted decoding gives the whole prompt to the first forward pass even when a cache already holds its beginning,
    which is then read twice, at wrong positions. Other ways of decoding slice it, as this does.
    """
    original: Callable[..., Any] = model.prepare_inputs_for_generation  # type: ignore[assignment]

    @functools.wraps(original)
    def sliced(
        input_ids: torch.Tensor,
        next_sequence_length: int | None = None,
        cache: Any = None,
        is_first_iteration: bool | None = False,
        **kwargs: Any,
    ) -> Any:
        if is_first_iteration and next_sequence_length is None and cache is not None and cache.get_seq_length():
            next_sequence_length = input_ids.shape[1] - cache.get_seq_length()
        return original(
            input_ids,
            next_sequence_length=next_sequence_length,
            cache=cache,
            is_first_iteration=is_first_iteration,
            **kwargs,
        )

    model.prepare_inputs_for_generation = sliced  # type: ignore[assignment]
