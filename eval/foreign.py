"""Question sets in the shapes that public benchmarks come in, recognised by their shape.

- LitSearch: JSON lines with `query` and `corpusids`. https://github.com/princeton-nlp/LitSearch
- SciFact: JSON lines with `claim`, `evidence`, `cited_doc_ids`. https://github.com/allenai/scifact
- PubMedQA: one JSON object, PubMed id -> `QUESTION`, `LONG_ANSWER`, `final_decision`. https://pubmedqa.github.io
- BEIR: a folder with `queries.jsonl` and `qrels/*.tsv`. https://github.com/beir-cellar/beir
- TREC: a folder with a topics file (SGML or `id<TAB>text`) and a qrels file. https://trec.nist.gov
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.sets import Item, QuestionSet, from_items, parse_item, read_json_lines
from rag.errors import InputError

_TOPIC = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_NUM = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<(?:title|query)>\s*(?:Topic:)?\s*([^<]+)", re.IGNORECASE)
_SPLITS = ("test", "dev", "train")


def load_set(path: Path) -> QuestionSet:
    """Reads a question set in this project's own format or one of the shapes above.

    Raises InputError, naming file and line, for anything that is none of them.
    """
    if path.is_dir():
        return from_items(path, _folder(path))
    if path.suffix.lower() == ".json":
        return from_items(path, _pubmedqa(path))
    return from_items(path, (_line(data, str(path), line) for line, data in read_json_lines(path)))


def _line(data: object, file: str, line: int) -> Item:
    if isinstance(data, dict) and "question" not in data:
        if {"query", "corpusids"} <= data.keys():
            return _litsearch(data, file, line)
        if "claim" in data:
            return _scifact(data, file, line)
    return parse_item(data, file, line)


def _litsearch(data: Mapping[str, Any], file: str, line: int) -> Item:
    row = {
        "id": data.get("query_id", f"litsearch-{line}"),
        "question": data["query"],
        "kind": "which",
        "relevant": [str(corpus_id) for corpus_id in data["corpusids"]],
        "source": "LitSearch",
    }
    return parse_item(row | {key: data[key] for key in ("query_set", "specificity") if key in data}, file, line)


def _scifact(data: Mapping[str, Any], file: str, line: int) -> Item:
    evidence = data.get("evidence") or {}
    labels = {part.get("label") for parts in evidence.values() for part in parts}
    # A claim without evidence is one the corpus neither supports nor refutes: the right answer is to say so.
    row = {
        "id": data.get("id", f"scifact-{line}"),
        "question": data["claim"],
        "kind": "claim",
        "relevant": list(evidence),
        "answerable": bool(evidence),
        "label": "/".join(sorted(label for label in labels if label)) or "NOT_ENOUGH_INFO",
        "source": "SciFact",
    }
    return parse_item(row, file, line)


def _pubmedqa(path: Path) -> Iterator[Item]:
    text = "\n".join(line for line in path.read_text(encoding="utf-8-sig").splitlines())
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON ({error.msg}).", file=str(path), line=error.lineno) from None
    if not isinstance(data, dict) or not all(isinstance(row, dict) and "QUESTION" in row for row in data.values()):
        message = "expected PubMedQA's shape (PubMed id -> QUESTION, LONG_ANSWER); other sets are JSON lines (.jsonl)."
        raise InputError(message, file=str(path))
    for pmid, row in data.items():
        item = {"id": f"pubmedqa-{pmid}", "question": row["QUESTION"], "kind": "pubmedqa", "relevant": [f"pmid:{pmid}"]}
        item |= {"reference_answer": row.get("LONG_ANSWER"), "source": "PubMedQA"}
        yield parse_item(item | {"label": row.get("final_decision")}, str(path), _line_of(text, f'"{pmid}"'))


def _line_of(text: str, needle: str) -> int:
    return text.count("\n", 0, max(text.find(needle), 0)) + 1


def _folder(path: Path) -> Iterator[Item]:
    queries = path / "queries.jsonl"
    if queries.is_file():
        judged = next(
            (path / "qrels" / f"{split}.tsv" for split in _SPLITS if (path / "qrels" / f"{split}.tsv").is_file()), None
        )
        if judged is None:
            raise InputError("has queries.jsonl but no qrels/test.tsv, dev.tsv or train.tsv.", file=str(path))
        rows = (_beir_query(data, queries, line) for line, data in read_json_lines(queries))
        return _judged(rows, _qrels(judged), queries, "BEIR")
    topics = _only(path, "topics")
    return _judged(_topics(topics), _qrels(_only(path, "qrels")), topics, "TREC")


def _only(path: Path, word: str) -> Path:
    found = sorted(entry for entry in path.iterdir() if entry.is_file() and word in entry.name.lower())
    if len(found) != 1:
        names = ", ".join(entry.name for entry in found) or "none"
        message = f"expected queries.jsonl and qrels/ (BEIR), or a topics and a qrels file (TREC); {word}: {names}."
        raise InputError(message, file=str(path))
    return found[0]


def _beir_query(data: object, path: Path, line: int) -> tuple[str, str, int]:
    if not isinstance(data, dict) or not {"_id", "text"} <= data.keys():
        raise InputError("expected an object with _id and text.", file=str(path), line=line)
    return str(data["_id"]), str(data["text"]), line


def _topics(path: Path) -> Iterator[tuple[str, str, int]]:
    text = path.read_text(encoding="utf-8-sig")
    if "<top>" in text.lower():
        for match in _TOPIC.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            number, title = _NUM.search(match[1]), _TITLE.search(match[1])
            if number is None or title is None:
                raise InputError("topic without <num> or <title>.", file=str(path), line=line)
            yield number[1], " ".join(title[1].split()), line
        return
    for line, row in enumerate(text.splitlines(), start=1):
        if row.strip():
            number_text, tab, title_text = row.partition("\t")
            if not tab:
                raise InputError("expected a topic number, a tab and the question.", file=str(path), line=line)
            yield number_text.strip(), title_text.strip(), line


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    """Question id -> paper id -> grade; rows without relevance are left out."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    tabbed = path.suffix.lower() == ".tsv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter="\t") if tabbed else (line.split() for line in file)
        for line, row in enumerate(rows, start=1):
            if not row or (line == 1 and row[-1] in ("score", "relevance")):
                continue
            try:
                question, paper, grade = (
                    (row[0], row[2], int(row[3])) if len(row) == 4 else (row[0], row[1], int(row[2]))
                )
            except (IndexError, ValueError):
                message = "expected question, paper and grade (TREC: with a 0 between question and paper)."
                raise InputError(message, file=str(path), line=line) from None
            if grade > 0:
                judged[question][paper] = grade
    return judged


def _judged(
    queries: Iterator[tuple[str, str, int]], judged: Mapping[str, Mapping[str, int]], path: Path, source: str
) -> Iterator[Item]:
    """Items for the queries that have judgements: BEIR's query file holds those of all splits."""
    for identifier, text, line in queries:
        if grades := judged.get(identifier):
            row = {"id": identifier, "question": text, "kind": "search", "source": source}
            yield parse_item(row | {"relevant": list(grades), "grades": list(grades.values())}, str(path), line)
