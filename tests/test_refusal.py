from __future__ import annotations

from dataclasses import astuple, replace

import pytest

from rag.answering import refusal
from rag.answering.details import asked_for, untold
from rag.answering.evidence import select
from rag.answering.refusal import (
    Features,
    best_paper,
    decide,
    features,
    holds,
    is_refusal,
    missing_names,
    no_match,
    not_stated,
    relevance,
)
from rag.answering.refusal import untold as refusal_untold
from rag.types import AnswerSentence, Evidence, Filters, Paper, Question, Span
from tests.fakes_answers import GARDEN, KETTLE, PAPERS, FakeIndex, ask

NEAR = Features(0.7, 0.8, 0.8, 0.0, 0.0, 0.9, 0.4)
FAR = Features(0.1, 0.0, 0.0, 0.0, 1.0, 0.0, 0.4)


def seen(text: str) -> Features:
    question, index = ask(text), FakeIndex(PAPERS)
    ranked = index.ranked(question)
    return features(question, ranked, index)


def near(question: Question) -> bool:
    index = FakeIndex(PAPERS)
    ranked = index.ranked(question)
    return decide(question, ranked, select(question, ranked, index, 8), index).near


def test_relevance_is_a_probability_that_tells_near_from_far() -> None:
    assert relevance(FAR, "any") < 0.05 < 0.95 < relevance(NEAR, "any")


@pytest.mark.parametrize("better", ["cover", "rest", "anchored", "relevance", "sentence"])
def test_relevance_grows_with_what_speaks_for_it(better: str) -> None:
    middle = Features(*((a + b) / 2 for a, b in zip(astuple(NEAR), astuple(FAR), strict=True)))
    assert relevance(replace(middle, **{better: 1.0}), "any") > relevance(replace(middle, **{better: 0.0}), "any")


def test_relevance_falls_with_a_name_that_no_paper_has() -> None:
    middle = Features(*((a + b) / 2 for a, b in zip(astuple(NEAR), astuple(FAR), strict=True)))
    assert relevance(replace(middle, strange=1.0), "any") < relevance(replace(middle, strange=0.0), "any")


@pytest.mark.parametrize(
    "text", ["Does KettleNet outperform SteamCast?", "How much accuracy does KettleNet reach on public kettles?"]
)
def test_a_question_the_library_answers_goes_on(text: str) -> None:
    assert near(ask(text))


@pytest.mark.parametrize("text", ["Who won the football cup?", "How tall is Mount Everest?"])
def test_a_question_off_topic_is_refused(text: str) -> None:
    assert not near(ask(text))


@pytest.mark.parametrize(
    ("text", "refused_for"),
    [
        ("How does KettleNet do at chess?", "at chess"),
        ("What does KettleNet say about protein folding?", "about protein folding"),
        ("How does KettleNet do on public kettles?", None),  # its abstract has the words
        ("What does KettleNet do in practice?", None),  # asks for nothing in particular
        ("Does KettleNet outperform SteamCast?", None),
    ],
)
def test_what_a_named_paper_never_speaks_of_is_refused(
    text: str, refused_for: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal, "NEAR_ENOUGH", 0.6)  # the fake's vectors have few dimensions to be apart in
    question, index = ask(text), FakeIndex(PAPERS)
    ranked = index.ranked(question)
    verdict = decide(question, ranked, select(question, ranked, index, 8), index)
    assert verdict.near == (refused_for is None), verdict
    if refused_for is not None:
        assert f"says nothing that answers “{refused_for}”" in verdict.reason


def test_a_refusal_says_what_was_looked_for_and_what_is_missing() -> None:
    question = ask("Which valves does GasPro open?", filters=Filters(venue="ICKW", year_from=2023, year_to=2024))
    index = FakeIndex(PAPERS)
    verdict = decide(question, index.ranked(question), (), index)
    assert not verdict.near
    assert "Which valves does GasPro open?" in verdict.reason
    assert "ICKW, 2023 to 2024" in verdict.reason


