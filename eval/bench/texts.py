"""Papers and questions to measure with: real ones where they are at hand, else made of the sample library's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson

from eval.bench.machine import ROOT
from eval.sets import Item, read_set
from rag.readers import read
from rag.texts.sentences import split_sentences
from rag.types import Paper, Record

DATA = ROOT.parent / "shared" / "data"
CORPUS = DATA / "corpus" / "ml_papers_40k.jsonl.gz"
SEEDS = DATA / "seeds"
SAMPLE = ROOT / "rag" / "sample" / "landmarks.jsonl"
SETS = ROOT / "eval" / "sets"
SENTENCES = (4, 9)  # of a made abstract, least and most
SEARCHES = tuple(DATA / "questions" / f"{name}_dev.jsonl" for name in ("litsearch", "tldr"))
OWN_SEARCHES = tuple(SETS / f"{name}.jsonl" for name in ("seeds_topics", "seeds_facts", "seeds_lists", "seeds_mixed"))


@dataclass(frozen=True, slots=True)
class Text:
    """What the pipelines are given of a paper; `title` is empty where it has none."""

    paper_id: str
    title: str
    abstract: str

    @property
    def whole(self) -> str:
        """Title and abstract in one line: a title in a line of its own the splitter makes a piece of its own."""
        return f"{self.title}. {self.abstract}" if self.title else self.abstract


def papers_of(source: Path | None, count: int, skip: int = 0) -> list[Text]:
    """`count` papers with title and abstract from a file that the program reads; made ones where `source` is None."""
    if source is None:
        return made(count, skip)
    records = (found for found in read(str(source)) if isinstance(found, Record) and found.title and found.abstract)
    return [
        Text(f"bench-{skip + number}", record.title or "", record.abstract)
        for number, record in enumerate(islice(records, skip, skip + count))
    ]


def made(count: int, skip: int = 0) -> list[Text]:
    """Papers of sentences drawn from the sample library's abstracts; the same number gives the same paper."""
    known = [orjson.loads(line) for line in SAMPLE.read_bytes().splitlines() if line.strip()]
    sentences = [span.text for paper in known for span in split_sentences(paper["abstract"])]
    titles = [paper["title"] for paper in known]
    found = []
    for number in range(skip, skip + count):
        draw = random.Random(number)
        title = f"{draw.choice(titles)}, revisited {number}"
        chosen = draw.sample(sentences, draw.randint(*SENTENCES))
        found.append(Text(f"bench-{number}", title, " ".join(chosen)))
    return found


def write_papers(path: Path, papers: Sequence[Text]) -> Path:
    """Papers as JSON lines, which both pipelines read."""
    rows = ({"id": paper.paper_id, "title": paper.title, "abstract": paper.abstract} for paper in papers)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def text_of(paper: Paper) -> Text:
    """What the tutorial pipeline gets of a paper of the library."""
    return Text(paper.paper_id, paper.title if paper.titled else "", paper.abstract)


def fact_questions(count: int, *, seeds: bool) -> list[Item]:
    """Questions with facts to be stated, spread over their set: about the seeds, or about the sample library."""
    items = [
        item
        for item in read_set(SETS / ("seeds_facts.jsonl" if seeds else "sample.jsonl")).items
        if item.kind == "fact" and item.facts and item.answerable and not item.history
    ]
    step = max(1, len(items) // count)
    return items[::step][:count]


def search_questions(count: int) -> list[str]:
    """At most `count` questions that look for papers, shuffled: people's own where they are at hand, else those of the
    sets of this project."""
    paths = SEARCHES if all(path.is_file() for path in SEARCHES) else OWN_SEARCHES
    found = list(dict.fromkeys(item.question for path in paths for item in read_set(path).items))
    random.Random(0).shuffle(found)
    return found[:count]


def questions_about(papers: Sequence[Paper], count: int) -> list[str]:
    """One question about each of `count` papers, spread over those given; each names its paper's title."""
    titled = [paper for paper in papers if paper.titled and paper.abstract] or list(papers)
    step = max(1, len(titled) // count)
    return [f"What does “{paper.title}” propose?" for paper in titled[::step][:count]]
