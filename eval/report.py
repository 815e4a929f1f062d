"""The report of a run: one HTML file that needs nothing else and asks nobody for anything.

Its Content-Security-Policy allows its own styles and its own one script, by hash, and no request at all. Everything
that comes from papers, questions or models is escaped by the template engine, or set as text by the script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from eval import markdown, plots
from eval.answers import VERDICTS, found_facts, found_forbidden
from eval.compare import Comparison
from eval.compare import to_json as comparison_json
from eval.metrics import BY_NAME, METRICS, Scored
from eval.result import RunResult, to_contract_json
from rag.texts.text import split_sentences

_RANKED = 5  # found papers named for each question
_TONES = {
    "right": "good",
    "rightly refused": "good",
    "partly right": "warn",
    "not judged": "plain",
}


@dataclass(frozen=True, slots=True)
class _Paper:
    """A paper as shown under a question: its sentences as (text, lit)."""

    n: int | None
    title: str
    paper_id: str
    locator: str | None
    gold: bool
    key: str  # under which the page's data holds the abstract
    lit: tuple[tuple[int, int], ...]


def html(result: RunResult, comparison: Comparison | None = None) -> str:
    """The report as an HTML page. `comparison` is shown below the headline figures where given."""
    keys = {paper_id: f"p{place}" for place, paper_id in enumerate(result.papers)}
    script, style = _asset("report.js"), _asset("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    figures = {title: Markup(svg) for title, svg in plots.figures(result).items()}
    return _template().render(
        csp=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:",
        style=Markup(style),
        script=Markup(script),
        result=result,
        identity=result.info["identity"],
        metrics=[
            (metric, result.summary[metric.name]) for metric in METRICS if result.summary[metric.name].value is not None
        ],
        kinds=result.by_kind,
        kind_metrics=[
            BY_NAME[name]
            for name in ("recall@5", "mrr", "fact_recall", "citation_precision", "citation_recall", "abstain_recall")
            if result.summary[name].n
        ],
        verdicts=[(name, count) for name in VERDICTS if (count := result.info["verdicts"].get(name))],
        tones=_TONES,
        counts=Counter(row.item.kind for row in result.rows),
        figures=figures,
        comparison=comparison,
        questions=[_question(row, result, keys) for row in result.rows],
        papers={keys[name]: _abstract(paper.abstract) for name, paper in result.papers.items()},
        number=markdown.number,
        interval=markdown.interval,
    )


def write_reports(result: RunResult, folder: Path, comparison: Comparison | None = None) -> Path:
    """Writes report.html, summary.md, result.json and (with `comparison`) comparison.json into `folder`.

    Returns the path of report.html.
    """
    page = folder / "report.html"
    page.write_text(html(result, comparison), encoding="utf-8")
    _write_json(folder / "result.json", to_contract_json(result))
    text = markdown.summary(result)
    if comparison is not None:
        _write_json(folder / "comparison.json", comparison_json(comparison))
        text += "\n" + markdown.comparison(comparison)
    (folder / "summary.md").write_text(text, encoding="utf-8")
    return page


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@cache
def _asset(name: str) -> str:
    return resources.files("eval").joinpath(f"templates/{name}").read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("report.html.j2"))


def _abstract(text: str) -> list[list[Any]]:
    """[start, sentence] of each sentence: what the page lights up."""
    return [[span.start, span.text] for span in split_sentences(text)]


def _question(row: Scored, result: RunResult, keys: Mapping[str, str]) -> dict[str, Any]:
    answer = row.outcome.answer or {}
    full = "status" in answer
    golds = {gold.paper_id for gold in row.golds if gold.paper_id is not None}
    ranks = {paper_id: place for place, paper_id in enumerate(row.outcome.ranking, start=1)}
    return {
        "item": row.item,
        "verdict": row.verdict,
        "tone": _TONES.get(row.verdict, "bad"),
        "error": row.outcome.error,
        "judged": row.outcome.judged,
        "status": answer.get("status"),
        "text": answer.get("answer", ""),
        "standalone": answer.get("standalone_question", row.item.question),
        "sentences": answer.get("sentences", ()),
        "facts": list(zip(row.item.facts, found_facts(row.item, answer), strict=True)) if full else [],
        "forbidden": found_forbidden(row.item, answer) if full else [],
        "golds": [(gold, ranks.get(gold.paper_id or "")) for gold in row.golds],
        "cited": _cited(answer, golds, keys),
        "found": _found(row, result, golds, keys, answer),
        "relevance": row.outcome.relevance,
        "timings": {name: value for name, value in answer.get("timings_ms", {}).items() if value is not None},
        "scores": [(BY_NAME[name], value) for name, value in row.scores.items() if BY_NAME[name].unit != "ms"],
    }


def _cited(answer: Mapping[str, Any], golds: set[str], keys: Mapping[str, str]) -> list[_Paper]:
    lit: dict[int, list[tuple[int, int]]] = {}
    for sentence in answer.get("sentences", ()):
        for piece in sentence["evidence"]:
            lit.setdefault(piece["n"], []).append((piece["start"], piece["end"]))
    return [
        _Paper(
            citation["n"],
            citation["title"],
            citation["paper_id"],
            citation["locator"],
            citation["paper_id"] in golds,
            keys.get(citation["paper_id"], ""),
            tuple(sorted(set(lit.get(citation["n"], ())))),
        )
        for citation in answer.get("citations", ())
    ]


def _found(
    row: Scored, result: RunResult, golds: set[str], keys: Mapping[str, str], answer: Mapping[str, Any]
) -> Sequence[_Paper]:
    titles = {passage["paper_id"]: passage["title"] for passage in answer.get("passages", ())}
    shown = []
    for place, paper_id in enumerate(row.outcome.ranking[:_RANKED], start=1):
        paper = result.papers.get(paper_id)
        title = titles.get(paper_id) or (paper.title if paper else paper_id)
        locator = paper.locator if paper else None
        shown.append(_Paper(place, title, paper_id, locator, paper_id in golds, keys.get(paper_id, ""), ()))
    return shown
