from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.errors import ModelError
from rag.models import embeddings
from rag.models.embeddings import (
    DeferredEncoder,
    Encoder,
    SentenceTransformerEncoder,
    WrappedEncoder,
    load_encoder,
    tokens_within,
    unit,
    wrap,
)
from rag.models.known import ResolvedModel, resolve
from rag.settings import load_settings
from tests.fakes import FakeEmbeddings, FakeEncoder


@pytest.fixture(scope="module")
def tiny(tiny_encoder_folder: Path) -> SentenceTransformerEncoder:
    home = tiny_encoder_folder
    found = load_encoder(resolve(str(home), home, "embedder"), load_settings(home, dtype="fp32"))
    assert isinstance(found, SentenceTransformerEncoder)
    return found


def test_unit_scales_rows_and_leaves_zeros() -> None:
    found = unit(np.array([[3, 4], [0, 0]], np.float32))
    np.testing.assert_allclose(found, [[3 / 5, 4 / 5], [0, 0]], rtol=1e-6)


def test_tokens_within_takes_whole_tokens_and_no_special_ones() -> None:
    offsets = [(0, 0), (0, 3), (4, 7), (7, 8), (0, 0)]
    assert tokens_within(offsets, 0, 7).tolist() == [False, True, True, False, False]
    assert tokens_within(offsets, 1, 8).tolist() == [False, False, True, True, False]


def test_batches_are_of_like_length_within_the_budget() -> None:
    # Longest first: 40 alone fills 64; then 30 with 20 is 2 x 30; then the rest.
    assert embeddings._batches([10, 40, 20, 30, 5], 64) == [[1], [3, 2], [0, 4]]


def test_a_text_over_the_budget_goes_alone() -> None:
    assert embeddings._batches([100, 3], 10) == [[0], [1]]


def test_vectors_are_sentence_transformers_own(tiny: SentenceTransformerEncoder) -> None:
    texts = ["graph tokens", "we train models with less memory in our data sets", "a"]
    np.testing.assert_allclose(tiny.encode(texts), tiny._model.encode(texts), atol=1e-5)


def test_a_span_of_all_tokens_but_the_special_ones_is_their_mean(tiny: SentenceTransformerEncoder) -> None:
    text = "graph tokens cut memory"
    by_hand = tiny._model.encode([text], output_value="token_embeddings")[0].cpu().numpy()[1:-1].mean(axis=0)
    _, parts = tiny.encode_with_spans([text], [[(0, len(text))]])
    np.testing.assert_allclose(parts[0][0], by_hand / np.linalg.norm(by_hand), atol=1e-5)


def test_max_tokens_is_the_models_own_limit(tiny: SentenceTransformerEncoder) -> None:
    assert tiny.max_tokens == 32


def test_batches_do_not_change_vectors(tiny: SentenceTransformerEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{'graph ' * (place % 7)}token" for place in range(20)]
    together = tiny.encode(texts)
    monkeypatch.setattr(tiny, "_budget", 16)
    np.testing.assert_allclose(tiny.encode(texts), together, atol=1e-5)


def test_threads_do_not_disturb_each_other(tiny: SentenceTransformerEncoder) -> None:
    texts = ["graph " * 60, "token memory", "we train"]
    expected = tiny.encode(texts)
    wrong: list[int] = []

    def work(number: int) -> None:
        same = [
            len(tiny.token_offsets(texts[0])) == 60 and np.allclose(tiny.encode(texts), expected, atol=1e-5)
            for _ in range(10)
        ]
        if not all(same):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_question_takes_one_thread_and_a_batch_takes_all(tiny: SentenceTransformerEncoder) -> None:
    import torch

    seen: list[int] = []
    within = tiny._model[0].register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        tiny.encode(["kites"])
        tiny.encode(["kites pull boats upstream"] * 200)
        assert seen == [1, 2]
        assert torch.get_num_threads() == 2
    finally:
        within.remove()
        torch.set_num_threads(before)


def test_wrap_leaves_an_encoder_as_it_is(encoder: FakeEncoder) -> None:
    assert wrap(encoder, "other", 3) is encoder


def test_a_wrapped_model_embeds_spans_as_texts() -> None:
    plain = FakeEmbeddings()
    wrapped = wrap(plain, "plain", 128)
    assert isinstance(wrapped, WrappedEncoder)
    _, parts = wrapped.encode_with_spans(["one two", "three"], [[(4, 7)], []])
    assert plain.calls[-1] == ("one two", "three", "two")
    np.testing.assert_allclose(parts[0], wrapped.encode(["two"]))
    assert parts[1].shape == (0, wrapped.dimension)


def test_an_address_is_no_embedder(home: Path) -> None:
    with pytest.raises(ModelError, match="no local model"):
        load_encoder(ResolvedModel("far", "f", url="http://127.0.0.1:1/v1"), load_settings(home))


def test_a_folder_of_another_kind_is_refused_in_a_sentence(home: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"holds no usable sentence-transformers model"):
        load_encoder(ResolvedModel("odd", "f", tmp_path), load_settings(home))


@pytest.mark.model
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_the_default_embedder_gives_sentence_transformers_vectors(
    home: Path, pulled: Callable[[str], Path], dtype: str
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = pulled("all-minilm-l6-v2")
    encoder: Encoder = load_encoder(ResolvedModel("minilm", "f", folder), load_settings(home, dtype=dtype))
    assert (encoder.dimension, encoder.max_tokens) == (384, 256)
    texts = ["Sparse flow matching halves the steps of sampling.", "Graph tokens. " * 200, "memory"]
    expected = SentenceTransformer(str(folder), local_files_only=True).encode(texts)
    cosines = (encoder.encode(texts) * expected).sum(axis=1)
    assert cosines.min() > (0.999 if dtype == "bf16" else 0.99999)


def test_a_deferred_encoder_loads_once_and_only_when_wanted() -> None:
    made: list[FakeEncoder] = []

    def load() -> Encoder:
        made.append(FakeEncoder(dimension=32, max_tokens=16))
        return made[-1]

    deferred = DeferredEncoder("fake-encoder", "print", load)
    assert (deferred.name, deferred.fingerprint, deferred.loaded, made) == ("fake-encoder", "print", False, [])
    assert (deferred.dimension, deferred.max_tokens, deferred.loaded) == (32, 16, True)
    np.testing.assert_array_equal(deferred.encode(["graph tokens"]), FakeEncoder(dimension=32).encode(["graph tokens"]))
    assert deferred.token_offsets("graph tokens") == [(0, 5), (6, 12)]
    assert len(made) == 1
    with pytest.raises(AttributeError, match="colour"):
        deferred.colour  # noqa: B018 - the look-up is what is tried


def test_a_deferred_encoder_that_cannot_be_loaded_says_so_each_time() -> None:
    def load() -> Encoder:
        raise ModelError("no model here")

    deferred = DeferredEncoder("odd", "print", load)
    for _ in range(2):
        with pytest.raises(ModelError, match="no model here"):
            deferred.encode(["graph"])
    assert not deferred.loaded
