"""What every Encoder keeps to, whatever is behind it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.models.embeddings import DeferredEncoder, Encoder, load_encoder, wrap
from rag.models.known import resolve
from rag.settings import load_settings
from tests.fakes import FakeEmbeddings, FakeEncoder

TEXTS = [
    "Graph tokens cut the memory of our models.",
    "We train on two data sets.",
    "Tokens.",
    "A paper with a model for graphs, and a model for tokens: both are trained with less memory.",
]


@pytest.fixture(scope="module")
def tiny(tiny_encoder_folder: Path) -> Encoder:
    home = tiny_encoder_folder
    return load_encoder(resolve(str(tiny_encoder_folder), home, "embedder"), load_settings(home, dtype="fp32"))


@pytest.fixture(params=["fake", "wrapped", "deferred", "sentence-transformers"])
def any_encoder(request: pytest.FixtureRequest) -> Encoder:
    if request.param == "fake":
        return FakeEncoder()
    if request.param == "wrapped":
        return wrap(FakeEmbeddings(), "plain", 128)
    if request.param == "deferred":
        return DeferredEncoder("later", "print", FakeEncoder)
    return request.getfixturevalue("tiny")


def test_says_what_it_is(any_encoder: Encoder) -> None:
    assert any_encoder.name
    assert any_encoder.fingerprint
    assert any_encoder.dimension > 1
    assert any_encoder.max_tokens > 1


def test_vectors_have_unit_length_and_the_stated_dimension(any_encoder: Encoder) -> None:
    vectors = any_encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), any_encoder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(any_encoder: Encoder) -> None:
    assert any_encoder.encode([]).shape == (0, any_encoder.dimension)
    vectors, spans = any_encoder.encode_with_spans([], [])
    assert vectors.shape == (0, any_encoder.dimension)
    assert spans == []


def test_vectors_do_not_depend_on_company_or_order(any_encoder: Encoder) -> None:
    together = any_encoder.encode(TEXTS)
    np.testing.assert_allclose(any_encoder.encode(TEXTS[::-1])[::-1], together, atol=1e-5)
    np.testing.assert_allclose(any_encoder.encode(TEXTS[1:2]), together[1:2], atol=1e-5)


def test_langchain_gets_the_same_vectors(any_encoder: Encoder) -> None:
    vectors = any_encoder.encode(TEXTS)
    np.testing.assert_allclose(any_encoder.embed_documents(TEXTS), vectors, atol=1e-5)
    np.testing.assert_allclose(any_encoder.embed_query(TEXTS[0]), vectors[0], atol=1e-5)


def test_spans_come_one_row_each_and_leave_the_text_vectors_alone(any_encoder: Encoder) -> None:
    spans = [[(0, 12), (13, 42)], [], [(0, 7)], [(0, 5)]]
    vectors, parts = any_encoder.encode_with_spans(TEXTS, spans)
    np.testing.assert_allclose(vectors, any_encoder.encode(TEXTS), atol=1e-5)
    assert [part.shape for part in parts] == [(len(wanted), any_encoder.dimension) for wanted in spans]
    for part in parts:
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1, atol=1e-5)
    assert not np.allclose(parts[0][0], parts[0][1])


def test_empty_text_has_a_vector(any_encoder: Encoder) -> None:
    np.testing.assert_allclose(np.linalg.norm(any_encoder.encode([""]), axis=1), 1, atol=1e-5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_token_offsets_lie_in_the_text_in_order(any_encoder: Encoder, text: str) -> None:
    offsets = any_encoder.token_offsets(text)
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert offsets == sorted(offsets)


def test_token_offsets_cover_more_than_the_encoder_reads(any_encoder: Encoder) -> None:
    text = "graph " * 500
    offsets = any_encoder.token_offsets(text)
    assert len(offsets) == 500
    assert text[slice(*offsets[-1])] == "graph"


def test_what_exceeds_max_tokens_is_not_read(any_encoder: Encoder) -> None:
    if any_encoder.name == "plain":
        pytest.skip("a wrapped model cuts texts as it likes")
    begin = "graph " * any_encoder.max_tokens
    vectors, parts = any_encoder.encode_with_spans(
        [begin + "memory", begin + "tokens"], [[(len(begin), len(begin) + 6)]] * 2
    )
    np.testing.assert_array_equal(vectors[0], vectors[1])
    assert not parts[0].any()
