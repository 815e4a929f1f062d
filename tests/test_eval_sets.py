"""Question sets: the format, its errors, other shapes, selection, and references."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.foreign import load_set
from eval.resolve import resolve
from eval.sets import Item, read_set, select, write_set
from rag.errors import InputError
from rag.types import Filters, Turn
from tests.fakes_eval import FakeIndex, write_rows

GOOD = {"id": "a", "question": "What?"}


def test_reads_every_field_and_keeps_unknown_ones(tmp_path: Path) -> None:
    row = {
        "id": 7,
        "question": "What about it?",
        "kind": "fact",
        "history": [{"role": "user", "content": "Hi"}],
        "filters": {"venue": "ICLR", "year": "2021-2023"},
        "relevant": ["doi:1", "x"],
        "grades": [2, 1],
        "facts": [["a", "b"]],
        "forbidden": ["c"],
        "answerable": False,
        "reference_answer": "r",
        "label": "yes",
    }
    (item,) = read_set(write_rows(tmp_path / "s.jsonl", [row])).items
    assert item == Item(
        "7",
        "What about it?",
        "fact",
        (Turn("user", "Hi"),),
        Filters("ICLR", 2021, 2023),
        ("doi:1", "x"),
        (2, 1),
        (("a", "b"),),
        ("c",),
        False,
        "r",
        1,
        {"label": "yes"},
    )


def test_writing_and_reading_again_gives_the_same(tmp_path: Path) -> None:
    rows = [{**GOOD, "filters": {"year": 2020}}, {**GOOD, "id": "b", "facts": [["中文"]], "source": "x"}]
    first = read_set(write_rows(tmp_path / "s.jsonl", rows))
    write_set(tmp_path / "t.jsonl", first.items)
    second = read_set(tmp_path / "t.jsonl")
    assert second.items == first.items
    assert second.fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ('{"id": "a", "question": "q"}\n\n{"id": "b"}', 3, "'question' is missing"),
        ('{"question": "q"}', 1, "'id' is missing"),
        ('{"id": "a", "question": "q"}\n{"id": "a", "question": "p"}', 2, "id 'a' is already used in line 1"),
        ('{"id": "a", "question": "q"', 1, "is not JSON"),
        ("[1]", 1, "expected a JSON object"),
        ('{"id": "a", "question": "  "}', 1, "'question' is wrong"),
        ('{"id": "a", "question": "q", "facts": ["x"]}', 1, "'facts' is wrong"),
        ('{"id": "a", "question": "q", "facts": [[]]}', 1, "'facts' is wrong"),
        ('{"id": "a", "question": "q", "relevant": "x"}', 1, "'relevant' is wrong"),
        ('{"id": "a", "question": "q", "answerable": "no"}', 1, "'answerable' is wrong"),
        ('{"id": "a", "question": "q", "filters": {"venu": "x"}}', 1, "'filters' is wrong"),
        ('{"id": "a", "question": "q", "filters": {"year": "soon"}}', 1, "neither a year nor a range"),
        ('{"id": "a", "question": "q", "history": [{"role": "robot", "content": "x"}]}', 1, "'history' is wrong"),
        ('{"id": "a", "question": "q", "relevant": ["x"], "grades": [1, 2]}', 1, "'grades' has 2"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, lines: str, line: int, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl") as caught:
        load_set(path)
    assert caught.value.line == line
    assert said in str(caught.value)


def test_an_empty_set_a_missing_file_and_other_encodings_are_errors(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n \n")
    (tmp_path / "latin.jsonl").write_bytes('{"id": "é"}'.encode("latin-1"))
    for name, said in (("empty", "holds no question"), ("none", "cannot be read"), ("latin", "not UTF-8")):
        with pytest.raises(InputError, match=said):
            load_set(tmp_path / f"{name}.jsonl")


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert len(read_set(path).items) == 1


def test_select_takes_kinds_then_the_first_or_a_seeded_draw(tmp_path: Path) -> None:
    rows = [{"id": str(n), "question": "q", "kind": "ab"[n % 2]} for n in range(40)]
    questions = read_set(write_rows(tmp_path / "s.jsonl", rows))
    assert [item.id for item in select(questions, limit=2, kinds=["b"]).items] == ["1", "3"]
    drawn = [item.id for item in select(questions, limit=10, seed=3).items]
    assert drawn == [item.id for item in select(questions, limit=10, seed=3).items]
    assert drawn != [str(n) for n in range(10)]
    assert drawn == sorted(drawn, key=int)
    assert select(questions, limit=1).fingerprint == questions.fingerprint
    with pytest.raises(InputError, match="no questions of kind z; it has a, b"):
        select(questions, kinds=["z"])
    with pytest.raises(InputError, match="leaves no question"):
        select(questions, limit=0)


def test_litsearch(tmp_path: Path) -> None:
    row = {"query_set": "inline_acl", "query": "papers on moss?", "specificity": 1, "quality": 2, "corpusids": [12, 3]}
    (item,) = load_set(write_rows(tmp_path / "l.jsonl", [row])).items
    assert (item.id, item.question, item.relevant) == ("litsearch-1", "papers on moss?", ("12", "3"))


def test_scifact_claims_without_evidence_cannot_be_answered(tmp_path: Path) -> None:
    evidence = {"44": [{"sentences": [1], "label": "CONTRADICT"}]}
    rows = [
        {"id": 1, "claim": "Moss glows.", "evidence": evidence, "cited_doc_ids": [44, 45]},
        {"id": 2, "claim": "Salt sings.", "evidence": {}, "cited_doc_ids": [46]},
    ]
    first, second = load_set(write_rows(tmp_path / "claims.jsonl", rows)).items
    assert (first.relevant, first.answerable, first.extra["label"]) == (("44",), True, "CONTRADICT")
    assert (second.relevant, second.answerable) == ((), False)


def test_pubmedqa(tmp_path: Path) -> None:
    path = tmp_path / "ori.json"
    data = {"123": {"QUESTION": "Does it?", "LONG_ANSWER": "It does.", "final_decision": "yes", "CONTEXTS": []}}
    path.write_text(json.dumps(data, indent=1))
    (item,) = load_set(path).items
    assert (item.relevant, item.reference_answer, item.extra["label"]) == (("pmid:123",), "It does.", "yes")
    assert item.line == 2
    path.write_text('{"a": 1}')
    with pytest.raises(InputError, match="PubMedQA"):
        load_set(path)


def test_beir_uses_the_test_split_and_its_grades(tmp_path: Path) -> None:
    write_rows(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "moss?"}, {"_id": "q2", "text": "salt?"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td 1\t2\nq1\td2\t0\nq1\td3\t1\n")
    (tmp_path / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t1\n")
    (item,) = load_set(tmp_path).items
    assert (item.id, item.relevant, item.grades) == ("q1", ("d 1", "d3"), (2, 1))


@pytest.mark.parametrize(
    "topics",
    [
        "<top>\n<num> Number: 51\n<title> glowing\n moss\n</top>\n<top><num>52</num><title>salt</title></top>",
        "51\tglowing moss\n52\tsalt\n",
    ],
)
def test_trec_topics_and_qrels(tmp_path: Path, topics: str) -> None:
    (tmp_path / "topics.txt").write_text(topics)
    (tmp_path / "qrels.txt").write_text("51 0 d1 1\n51 0 d2 0\n52 0 d9 3\n")
    items = load_set(tmp_path).items
    assert [(item.id, item.question, item.relevant) for item in items] == [
        ("51", "glowing moss", ("d1",)),
        ("52", "salt", ("d9",)),
    ]
    (tmp_path / "qrels.txt").write_text("51 0 d1 much\n")
    with pytest.raises(InputError, match="line 1"):
        load_set(tmp_path)


def test_a_folder_of_no_known_shape_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="BEIR"):
        load_set(tmp_path)


def test_references_to_one_paper_count_once_and_unknown_ones_are_reported() -> None:
    item = Item("a", "q", relevant=("p1", "10.1/1", "nowhere"), grades=(1, 3, 1), line=9)
    golds, missing = resolve([item], FakeIndex())
    assert [(gold.paper_id, gold.grade) for gold in golds["a"]] == [("p1", 3), (None, 1)]
    assert [(m.question_id, m.line, m.reference) for m in missing] == [("a", 9, "nowhere")]


def test_the_sets_that_ship_are_valid() -> None:
    folder = Path(__file__).parent.parent / "eval" / "sets"
    for path in folder.glob("*.jsonl"):
        assert load_set(path).items
