"""Who wrote a paper, when and where it appeared: what its record says and its abstract does not.

Only for a question that calls the paper by name, and only what the record has. The sentence is the program's own; the
paper it cites is the one whose record it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rag.search.owning import called, names_asked, owned, owns
from rag.texts.terms import content, listed, stem, stems
from rag.types import LISTS, AnswerSentence, Paper, Question, RankedPaper

Field = Literal["authors", "year", "venue"]

_PAPER = r"(?:paper|article|work|study|publication)"
_OUT = r"(?:published|presented|released|written|introduced|proposed|posted|come out|came out|appear(?:ed)?)"
_PATTERNS: dict[Field, str] = {
    "authors": (
        r"^\W*who (?:wrote|authored|published|proposed|introduced|invented|created|came up with)\b|"
        r"\bwho (?:is|are|was|were) the (?:first |last |lead |senior )?(?:authors?|inventors?)\b|"
        r"\b(?:names? of the|list the|what are the) authors\b|^\W*whose (?:paper|work|idea)\b|"
        r"谁(?:写|提出|发表|发明)|作者(?:是谁|有谁|有哪些|都是谁|叫什么)"
    ),
    "venue": (
        r"\bwhere (?:was|is|did|has|were)\b[^?]*\b(?:published|presented|appear(?:ed)?)\b|"
        rf"\b(?:which|what) (?:venue|conference|journal|proceedings)\b[^?]*\b{_OUT}\b|"
        rf"\b(?:which|what) (?:venue|conference|journal) (?:is|was)\b[^?]*\b(?:{_PAPER}|in|at|from)\b|"
        r"发表在(?:哪|什么)|哪个(?:会议|期刊)"
    ),
    "year": (
        rf"\bwhen (?:was|is|did|has|were)\b[^?]*\b{_OUT}\b|\b(?:which|what) year\b[^?]*\b{_OUT}\b|"
        r"(?:哪一?年|什么时候|何时)(?:被)?(?:发表|提出|出版|发布|写)|(?:发表|提出|出版|发布)[于在]?(?:哪一?年|什么时候|何时)"
    ),
}
_ASKED = {name: re.compile(pattern, re.I) for name, pattern in _PATTERNS.items()}
_OF_RECORDS = frozenset(
    stem(word)
    for word in listed(
        "year venue conference journal proceedings published publish publication released written wrote write "
        "authored inventor inventors invent invented created came come out first last lead senior names list "
        "appeared appear posted idea whose"
    )
)
# What comes with a paper has a place and a day of its own.
_BESIDE = re.compile(
    r"\b(?:codes?|data|datasets?|corpus|benchmarks?|weights|checkpoints?|software|repositor(?:y|ies)|github|website)\b|"
    r"代码|数据",
    re.I,
)


def asked_for(question: Question) -> Field | None:
    """What of a paper's record `question` asks for; None where it asks for something else."""
    texts = (question.standalone, question.search_text)
    if any(_BESIDE.search(text) for text in texts):
        return None
    return next((name for name, pattern in _ASKED.items() if any(pattern.search(text) for text in texts)), None)


def sentence(question: Question, ranked: Sequence[RankedPaper]) -> AnswerSentence | None:
    """The answer from the first record that says it, of the papers in `ranked` that the question calls by name.

    None where nothing of a record is asked for, no paper is called by its name, or no record of one says it.
    """
    wanted = asked_for(question)
    if wanted is None or question.kind == "compare" or question.kind in LISTS:
        return None
    text = f"{question.standalone} {question.search_text}"
    for hit in ranked:
        if owned(hit.paper, text) and not _asks_more(question.search_text, hit.paper):
            said = _said(hit.paper, wanted, question.language == "zh")
            if said is not None:
                return AnswerSentence(said, (hit.rank,), "supported", ())
    return None


def _asks_more(text: str, paper: Paper) -> bool:
    """Whether `text` has telling words beside those that name `paper` and ask for its record ("to ponds")."""
    names = [called(paper, text), *(name for name in names_asked(text) if owns(paper, name))]
    known = _OF_RECORDS.union(*(stems(name) for name in names))
    return any(word.weight == 1.0 and word.stem not in known for word in content(text))


def _said(paper: Paper, wanted: Field, chinese: bool) -> str | None:
    title = paper.title.rstrip(".")
    match wanted:
        case "authors" if paper.authors:
            listed = _listed(paper.authors, chinese)
            return f"《{title}》的作者是{listed}。" if chinese else f"“{title}” was written by {listed}."
        case "year" if paper.year is not None:
            return f"《{title}》发表于 {paper.year} 年。" if chinese else f"“{title}” is from {paper.year}."
        case "venue" if paper.venue:
            return f"《{title}》发表于 {paper.where}。" if chinese else f"“{title}” appeared in {paper.where}."
    return None


def _listed(names: Sequence[str], chinese: bool) -> str:
    if chinese:
        return "、".join(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
