"""Chunks: offsets exact, nothing of a sentence lost, the limit kept."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.ingest.chunking import plan_chunks, stored_chunks
from rag.texts.text import split_sentences
from rag.types import Paper, Span
from tests.fakes import FakeEncoder

SENTENCE = st.lists(
    st.sampled_from(["graph", "of", "x", "Sparse", "é", "知识", "α-β", "3.5", "e.g."]), min_size=1, max_size=40
).map(lambda words: " ".join(words) + ".")
ABSTRACT = st.lists(SENTENCE, min_size=0, max_size=8).map(" ".join)


def paper(abstract: str, title: str = "A Title of Five Words", titled: bool = True) -> Paper:
    return Paper("p1", title, abstract, titled)


@settings(max_examples=150, deadline=None)
@given(abstract=ABSTRACT, title=st.text(max_size=300), titled=st.booleans(), limit=st.integers(8, 60))
def test_every_character_of_a_sentence_is_in_exactly_one_chunk_within_the_limit(
    abstract: str, title: str, titled: bool, limit: int
) -> None:
    encoder = FakeEncoder(max_tokens=limit)
    sentences = split_sentences(abstract)
    plan = plan_chunks(paper(abstract, title, titled), sentences, encoder)
    covered = [0] * len(abstract)
    for ordinal, chunk in enumerate(plan.chunks):
        assert chunk.ordinal == ordinal
        assert abstract[chunk.span.start : chunk.span.end] == chunk.span.text
        assert chunk.embed_text.endswith(chunk.span.text)
        assert len(encoder.token_offsets(chunk.embed_text)) <= limit - 2
        for place in range(chunk.span.start, chunk.span.end):
            covered[place] += 1
    assert max(covered, default=0) <= 1
    for sentence in sentences:
        assert all(covered[sentence.start : sentence.end])


@settings(max_examples=100, deadline=None)
@given(abstract=ABSTRACT, limit=st.integers(8, 40))
def test_the_parts_of_a_sentence_are_the_sentence(abstract: str, limit: int) -> None:
    sentences = split_sentences(abstract)
    plan = plan_chunks(paper(abstract), sentences, FakeEncoder(max_tokens=limit))
    pieces = [""] * len(sentences)
    for chunk, parts in zip(plan.chunks, plan.parts, strict=True):
        for part in parts:
            pieces[part.sentence] += chunk.embed_text[part.start : part.end]
    assert pieces == [sentence.text for sentence in sentences]


def test_a_short_abstract_is_one_chunk_with_its_title() -> None:
    text = "We prune networks. It works."
    plan = plan_chunks(paper(text), split_sentences(text), FakeEncoder())
    (chunk,) = plan.chunks
    assert chunk.embed_text == "A Title of Five Words. We prune networks. It works."
    assert chunk.span == Span(0, len(text), text)


def test_chunks_are_even() -> None:
    # Six sentences of five tokens and a title of six: at most four sentences fit a chunk of 28 tokens.
    text = " ".join(["One two three four."] * 6)
    plan = plan_chunks(paper(text), split_sentences(text), FakeEncoder(max_tokens=30))
    assert [chunk.span.text.count("four") for chunk in plan.chunks] == [3, 3]


def test_a_label_is_not_put_before_the_text() -> None:
    text = "We prune networks."
    plan = plan_chunks(paper(text, "We prune networks", titled=False), split_sentences(text), FakeEncoder())
    assert plan.chunks[0].embed_text == text


def test_a_paper_without_abstract_is_embedded_by_its_title() -> None:
    plan = plan_chunks(paper(""), (), FakeEncoder())
    (chunk,) = plan.chunks
    assert (chunk.embed_text, chunk.span, plan.sentences) == ("A Title of Five Words", Span(0, 0, ""), ())


def test_a_title_longer_than_the_limit_leaves_room_for_the_text() -> None:
    text = "We prune networks."
    plan = plan_chunks(paper(text, "word " * 300), split_sentences(text), FakeEncoder(max_tokens=20))
    assert plan.chunks[0].embed_text == "word " * 8 + "word. " + text


def test_stored_chunks_are_those_that_were_planned() -> None:
    text = " ".join(["One two three four."] * 6)
    plan = plan_chunks(paper(text), split_sentences(text), FakeEncoder(max_tokens=30))
    spans = [(chunk.span.start, chunk.span.end) for chunk in plan.chunks]
    assert stored_chunks(paper(text), spans) == plan.chunks
