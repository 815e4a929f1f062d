from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rag.errors import GenerationError, ModelError
from rag.models import chat_model
from rag.models.chat_model import TransformersChat, _held_back, load_chat_model
from rag.models.decoding import CitationLimit, CitationTokens, loops
from rag.models.known import ResolvedModel, resolve
from rag.settings import load_settings

CITE = "See [7] and [12], also [3]."
COUNT = "one two three four five six seven eight nine ten eleven twelve"


@pytest.fixture(scope="module")
def tiny(tiny_chat_folder: Path) -> TransformersChat:
    home = tiny_chat_folder
    found = load_chat_model(resolve(str(home), home, "llm"), load_settings(home, dtype="fp32"))
    assert isinstance(found, TransformersChat)
    return found


def ask(text: str, system: str | None = "Say it.") -> list[BaseMessage]:
    return [*([SystemMessage(system)] if system else []), HumanMessage(text)]


def reply(chat: TransformersChat, messages: list[BaseMessage], **options: Any) -> AIMessage:
    found = chat.invoke(messages, **options)
    assert isinstance(found, AIMessage)
    return found


@pytest.mark.parametrize("system", ["Say it.", None])
def test_what_it_learned_comes_out_whole(tiny: TransformersChat, system: str | None) -> None:
    found = reply(tiny, ask("count", system))
    assert found.text == COUNT
    assert found.response_metadata["finish_reason"] == "stop"
    # One token a byte, and one that ends the turn.
    assert found.usage_metadata is not None
    assert found.usage_metadata["output_tokens"] == len(COUNT) + 1
    assert found.usage_metadata["total_tokens"] == found.usage_metadata["input_tokens"] + len(COUNT) + 1


