"""The cross-encoder that a user may set: it orders the first papers anew, and a folder without one is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import ModelError
from rag.ingest.prepare import prepare
from rag.models import cross_encoder
from rag.models.cross_encoder import Reranker
from rag.search.retrieve import Searcher
from rag.settings import load_settings
from rag.store.index import Index, PreparedPaper
from rag.types import Paper
from tests.fakes import FakeEncoder

PAPERS = tuple(Paper(f"p{n}", f"Kettle {n}", f"Kettle number {n} boils water.") for n in range(4))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests import tiny

    return tiny.cross_encoder_folder(tmp_path_factory.mktemp("cross") / "model")


def test_a_score_comes_from_question_and_paper_together(folder: Path) -> None:
    reranker = Reranker(folder)
    first = reranker.scores("Which kettle?", PAPERS[:2])
    assert len(first) == 2
    assert reranker.scores("Which kettle?", PAPERS[:1])[0] == pytest.approx(first[0], abs=1e-5)
    assert reranker.scores("When does it rain in May?", PAPERS[:1])[0] != pytest.approx(first[0], abs=1e-5)
    assert reranker.scores("Which kettle?", ()) == []


def test_a_folder_without_a_model_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no cross-encoder"):
        Reranker(tmp_path)


def test_the_search_takes_its_order(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = FakeEncoder(dimension=64, max_tokens=64)
    plain = load_settings(tmp_path)
    with Index.open(plain, encoder, write=True) as index:
        index.put([PreparedPaper(p, v) for p, v in zip(PAPERS, prepare(PAPERS, encoder), strict=True)])
        before = Searcher(index, plain).search("kettle number 2", 4)
        searcher = Searcher(index, load_settings(tmp_path, reranker=str(folder)))
        asked: list[str] = []

        def backwards(_: Reranker, question: str, papers: list[Paper]) -> list[float]:
            asked.append(question)
            return [float(place) for place, _ in enumerate(papers)]

        monkeypatch.setattr(cross_encoder.Reranker, "scores", backwards)
        after = searcher.search("kettle number 2", 4)
        assert [hit.paper.paper_id for hit in after] == [hit.paper.paper_id for hit in reversed(before)]
        assert [hit.rank for hit in after] == [1, 2, 3, 4]
        assert searcher.search_many(["kettle number 2"], 4)[0] == after
        assert asked == ["kettle number 2"] * 2
