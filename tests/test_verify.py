from __future__ import annotations

from dataclasses import replace

import pytest

from rag.answering.verify import Verifier, restates
from rag.types import AnswerSentence, Paper
from tests.fakes import FakeEncoder
from tests.fakes_answers import BREAD, GARDEN, KETTLE, ask

PAPERS = ((1, KETTLE), (2, GARDEN), (3, BREAD))


def check(text: str) -> AnswerSentence:
    return Verifier(FakeEncoder()).check(text, PAPERS)


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("KettleNet reaches 93.5% accuracy on six public kettles.", 1),
        ("According to [3], it reaches 93.5% accuracy on 6 public kettles [3].", 1),
        ("The policy reduces water use by 31%.", 2),
        ("CrumbSet is a dataset of 40000 photographs of bread.", 3),
        ("KettleNet outperforms SteamCast in noisy kitchens [2].", 1),
        ("It needs no labelled recordings.", 1),
    ],
)
def test_a_true_sentence_is_supported_and_gets_its_own_citation(text: str, n: int) -> None:
    checked = check(text)
    assert checked.support == "supported"
    assert checked.citations == (n,)


@pytest.mark.parametrize(
    "text",
    [
        "KettleNet reaches 91.5% accuracy on six public kettles.",
        "KettleNet reaches 93.5% accuracy on five public kettles.",
        "GasPro reaches 93.5% accuracy on six public kettles.",
        "SteamCast outperforms KettleNet in noisy kitchens.",
        "KettleNet underperforms SteamCast in noisy kitchens.",
        "It does need labelled recordings.",
        "The policy increases water use by 31%.",
        "The policy reduces water use by 12%.",
        "Kettles were invented in ancient Egypt by priests.",
        "The policy waters beds with a dataset of photographs annotated by bakers in noisy kitchens.",
        "[1]",
    ],
)
def test_a_false_sentence_is_not(text: str) -> None:
    checked = check(text)
    assert checked.support == "unsupported"
    assert checked.citations == ()
    assert checked.evidence == ()


def test_evidence_has_exact_offsets_and_the_papers_number() -> None:
    for piece in check("The policy reduces water use by 31%.").evidence:
        assert piece.n == 2
        assert GARDEN.abstract[piece.span.start : piece.span.end] == piece.span.text
        assert "31%" in piece.span.text


def test_two_merged_sentences_give_two_pieces_of_evidence() -> None:
    checked = check("CrumbSet holds 40,000 photographs of bread, and every photograph is annotated by two bakers.")
    assert checked.support != "unsupported"
    assert [piece.span.text.split()[0] for piece in checked.evidence] == ["We", "Every"]


def test_the_text_is_shown_without_marks() -> None:
    assert check("- **KettleNet** outperforms SteamCast in noisy kitchens [1].").text == (
        "KettleNet outperforms SteamCast in noisy kitchens."
    )


def test_a_sentence_that_only_restates_the_question_is_unsupported() -> None:
    question = ask("Which kettles does KettleNet reach 93.5% accuracy on?")
    assert restates("KettleNet reaches 93.5% accuracy on kettles.", question.standalone)
    sentence = "KettleNet reaches 93.5% accuracy on kettles."
    assert Verifier(FakeEncoder()).check(sentence, PAPERS, question).support == "unsupported"
    assert not restates("KettleNet reaches it on six public kettles.", question.standalone)


def test_a_claim_answers_a_question_for_yes_or_no() -> None:
    question = ask("Does KettleNet need labelled recordings?")
    verifier = Verifier(FakeEncoder())
    assert verifier.check("No, KettleNet does not need labelled recordings.", PAPERS, question).citations == (1,)
    assert verifier.check("Yes, KettleNet needs labelled recordings.", PAPERS, question).support == "unsupported"


def test_several_papers_may_support_a_sentence() -> None:
    twin = (4, KETTLE)
    checked = Verifier(FakeEncoder()).check("KettleNet outperforms SteamCast in noisy kitchens.", (*PAPERS, twin))
    assert checked.citations == (1, 4)


def test_chinese_stands_on_numbers_and_names() -> None:
    assert check("KettleNet 在六个公开水壶上达到 93.5% 的准确率。").citations == (1,)
    assert check("KettleNet 在六个公开水壶上达到 83.5% 的准确率。").support == "unsupported"
    assert check("GasPro 在六个公开水壶上达到 93.5% 的准确率。").support == "unsupported"
    assert check("水壶很好。").support == "unsupported"


def test_the_glossary_finds_the_sentence_behind_a_claim_in_chinese() -> None:
    abstract = "HeatLeaf is a new tool. We build HeatLeaf, which reads heartbeat signals. HeatLeaf is small."
    paper = replace(KETTLE, paper_id="leaf", title="HeatLeaf", abstract=abstract)
    checked = Verifier(FakeEncoder()).check("HeatLeaf 读取心跳信号。", ((1, paper),))
    assert [piece.span.text for piece in checked.evidence] == ["We build HeatLeaf, which reads heartbeat signals."]


def test_one_call_of_the_encoder_a_sentence() -> None:
    encoder = FakeEncoder()
    Verifier(encoder).check("KettleNet outperforms SteamCast in noisy kitchens.", PAPERS)
    assert len(encoder.calls) == 1


MUSIC = Paper(
    paper_id="music",
    title="Music on the ward",
    abstract=(
        "Ventilated cats experience stress. The purpose of this study was to explore the influence of music on stress "
        "in ventilated cats. Purring did not differ among groups."
    ),
)


def test_a_question_said_back_is_not_supported_by_the_sentence_that_only_asks_it() -> None:
    question = ask("Does music influence stress in ventilated cats?")
    checked = Verifier(FakeEncoder()).check("Yes, music influences stress in ventilated cats.", [(1, MUSIC)], question)
    assert checked.support == "unsupported"


def test_a_number_of_other_things_is_no_support() -> None:
    store = Paper("store", "KettleStore", "KettleStore contains 7 million kettles, yielding 234M kettle lids.")
    verifier = Verifier(FakeEncoder())
    assert verifier.check("KettleStore contains 7 million kettle lids.", [(1, store)]).support == "unsupported"
    assert verifier.check("KettleStore contains 7 million kettles.", [(1, store)]).support == "supported"
