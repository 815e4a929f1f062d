from __future__ import annotations

import pytest

from rag.search.listing import find, grouping, judged, render, sentences, topics
from rag.types import Filters, Match, Paper, Question, Span
from tests.fakes_answers import PAPERS, FakeIndex, ask


def matching(text: str, **fields: object) -> tuple[Match, ...]:
    return find(ask(text, kind="list", **fields), FakeIndex(PAPERS), None)  # type: ignore[arg-type]


def ids(text: str, **fields: object) -> set[str]:
    return {match.paper.paper_id for match in matching(text, **fields)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Which papers are about reinforcement learning?", {"garden", "chess"}),
        ("List all papers on kettles.", {"kettle"}),
        ("How many papers deal with chess endings or photographs of bread?", {"chess", "bread"}),
        ("Which papers are about quantum computing?", set()),
    ],
)
def test_membership(text: str, wanted: set[str]) -> None:
    assert ids(text) == wanted


def test_filters_restrict() -> None:
    assert ids("Which papers are about reinforcement learning?", filters=Filters(year_from=2024)) == {"garden"}
    assert ids("Which papers are about reinforcement learning?", filters=Filters(venue="GAMES")) == {"chess"}


def test_without_a_topic_all_that_pass_the_filters_belong() -> None:
    assert ids("Which papers are there?", filters=Filters(venue="ICKW")) == {"kettle", "garden"}


def test_matches_come_most_relevant_first_with_an_exact_sentence() -> None:
    found = matching("Which papers are about reinforcement learning?")
    assert [match.relevance for match in found] == sorted((match.relevance for match in found), reverse=True)
    for match in found:
        assert match.paper.abstract[match.quote.start : match.quote.end] == match.quote.text
        assert "reinforcement learning" in match.quote.text


def test_an_acronym_stands_for_the_topic() -> None:
    paper = Paper("rl", "Agents", "We train agents with RL on small boards. RL is slow here.")
    index = FakeIndex([*PAPERS, paper])
    question = ask("Which papers use reinforcement learning?")
    seen = {found.paper_id: features for found, features, _ in judged(question, topics(question, index), index)}  # type: ignore[arg-type]
    assert (seen["rl"].cover, seen["rl"].together, seen["rl"].ordered) == (1.0, 1.0, 1.0)
    assert seen["bread"].cover == 0.0


def test_an_acronym_of_a_part_counts_for_that_part_and_only_in_capitals() -> None:
    papers = [
        Paper("rl", "Agents", "We train agents with offline RL on boards."),
        Paper("word", "Agents", "We rl agents offline."),
    ]
    index = FakeIndex([*PAPERS, *papers])
    question = ask("Which papers are on offline reinforcement learning?")
    seen = {found.paper_id: features for found, features, _ in judged(question, topics(question, index), index)}  # type: ignore[arg-type]
    assert seen["rl"].cover == 1.0
    assert seen["word"].cover < 1.0


def test_words_in_an_address_are_words_of_the_sentence() -> None:
    paper = Paper("linked", "Agents", "Our code is at https://boilhub.com/kettles/code.")
    index = FakeIndex([*PAPERS, paper])
    question = ask("Which papers have code on boilhub?")
    seen = {found.paper_id: features for found, features, _ in judged(question, topics(question, index), index)}  # type: ignore[arg-type]
    assert seen["linked"].together == 1.0


@pytest.mark.parametrize(
    ("abstract", "counts"),
    [
        ("We introduce BoilBench, a large dataset of kettles.", True),
        ("We collect and annotate a dataset.", True),
        ("We propose a method and test it on a dataset.", False),
        ("We use a dataset.", False),
    ],
)
def test_only_what_is_made_counts_as_a_contribution(abstract: str, counts: bool) -> None:
    index = FakeIndex([*PAPERS, Paper("new", "Boiling", abstract)])
    question = ask("Which papers introduce a new dataset?")
    seen = {found.paper_id: features for found, features, _ in judged(question, topics(question, index), index)}  # type: ignore[arg-type]
    assert (seen["new"].together == 1.0) is counts


def test_an_adjective_before_or_belongs_to_the_noun_after_it() -> None:
    index = FakeIndex(PAPERS)
    found = topics(ask("Which papers are on representational or feature collapse?"), index)  # type: ignore[arg-type]
    assert [topic.order for topic in found] == [("represent", "collaps"), ("featur", "collaps")]


def test_topics_drop_the_request_and_split_alternatives() -> None:
    found = topics(ask("Please list the papers that deal with garden watering or bread."), FakeIndex(PAPERS))
    assert [topic.order for topic in found] == [("garden", "water"), ("bread",)]


def test_each_sentence_cites_its_place() -> None:
    found = matching("Which papers are about reinforcement learning?")
    listed = sentences(ask("x"), found)
    assert [sentence.citations for sentence in listed] == [(n,) for n in range(1, len(found) + 1)]
    assert all(sentence.evidence[0].span == match.quote for sentence, match in zip(listed, found, strict=True))


def test_the_text_gives_the_count_and_each_paper_with_its_citation() -> None:
    question = ask("Which papers are about reinforcement learning?")
    found = matching(question.text)
    text = render(question, found, sentences(question, found))
    assert text.startswith("2 papers in the library match.")
    assert text.count("\n- ") == 2
    assert "[1]" in text
    assert "[2]" in text


def test_groups_by_year_newest_first() -> None:
    question = ask("Which papers are about reinforcement learning, by year?")
    found = matching(question.text)
    text = render(question, found, sentences(question, found))
    assert text.splitlines()[2] == "2024: 1, 2023: 1"
    assert text.index("**2024** (1)") < text.index("**2023** (1)")
    assert grouping("papers per venue") == "venue"
    assert grouping("papers by a baker") is None


def test_a_long_list_is_cut_in_the_text_and_says_so() -> None:
    many = tuple(Match(Paper(str(n), f"T{n}", "A b."), 0.9, Span(0, 4, "A b.")) for n in range(105))
    question = ask("x")
    assert render(question, many, sentences(question, many)).endswith("… and 5 more.")


def test_groups_that_are_cut_are_counted_whole() -> None:
    many = tuple(
        Match(Paper(str(n), f"T{n}", "A b.", year=2024 - n // 90), 0.9, Span(0, 4, "A b.")) for n in range(200)
    )
    question = ask("How many papers are there per year?")
    text = render(question, many, sentences(question, many))
    assert text.splitlines()[2] == "2024: 90, 2023: 90, 2022: 20"
    assert "**2023** (90)" in text
    assert "**2022**" not in text
    assert text.endswith("… and 100 more.")


def test_one_paper_is_counted_in_the_singular_and_in_chinese() -> None:
    one = (Match(PAPERS[0], 0.9, Span(0, 1, "B")),)
    assert render(ask("x"), one, sentences(ask("x"), one)).startswith("1 paper in the library matches.")
    chinese = Question("x", "x", "x", language="zh")
    assert render(chinese, one, sentences(chinese, one)).startswith("文库中有 1 篇论文符合。")
