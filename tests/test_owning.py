"""Whose name it is."""

import pytest

from rag.search.owning import called, names_asked, owned, owners, owns
from rag.types import Paper


def paper(title: str, abstract: str = "Nothing of note.") -> Paper:
    return Paper("p", title, abstract)


@pytest.mark.parametrize(
    ("title", "abstract", "name"),
    [
        ("OwlNet: Seeing at Night", "", "OwlNet"),
        ("Optimal Owl Watching (OOW)", "", "OOW"),
        ("Owl Tracking in Forests", "", "OTF"),
        ("Seeing at Night", "We propose OwlNet, which sees.", "OwlNet"),
        ("Seeing at Night", "This paper introduces a new model of night, OwlNet.", "OwlNet"),
        ("Birds Are Few-Shot Hunters", "OwlNet-3 is a model with two eyes.", "OwlNet-3"),
    ],
)
def test_a_paper_owns_the_name_it_brings(title: str, abstract: str, name: str):
    assert owns(paper(title, abstract), name)


@pytest.mark.parametrize(
    ("title", "abstract", "name"),
    [
        ("RoboOwlNet: A Sturdier OwlNet", "RoboOwlNet trains OwlNet longer.", "OwlNet"),
        ("Sentence-OwlNet: Birds in a Row", "We compare with OwlNet.", "OwlNet"),
        ("Seeing at Night", "InstructOwl is OwlNet-3 fine-tuned.", "OwlNet-3"),
        ("A Study", "We evaluate on OwlNet. We propose a measure.", "OwlNet"),
    ],
)
def test_a_paper_that_only_speaks_of_it_does_not(title: str, abstract: str, name: str):
    assert not owns(paper(title, abstract), name)


def test_only_certain_names_of_a_question_count():
    assert names_asked("How does OwlNet compare with GPT-3 in Paris?") == ("OwlNet", "GPT-3")
    assert names_asked("how deep is the lake") == ()


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("OwlNet: Seeing at Night", "How does OwlNet see, and Other?"),
        ("Heron: A Patient Hunter", "What is Heron good at?"),
        ("Heron: A Patient Hunter", "what is heron"),
        ("Heron: A Patient Hunter", "Tell me about heron's diet"),
        ("Great Owl Kingdoms", "How do GOKs work?"),
        ("The Owl Sees You", "What does the owl sees you propose?"),
    ],
)
def test_a_question_says_a_papers_name(title: str, text: str):
    assert owned(paper(title), text)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("OwlNet: Seeing at Night", "How do owls see?"),
        ("Heron: A Patient Hunter", "Where does a heron hunt?"),
        ("Heron: A Patient Hunter", "What is Heron-2 good at?"),
        ("Heron: A Patient Hunter", "What are Herons good at?"),
        ("A Patient Hunter of the Lake: Heron", "What is a patient hunter?"),
        ("Owls", "What are Owls?"),
    ],
)
def test_a_question_does_not_say_a_papers_name(title: str, text: str):
    assert not called(paper(title), text)


def test_an_abstract_that_begins_with_what_a_name_does_is_its_own():
    assert owns(paper("Seeing at Night", "OwlNet learns to see."), "OwlNet")
    assert not owns(paper("Seeing at Night", "OwlNet has become a habit."), "OwlNet")


def test_a_question_about_few_papers_has_owners_and_a_description_none():
    owls = [paper(f"OwlNet: Part {number}") for number in range(4)]
    other = paper("Herons")
    assert owners([other, *owls[:3]], "How does OwlNet see?") == [False, True, True, True]
    assert owners([other, *owls], "How does OwlNet see?") == [False] * 5
    described = (
        "A study of night birds that compares wing shapes, feathers, claws and hearing with OwlNet over seven winters"
    )
    assert owners([owls[0]], described) == [False]