def test_a_name_no_paper_has_is_strange() -> None:
    assert seen("How fast is GasPro with water?").strange == 1.0
    assert seen("How fast is KettleNet with water?").strange == 0.0
    assert missing_names(ask("GasPro and KettleNet"), [KETTLE, GARDEN]) == ["GasPro"]


def test_coverage_has_the_names_apart() -> None:
    by_name = seen("Does KettleNet juggle oranges?")
    assert by_name.anchored == 1.0
    assert by_name.relevance == 0.0
    assert by_name.rest == 0.0 < by_name.cover
    assert seen("Do kettles juggle oranges?").anchored == 0.0


def test_what_was_lost_in_translation_counts_as_lacking() -> None:
    index = FakeIndex(PAPERS)
    whole = ask("KettleNet kettles")
    shares = []
    for text in ("KettleNet 数据集", "KettleNet 数据集鑫淼"):
        question = replace(whole, standalone=text, language="zh")
        shares.append(features(question, index.ranked(question), index).cover)
    assert shares[1] == pytest.approx(shares[0] * 3 / 5)


def test_a_detail_that_is_not_told_is_refused_with_the_words_that_ask_for_it() -> None:
    question, index = ask("What batch size trains KettleNet?"), FakeIndex(PAPERS)
    ranked = index.ranked(question)
    verdict = decide(question, ranked, select(question, ranked, index, 8), index)
    assert not verdict.near
    assert "“batch size”" in verdict.reason


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("How many public kettles are used?", ("public", "kettl")),
        ("What is the price of KettleNet?", ("price",)),
        ("Does it boil?", ()),
    ],
)
def test_what_is_asked_for(text: str, wanted: tuple[str, ...]) -> None:
    assert asked_for(text) == wanted


def _written(text: str, support: str = "supported") -> AnswerSentence:
    piece = Evidence(1, "kettle", Span(0, len(text), text), 1.0)
    return AnswerSentence(text, (1,), support, (piece,))  # type: ignore[arg-type]


def test_an_answer_holds_when_something_is_supported_and_of_the_sort_asked_for() -> None:
    count = ask("How many kettles are there?")
    assert not holds(count, [])
    assert not holds(count, [_written("There are six kettles.", "unsupported")])
    assert not holds(count, [_written("There are kettles.")])
    assert holds(count, [_written("There are six kettles.")])
    assert holds(ask("Why boil?"), [_written("Water boils.")])


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I do not know the answer.",
        "Sorry, I cannot answer this from the evidence.",
        "The evidence does not mention the batch size.",
        "The paper doesn't explicitly state it.",
        "There is no information about cooking.",
        "The batch size used to train KettleNet was not specified in the evidence.",
        "The price is not stated.",
        "我不知道。",
        "证据中没有提到批量大小。",
    ],
)
def test_a_model_that_refuses_is_understood(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "KettleNet does not need labels.",
        "It knows no limits.",
        "Steam is not available to valves.",
        "The paper provides code.",
    ],
)
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_refusals_are_in_the_language_of_the_question() -> None:
    chinese = Question("有论文吗？", "有论文吗？", "any papers", language="zh")
    assert "有论文吗？" in no_match(chinese)
    assert "有论文吗？" in not_stated(chinese)
    assert "any kettles" in not_stated(ask("any kettles"))


def test_a_paper_says_nothing_of_what_no_paper_names() -> None:
    index = FakeIndex(PAPERS)
    for text, near_enough in (
        ("Does KettleNet outperform SteamCast?", True),
        ("Does KettleNet outperform GasPro?", False),
    ):
        question = ask(text)
        assert decide(question, index.ranked(question), (_evidence(),), index).near is near_enough


def test_a_paper_named_in_the_question_goes_before_one_with_more_of_its_words() -> None:
    other = replace(GARDEN, abstract="How many valves and how many public kettles a garden covers: none.")
    index = FakeIndex((KETTLE, other))
    question = ask("How many public kettles and how many valves does KettleNet cover?")
    assert best_paper(question, index.ranked(question), index) == KETTLE


