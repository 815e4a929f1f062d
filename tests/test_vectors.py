"""Vectors side by side: which belong to which paper, in the order asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rag.store.vectors import side_by_side
from tests.library import fill, opened, paper


def test_a_table_holds_what_each_paper_has_in_the_order_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        rows = fill(index, [paper(1), paper(2, abstract=""), paper(3, abstract="One sentence only.")])
        alone = index.vectors(rows)
        asked = [rows[2], 999, rows[0], rows[1]]
        table = index.vector_table(asked)
        assert table.rows == (rows[2], rows[0], rows[1])
        assert table.chunk_counts.tolist() == [1, 1, 1]
        assert table.sentence_counts.tolist() == [1, 3, 0]
        np.testing.assert_array_equal(table.titles, np.stack([alone[row].title for row in table.rows]))
        np.testing.assert_array_equal(table.chunks, np.concatenate([alone[row].chunks for row in table.rows]))
        np.testing.assert_array_equal(table.sentences, np.concatenate([alone[row].sentences for row in table.rows]))
        assert [table.spans(place) for place in range(3)] == [alone[row].spans for row in table.rows]


def test_no_papers_make_an_empty_table() -> None:
    table = side_by_side([1, 2], {})
    assert (table.rows, table.chunks.shape[0], table.sentences.shape[0]) == ((), 0, 0)
