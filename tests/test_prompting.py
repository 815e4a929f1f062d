"""Evidence made into a prompt: numbered by paper, within the budget, nothing in it posing as a citation."""

from rag.answering.prompting import build
from rag.types import Evidence, Paper, Question, Span

PAPERS = {
    "a": Paper("a", "Paper A", "One. Two.", venue="ICLR", year=2024),
    "b": Paper("b", "Paper [9] B", "Three [12] says."),
}
ASKED = Question("What?", "What?", "What?")


def piece(n: int, paper: str, start: int, text: str) -> Evidence:
    return Evidence(n, paper, Span(start, start + len(text), text), 1.0)


def words(text: str) -> int:
    return len(text.split())


def test_papers_are_numbered_without_a_gap_and_sentences_in_reading_order():
    evidence = [piece(3, "b", 0, "Three [12] says."), piece(1, "a", 5, "Two."), piece(1, "a", 0, "One.")]
    prompt = build(ASKED, evidence, PAPERS, budget=100, count_tokens=words)
    assert "[1] Paper (9) B\n- Three (12) says.\n[2] Paper A (ICLR 2024)\n- One.\n- Two.\n" in prompt.user
    assert prompt.numbers == {1: 3, 2: 1}
    assert prompt.papers == 2


def test_what_does_not_fit_is_left_out_from_the_end_and_recorded():
    evidence = [piece(1, "a", 0, "One."), piece(1, "a", 5, "Two."), piece(2, "b", 0, "Three.")]
    prompt = build(ASKED, evidence, PAPERS, budget=10, count_tokens=words)
    assert [each.span.text for each in prompt.evidence] == ["One.", "Two."]
    assert [each.span.text for each in prompt.left_out] == ["Three."]


def test_the_first_sentence_always_stays():
    prompt = build(ASKED, [piece(1, "a", 0, "One.")], PAPERS, budget=1, count_tokens=words)
    assert [each.span.text for each in prompt.evidence] == ["One."]


def test_the_answer_is_asked_for_in_the_language_of_the_question():
    asked = Question("多少？", "多少？", "how many", language="zh")
    assert "in Chinese" in build(asked, [piece(1, "a", 0, "One.")], PAPERS, budget=9, count_tokens=words).system