def test_prompt_lookup_writes_what_plain_greedy_decoding_writes(
    tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = ask("count, and one two three four five six seven eight nine ten")
    looked_up = reply(tiny, messages, max_new_tokens=60).text
    monkeypatch.setattr(chat_model, "LOOKUP_TOKENS", None)
    assert reply(tiny, messages, max_new_tokens=60).text == looked_up


def test_the_kept_beginning_changes_no_reply(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = [ask("count"), ask("something it never saw"), ask("cite", "Another system message.")]
    kept = [reply(tiny, messages, max_new_tokens=40).text for messages in [*prompts, *prompts]]
    monkeypatch.setattr(tiny._template, "fixed", lambda *_: 0)
    assert [reply(tiny, messages, max_new_tokens=40).text for messages in prompts] * 2 == kept


def test_the_beginning_is_read_once(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    forward = tiny._model.forward

    def counted(input_ids: torch.Tensor, **options: Any) -> Any:
        lengths.append(input_ids.shape[1])
        return forward(input_ids, **options)

    monkeypatch.setattr(tiny._model, "forward", counted)
    tiny.warm_up("Be brief, please, and exact.")
    beginning = lengths[0]
    lengths.clear()
    messages = ask("yes?", "Be brief, please, and exact.")
    found = reply(tiny, messages, max_new_tokens=1)
    assert found.usage_metadata is not None
    assert lengths == [found.usage_metadata["input_tokens"] - beginning]
    assert beginning > len("Be brief, please, and exact.")


@pytest.mark.parametrize("allowed", [0, 1, 7, 11, 12])
def test_only_existing_numbers_follow_a_bracket(tiny: TransformersChat, allowed: int) -> None:
    import re

    text = reply(tiny, ask("cite"), allowed_citations=allowed, max_new_tokens=60).text
    numbers = [int(number) for number in re.findall(r"\[(\d+)", text)]
    assert all(1 <= number <= allowed for number in numbers)
    assert (text == CITE) == (allowed == 12)


def test_a_wrong_number_that_prompt_lookup_proposes_is_not_written(tiny: TransformersChat) -> None:
    # The prompt holds the reply, so that lookup proposes it, its wrong numbers with it.
    text = reply(tiny, ask(f"{CITE} {CITE} cite"), allowed_citations=2, max_new_tokens=60).text
    assert "[7" not in text
    assert "[12" not in text


@pytest.mark.parametrize(
    ("stop", "expected"),
    [(["four"], "one two three "), (["zzz", " two three"], "one"), (["one"], ""), (["never"], COUNT)],
)
def test_stop_strings_end_the_reply_before_them(tiny: TransformersChat, stop: list[str], expected: str) -> None:
    pieces = [str(chunk.text) for chunk in tiny.stream(ask("count"), stop=stop)]
    assert "".join(pieces) == expected


@given(text=st.text("ab\ufffd", max_size=8), stop=st.lists(st.text("ab", min_size=1, max_size=3), max_size=3))
def test_what_is_held_back_is_what_may_still_become_a_stop_string(text: str, stop: list[str]) -> None:
    held = _held_back(text, stop)
    sent = text[: len(text) - held]
    assert not sent.endswith("\ufffd") or not text.endswith("\ufffd")
    for word in stop:
        for size in range(1, len(word)):
            assert not (text.endswith(word[:size]) and held < size)


def test_the_most_tokens_are_kept_to(tiny: TransformersChat) -> None:
    found = reply(tiny, ask("count"), max_new_tokens=7)
    assert found.text == COUNT[:7]
    assert found.response_metadata["finish_reason"] == "length"


def test_a_loop_ends(tiny: TransformersChat) -> None:
    found = reply(tiny, ask("loop"))
    assert found.response_metadata["finish_reason"] == "repetition"
    assert found.text.startswith("na na na na na")
    assert len(found.text) < 60


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([1] * 16, True),
        ([1] * 15, False),
        ([9, 8, 7] + [1, 2, 3, 4, 5, 6] * 3, True),
        ([1, 2, 3, 4, 5, 6] * 2, False),
        ([1, 2] * 7, False),  # 14 tokens: a number such as 0101 is no loop
        ([1, 2] * 8 + [3], False),
        (list(range(200)), False),
        ([], False),
    ],
)
def test_loops(tokens: Sequence[int], expected: bool) -> None:
    assert loops(tokens) is expected


def test_the_time_limit_ends_the_reply(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "answer_seconds", 0.0)
    found = reply(tiny, ask("count"))
    assert found.response_metadata["finish_reason"] == "time_limit"
    assert len(found.text) < len(COUNT)


def test_a_stuck_model_is_given_up(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    freed = threading.Event()
    monkeypatch.setattr(tiny._model, "forward", lambda *_, **__: freed.wait(60))
    monkeypatch.setattr(tiny, "answer_seconds", 0.1)
    monkeypatch.setattr(chat_model, "GRACE_S", 0.1)
    with pytest.raises(GenerationError, match=r"did not answer within 0\.1 s"):
        reply(tiny, ask("count"))
    freed.set()


def test_those_who_wait_give_a_stuck_model_up_too(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    freed = threading.Event()
    monkeypatch.setattr(tiny._model, "forward", lambda *_, **__: freed.wait(60))
    monkeypatch.setattr(tiny, "answer_seconds", 0.1)
    monkeypatch.setattr(chat_model, "GRACE_S", 0.1)
    for _ in range(2):
        with pytest.raises(GenerationError, match="did not answer within"):
            reply(tiny, ask("count"))
    freed.set()


def test_closing_the_stream_stops_the_model(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    step, steps = slowed(tiny, monkeypatch)
    chunks = tiny.stream(ask("count"))
    step.release(5)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    step.release(1000)
    with tiny._turns.line_up() as place:
        assert place.wait(30)  # it gives up its turn
        assert steps() < 20


def test_cancel_ends_the_stream_with_what_there_is(tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    step, _ = slowed(tiny, monkeypatch)
    cancel = threading.Event()
    chunks = tiny.stream(ask("count"), cancel=cancel)
    step.release(5)
    first = next(chunks).text
    cancel.set()
    rest = list(chunks)
    assert rest[-1].response_metadata["finish_reason"] == "cancelled"
    assert COUNT.startswith(first + "".join(str(chunk.text) for chunk in rest))
    step.release(1000)


def test_a_second_reply_waits_its_turn_and_can_be_cancelled(
    tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, _ = slowed(tiny, monkeypatch)
    first = tiny.stream(ask("count"))
    step.release(5)
    begun = next(first).text
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    second = list(tiny.stream(ask("count"), cancel=cancel))
    assert [chunk.text for chunk in second] == [""]
    assert second[0].response_metadata["finish_reason"] == "cancelled"
    step.release(1000)
    assert begun + "".join(str(chunk.text) for chunk in first) == COUNT


def test_owners_take_turns_and_are_told_how_many_come_before_them(
    tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, _ = slowed(tiny, monkeypatch)
    ended: list[str] = []
    told: dict[str, list[int]] = {"first": [], "second": [], "other": []}
    begun = {name: threading.Event() for name in told}

    def read(name: str, owner: str) -> None:
        for chunk in tiny.stream(ask("count"), max_new_tokens=3, owner=owner):
            if (ahead := chunk.response_metadata.get("ahead")) is not None:
                told[name].append(ahead)
                begun[name].set()
        ended.append(name)

    threads = []
    for name, owner in (("held", "a"), ("first", "a"), ("second", "a"), ("other", "b")):
        threads.append(threading.Thread(target=read, args=(name, owner)))
        threads[-1].start()
        if name == "held":
            while not tiny._turns._holder:
                time.sleep(0.01)
        else:
            assert begun[name].wait(30)
    step.release(1000)
    for thread in threads:
        thread.join(60)
    # The first of b comes before the second and third of a.
    assert ended == ["held", "other", "first", "second"]
    assert (told["first"][0], told["second"][0], told["other"][0]) == (1, 2, 1)


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_failing_model_is_heard_of_at_once_and_gives_up_its_turn(
    tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    forward = tiny._model.forward
    left = iter(range(passes))

    def fail(*arguments: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("no memory")
        return forward(*arguments, **options)

    tiny.warm_up("Say it.")
    monkeypatch.setattr(tiny._model, "forward", fail)
    chunks = tiny.stream(ask("count"))
    with pytest.raises(GenerationError, match=r"failed while it wrote .*no memory"):
        list(chunks)
    monkeypatch.setattr(tiny._model, "forward", forward)
    assert reply(tiny, ask("count")).text == COUNT


def test_what_a_model_wrote_before_it_was_stuck_is_kept(
    tiny: TransformersChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, _ = slowed(tiny, monkeypatch)
    monkeypatch.setattr(tiny, "answer_seconds", 0.3)
    monkeypatch.setattr(chat_model, "GRACE_S", 0.1)
    step.release(3)
    found = reply(tiny, ask("count"))
    assert found.response_metadata["finish_reason"] == "time_limit"
    assert found.text
    assert COUNT.startswith(found.text)
    step.release(1000)


def test_a_slow_reader_holds_up_nobody(tiny: TransformersChat) -> None:
    slow = tiny.stream(ask("count"))
    begun = next(slow).text
    assert reply(tiny, ask("count")).text == COUNT
    assert begun + "".join(str(chunk.text) for chunk in slow) == COUNT


def test_a_prompt_that_is_too_long_is_refused(tiny: TransformersChat) -> None:
    with pytest.raises(GenerationError, match=r"The prompt has 1,\d\d\d tokens and .* reads at most 512; lower"):
        reply(tiny, ask("x" * 1000))


def test_a_reply_ends_where_the_models_reach_ends(tiny: TransformersChat) -> None:
    found = reply(tiny, ask("x" * 420))
    assert found.usage_metadata is not None
    assert found.usage_metadata["total_tokens"] <= 512


def test_earlier_turns_are_part_of_the_prompt(tiny: TransformersChat) -> None:
    short = reply(tiny, ask("count"), max_new_tokens=1)
    talk = [*ask("yes?"), AIMessage("Yes"), HumanMessage("count")]
    long = reply(tiny, talk, max_new_tokens=1)
    assert short.usage_metadata is not None
    assert long.usage_metadata is not None
    assert long.usage_metadata["input_tokens"] > short.usage_metadata["input_tokens"] + len("yes?Yes")


def test_a_folder_of_another_kind_is_refused_in_a_sentence(home: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="holds no usable language model"):
        load_chat_model(ResolvedModel("odd", "f", tmp_path), load_settings(home))


class Vocabulary:
    """A tokenizer's vocabulary with tokens of all shapes."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens

    def get_vocab(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def decode(self, ids: list[int]) -> str:
        return "".join(self.tokens[number].replace("Ġ", " ") for number in ids)


TOKENS = ["[", "Ġ[", "].[", "]", ",", "Ġ", "a", "1", "2", "0", "12", "Ġ1", "Ġ3", "[0", "[2", "x[9]", "3"]


@pytest.mark.parametrize(
    ("written", "allowed", "forbidden"),
    [
        # Outside a citation only tokens that carry a wrong number with their bracket are out.
        (["a"], 2, {"[0", "x[9]"}),
        (["["], 2, {"[0", "x[9]", "0", "12", "Ġ3", "3"}),
        (["a", "Ġ["], 12, {"[0", "0"}),
        (["["], 0, {"[0", "[2", "x[9]", "1", "2", "0", "12", "Ġ1", "Ġ3", "3"}),
        # After "[1": 11 to 19 as far as they exist; "Ġ1" begins another word.
        (["[", "1"], 12, {"[0", "3", "12"}),
        (["[", "1"], 2, {"[0", "x[9]", "1", "2", "0", "12", "3"}),
        # A list of citations goes on after its comma.
        (["[", "1", ","], 2, {"[0", "x[9]", "0", "12", "Ġ3", "3"}),
        (["[", "1", ",", "Ġ"], 2, {"[0", "x[9]", "0", "12", "Ġ3", "3"}),
        (["[", "1", "]", "1"], 2, {"[0", "x[9]"}),
        (["].["], 1, {"[0", "[2", "x[9]", "2", "0", "12", "Ġ3", "3"}),
    ],
)
def test_citation_limit(written: list[str], allowed: int, forbidden: set[str]) -> None:
    vocabulary: Any = Vocabulary(TOKENS)
    limit = CitationLimit(CitationTokens(vocabulary), vocabulary.decode, prompt_tokens=1, allowed=allowed)
    ids = torch.tensor([[0, *(TOKENS.index(token) for token in written)]])
    scores = torch.ones((1, len(TOKENS)))
    found = limit(ids, scores)
    assert {TOKENS[place] for place in torch.isinf(found[0]).nonzero().flatten().tolist()} == forbidden
    assert scores.eq(1).all()  # the scores that were given are left alone


@pytest.mark.model
def test_a_real_model_cites_only_what_exists(home: Path, pulled: Callable[[str], Path]) -> None:
    folder = pulled("smollm2-135m")
    chat = load_chat_model(ResolvedModel("smollm2-135m", "f", folder), load_settings(home))
    evidence = "[1] Sparse flows halve the number of steps.\nRepeat exactly: Steps are halved [4], see [9] and [23]."
    found = chat.invoke([HumanMessage(evidence)], allowed_citations=1, max_new_tokens=40)
    assert "[4" not in found.text
    assert "[9" not in found.text
    assert "[2" not in found.text
    assert found.text


def slowed(chat: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Semaphore, Callable[[], int]]:
    """A model whose forward passes wait for the semaphore, and how many it has made."""
    chat.warm_up("Say it.")
    step = threading.Semaphore(0)
    made: list[float] = []
    forward = chat._model.forward

    def wait(*arguments: Any, **options: Any) -> Any:
        assert step.acquire(timeout=60)
        made.append(time.monotonic())
        return forward(*arguments, **options)

    monkeypatch.setattr(chat._model, "forward", wait)
    return step, lambda: len(made)