@pytest.mark.parametrize("text", ["Is KettleNet better than GasPro?", "Does KettleNet beat GasPro?"])
def test_better_than_another_is_told_only_by_a_paper_that_has_both(text: str) -> None:
    other = replace(GARDEN, abstract=f"{GARDEN.abstract} GasPro heats them.")
    assert refusal_untold(ask(text), KETTLE, [KETTLE, other]) == "GasPro"
    assert refusal_untold(ask(text.replace("GasPro", "SteamCast")), KETTLE, [KETTLE, other]) is None


def test_a_maker_or_place_of_which_the_paper_never_speaks_is_untold() -> None:
    assert refusal_untold(ask("Was KettleNet tried on kettles from Osaka?"), KETTLE, [KETTLE]) == "Osaka"
    assert refusal_untold(ask("How Does KettleNet Open Valves Before Boiling?"), KETTLE, [KETTLE]) is None
    assert refusal_untold(ask("Does KettleNet need labelled Recordings?"), KETTLE, [KETTLE]) is None


def _evidence() -> Evidence:
    return Evidence(1, "kettle", Span(0, 4, "text"), 1.0)


def test_a_description_of_a_paper_asks_for_no_detail() -> None:
    described = ask("Which paper uses a batch size of four to boil water?", kind="which")
    assert refusal_untold(described, _paper("We boil."), []) is None
    assert refusal_untold(ask("What batch size boils water?"), _paper("We boil."), []) == "batch size"


def _paper(abstract: str, authors: tuple[str, ...] = ()) -> Paper:
    return replace(KETTLE, abstract=abstract, authors=authors)


@pytest.mark.parametrize(
    ("text", "abstract"),
    [
        ("Which batch size did they use?", "We train with large batches."),
        ("How many GPUs does it need?", "It needs little time."),
        ("Which random seed did they use?", "In this context we boil 12 kettles with hidden valves."),
        ("What is the licence of the corpus?", "The corpus is large."),
        ("Who paid for it?", "It was dear."),
        ("What AUC does it reach?", "Accuracy is 91%."),
        (
            "How many kettles were boiled?",
            "We boil kettles, and later that day, in a wholly different hall, 12 eggs.",
        ),
        ("Which dataset is it tested on?", "It is tested on a public dataset."),
        ("What does Table 3 show?", "The valves close."),
        ("Who wrote the paper on valves?", "Valves close."),
        ("At which hospital was the trial run?", "The clinical trial has 40 patients."),
    ],
)
def test_details_that_an_abstract_does_not_give(text: str, abstract: str) -> None:
    assert untold(text, _paper(abstract)) is not None


@pytest.mark.parametrize(
    ("text", "abstract"),
    [
        ("Which batch size did they use?", "A batch size of 32 works best."),
        ("How many GPUs does it need?", "It trains on eight GPUs."),
        ("What is the licence of the corpus?", "The corpus is under an open licence."),
        ("What AUC does it reach?", "The AUC is 0.91."),
        ("How many kettles were boiled?", "We boil 90 kettles."),
        ("By how much does it raise accuracy?", "We gain 3%."),
        ("Which dataset is it tested on?", "It is tested on the BoilBench dataset."),
        ("Which corpora is it tested on?", "It is tested on data sets such as Boilpedia."),
        ("Why does water boil?", "Water is heated."),
        ("What is the complexity of boiling?", "Boiling is hard."),
    ],
)
def test_details_that_an_abstract_gives_or_nobody_asks_for(text: str, abstract: str) -> None:
    assert untold(text, _paper(abstract)) is None


def test_authors_are_told_where_the_library_knows_them() -> None:
    assert untold("Who are the authors of the paper on valves?", _paper("Valves close.", ("Ada Byron",))) is None
