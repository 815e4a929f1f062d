"""The model's stream cut into tokens and whole sentences."""

import pytest
from langchain_core.messages import AIMessageChunk

from rag.answering.prompting import Prompt
from rag.errors import GenerationError
from rag.events import Stage, Token
from rag.models.writer import CutShort, Draft, Writer
from tests.fakes import FakeChatModel

PROMPT = Prompt("system", "user", (), (), {1: 1, 2: 4})


def drafts(script: object) -> list[str]:
    chat = FakeChatModel(script=[script])
    return [piece.text for piece in Writer(chat, {}).write(PROMPT) if isinstance(piece, Draft)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("One is so. Two is not.", ["One is so.", "Two is not."]),
        ("It has 0.5 of it, e.g. here. Done.", ["It has 0.5 of it, e.g. here.", "Done."]),
        ("- First point.\n- Second point.\n", ["First point.", "Second point."]),
        ("9% [1]", ["9% [1]"]),
        ("A whole sentence. And then a much longer one that was cut off before it could come to its", [
            "A whole sentence."
        ]),
        ("", []),
        ("它很快。它也小。", ["它很快。", "它也小。"]),
    ],
)  # fmt: skip
def test_whole_sentences_come_out(reply: str, expected: list[str]):
    assert drafts(reply) == expected


def test_a_sentence_comes_as_soon_as_the_next_begins():
    chat = FakeChatModel(script=[["One is ", "so. ", "Two ", "is not."]])
    seen = [piece.text for piece in Writer(chat, {}).write(PROMPT)]
    assert seen == ["One is ", "so. ", "Two ", "One is so.", "is not.", "Two is not."]


def test_tokens_add_up_to_the_reply():
    chat = FakeChatModel(script=["One is so. Two is not."])
    pieces = [piece.text for piece in Writer(chat, {}).write(PROMPT) if isinstance(piece, Token)]
    assert "".join(pieces) == "One is so. Two is not."
    assert chat.calls[0].options["allowed_citations"] == 2


def test_any_error_becomes_one_a_user_can_read():
    chat = FakeChatModel(script=[[ValueError("boom")]])
    with pytest.raises(GenerationError, match="boom"):
        list(Writer(chat, {}).write(PROMPT))


def test_a_model_of_another_package_gets_only_what_it_knows():
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    chat = FakeListChatModel(responses=["One is so."])
    assert [piece.text for piece in Writer(chat, {}).write(PROMPT) if isinstance(piece, Draft)] == ["One is so."]


def test_the_place_in_the_line_is_told():
    def ahead(n):
        return AIMessageChunk("", response_metadata={"ahead": n})

    chat = FakeChatModel(script=[[ahead(2), ahead(1), ahead(0), "So it is."]])
    stages = [piece for piece in Writer(chat, {}).write(PROMPT) if isinstance(piece, Stage)]
    assert stages == [Stage("waiting", 2), Stage("waiting", 1), Stage("reading")]


def test_of_a_reply_whose_time_was_over_only_whole_sentences_stand():
    last = AIMessageChunk("", response_metadata={"finish_reason": "time_limit"})
    chat = FakeChatModel(script=[["One is so. ", "Two is", last]])
    pieces = list(Writer(chat, {}).write(PROMPT))
    assert pieces[-1] == CutShort()
    assert [piece for piece in pieces if isinstance(piece, Draft)] == [Draft("One is so.")]
