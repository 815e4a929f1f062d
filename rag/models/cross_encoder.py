"""A cross-encoder, where the user has one: it reads question and paper together and orders the first papers anew.

Any folder that sentence-transformers' CrossEncoder saved, weights as safetensors. None is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import ModelError
from rag.types import Paper

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

DEPTH = 30  # papers looked at
_MOST_TOKENS = 512


class Reranker:
    """Scores papers for a question; the model is loaded when it is first asked. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the model. Raises ModelError where it has none."""
        if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
            raise ModelError(
                f"{folder} holds no cross-encoder: expected config.json and weights as safetensors; "
                "set `reranker` to the folder of one, or to nothing."
            )
        self._folder = folder
        self._model: CrossEncoder | None = None
        self._lock = threading.Lock()

    def scores(self, question: str, papers: Sequence[Paper]) -> list[float]:
        """One score a paper, higher is nearer; their scale is the model's own."""
        pairs = [(question, f"{paper.title}. {paper.abstract}") for paper in papers]
        if not pairs:
            return []
        with self._lock:
            found = self._loaded().predict(pairs, batch_size=8, show_progress_bar=False)
        return [float(score) for score in found]

    def _loaded(self) -> CrossEncoder:
        if self._model is None:
            from sentence_transformers import CrossEncoder

            self._model = CrossEncoder(
                str(self._folder),
                max_length=_MOST_TOKENS,
                num_labels=1,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        return self._model
