"""Choose the weights and thresholds of rag/data/calibration.json, and print what they reach on data held out.

    python -m eval.calibrate verifier DATA [--write]
    python -m eval.calibrate refusal DATA [--home HOME] [--write]
    python -m eval.calibrate listing DATA [--write]

DATA is the folder of the sample data (corpus/, questions/, seeds/). Libraries are built in a temporary folder; HOME
is a ready library, a large one, that holds the papers of the LitSearch and one-line-summary questions.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import click
import numpy as np
import orjson
from numpy.typing import NDArray

from eval.make_verifier_set import Claim, make, read_papers
from eval.sets import Item, read_set
from rag.answering import refusal, verify
from rag.answering.framing import statement
from rag.library import Library
from rag.models.embeddings import Encoder
from rag.question.understand import understand
from rag.search import listing
from rag.texts.text import clean_text
from rag.types import LISTS

Array = NDArray[np.float64]
SETS = Path(__file__).parent / "sets"
TARGET = Path(__file__).parent.parent / "rag" / "data" / "calibration.json"
FOLDS = 5
TRUE_WEIGHT, SUMMARY_WEIGHT = 1.0, 0.5
FALSE_WEIGHT = 3.0
# Of the refusal: strength of the penalty on large weights, thresholds shown, and the one that is written.
RIDGE = 2.0
STEPS = (0.2, 0.3, 0.35, 0.4, 0.42, 0.45, 0.5, 0.6)
LEAST = 0.42
# Of the lists.
LIST_RIDGE = 0.1
LIST_LEAST = 0.3


def fit(features: Array, labels: Array, weights: Array, ridge: float) -> Array:
    """Logistic regression by Newton's method: the constant, then a weight for each column of `features` (n, f)."""
    table = np.column_stack([np.ones(len(features)), features])
    found = np.zeros(table.shape[1])
    penalty = np.diag([1e-9, *[ridge] * features.shape[1]])
    for _ in range(60):
        expected = 1 / (1 + np.exp(-table @ found))
        slope = table.T @ (weights * (expected - labels)) + penalty @ found
        curve = (table * (weights * expected * (1 - expected))[:, None]).T @ table + penalty
        found -= np.linalg.solve(curve, slope)
    return found


def predict(model: Array, features: Array) -> Array:
    """Probabilities, (n,)."""
    result: Array = 1 / (1 + np.exp(-(model[0] + features @ model[1:])))
    return result


def held_out(features: Array, labels: Array, weights: Array, groups: NDArray[np.int64], ridge: float) -> Array:
    """Probabilities of each row from a model that has not seen its group."""
    found = np.zeros(len(labels))
    for fold in range(FOLDS):
        out = groups % FOLDS == fold
        found[out] = predict(fit(features[~out], labels[~out], weights[~out], ridge), features[out])
    return found


@click.group()
def main() -> None:
    """Calibrate one part."""


@main.command("verifier")
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--papers", default=220, help="abstracts to train on, and half as many to test on")
@click.option("--write", is_flag=True, help="write the weights to rag/data/calibration.json")
def verifier(data: Path, papers: int, write: bool) -> None:
    """Train on claims made from abstracts and on human summaries; report on other abstracts."""
    with tempfile.TemporaryDirectory() as home, Library.open(home, llm="none") as library:
        encoder = library.index.encoder
        train = [*_made(data, papers, 11), *_summaries(data, encoder)]
        test = [*_made(data, papers // 2, 12)]
        seen, unseen = _findings(train, encoder), _findings(test, encoder)
    kept = [
        (claim, finding)
        for claim, finding in zip(train, seen, strict=True)
        if finding is not None
        and finding.conflict is None
        # Numbers, names, negation and direction are judged by rules; the model weighs the rest.
        and (claim.true or claim.kind in ("half other", "other paper", "near paper", "summary of another"))
    ]
    labels = np.array([float(claim.true) for claim, _ in kept])
    weights = np.array(
        [
            FALSE_WEIGHT if not claim.true else SUMMARY_WEIGHT if claim.kind == "summary" else TRUE_WEIGHT
            for claim, _ in kept
        ]
    )
    model = fit(np.array([finding.features for _, finding in kept]), labels, weights, 1.0)
    for name, claims, findings in (("train", train, seen), ("test", test, unseen)):
        probabilities = np.array(
            [
                0.0 if finding is None or finding.conflict else predict(model, np.array([finding.features]))[0]
                for finding in findings
            ]
        )
        _table(name, claims, probabilities)
    if write:
        _write("verifier", {"weights": _rounded(model), "supported": 0.5, "partial": 0.25})


def _made(data: Path, papers: int, seed: int) -> list[Claim]:
    corpus = data / "corpus"
    chosen = read_papers(corpus / "ml_papers_40k.jsonl.gz", papers * 3 // 4, seed)
    return make([*chosen, *read_papers(corpus / "pubmedqa_dev.jsonl", papers // 4, seed)], seed)


def _summaries(data: Path, encoder: Encoder) -> list[Claim]:
    """Human one-line summaries, against their own paper and against the nearest of the other papers."""
    rows = [orjson.loads(line) for line in (data / "questions" / "tldr_dev.jsonl").read_bytes().splitlines()]
    wanted = {row["relevant"][0] for row in rows}
    papers = {
        p.paper_id: p for p in read_papers(data / "corpus" / "ml_papers_40k.jsonl.gz", 10**9, 0) if p.paper_id in wanted
    }
    known = list(papers)
    matrix = encoder.encode([papers[name].abstract for name in known])
    claims = []
    for row, vector in zip(rows, encoder.encode([row["question"] for row in rows]), strict=True):
        own = row["relevant"][0]
        if own not in papers:
            continue
        text = clean_text(row["question"])
        other = next(known[place] for place in np.argsort(-(matrix @ vector)) if known[place] != own)
        claims.append(Claim(text, papers[own], True, "summary", ""))
        claims.append(Claim(text, papers[other], False, "summary of another", ""))
    return claims


class _Stored:
    """Vectors made beforehand in large batches, handed out one claim at a time."""

    def __init__(self, encoder: Encoder, claims: Sequence[Claim]) -> None:
        texts = {statement(claim.text) for claim in claims}
        texts |= {span.text for claim in claims for span in verify.prepare(claim.paper).spans}
        ordered = sorted(texts)
        self._vectors = dict(zip(ordered, encoder.encode(ordered), strict=True))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vectors[text] for text in texts])


def _findings(claims: Sequence[Claim], encoder: Encoder) -> list[verify.Finding | None]:
    checker = verify.Verifier(_Stored(encoder, claims))
    found = [checker.findings(statement(claim.text), [(1, claim.paper)]) for claim in claims]
    return [each[0] if each else None for each in found]


def _table(name: str, claims: Sequence[Claim], probabilities: Array) -> None:
    kept = probabilities >= 0.5
    true = np.array([claim.true for claim in claims])
    click.echo(
        f"{name}: precision {true[kept].mean():.3f}, recall {kept[true].mean():.3f}, "
        f"false kept {kept[~true].mean():.3f} of {(~true).sum()}"
    )
    for kind in dict.fromkeys((claim.true, claim.kind) for claim in claims):
        rows = np.array([(claim.true, claim.kind) == kind for claim in claims])
        shares = "  ".join(f"{np.mean(probabilities[rows] >= least):.3f}" for least in (0.25, 0.5))
        click.echo(f"  {kind[0]!s:6}{kind[1]:20}{rows.sum():5}  kept at 0.25, 0.5: {shares}")


@dataclass(frozen=True, slots=True)
class _Row:
    """`part` names the library and the kind; `untold` that a detail is asked for which the best paper does not give."""

    part: str
    answerable: bool
    question: str
    features: tuple[float, ...]
    untold: bool


@main.command("refusal")
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--home", type=click.Path(exists=True, path_type=Path), help="a ready library, for questions over it")
@click.option("--write", is_flag=True, help="write the weights to rag/data/calibration.json")
def refuse(data: Path, home: Path | None, write: bool) -> None:
    """Questions of the project's sets over the seeds, PubMedQA over its abstracts and over half of them, and questions
    on nothing of the kind over both and over HOME.

    The questions of refusal_free_report.jsonl have no part in the weights.
    """
    sets = ("refusal_dev", "seeds_facts", "seeds_topics", "seeds_mixed", "refusal_free_choose")
    own = [item for name in sets for item in _items(SETS / f"{name}.jsonl")]
    apart = _items(SETS / "refusal_free_report.jsonl")
    strange = [item for item in (*own, *apart) if item.kind == "off-topic"]
    medical = _items(data / "questions" / "pubmedqa_dev.jsonl")
    gone = {item.relevant[0] for item in medical[::2]}
    with tempfile.TemporaryDirectory() as folder:
        lines = (data / "corpus" / "pubmedqa_dev.jsonl").read_bytes().splitlines()
        half = Path(folder) / "half.jsonl"
        half.write_bytes(b"\n".join(line for line in lines if orjson.loads(line)["id"] not in gone))
        seeds = _built(Path(folder) / "a", sorted((data / "seeds").glob("*.txt")))
        pubmed = _built(Path(folder) / "b", [data / "corpus" / "pubmedqa_dev.jsonl"])
        rows = list(_asked(seeds, own, "seeds"))
        tested = list(_asked(seeds, apart, "seeds"))
        rows += _asked(pubmed, medical, "PubMed")
        rows += _asked(pubmed, strange, "PubMed")
        rows += _asked(_built(Path(folder) / "c", [half]), medical[::2], "PubMed, abstract removed", False)
    if home is not None:
        named = [
            item for name in ("litsearch_dev", "tldr_dev") for item in _items(data / "questions" / f"{name}.jsonl")
        ]
        rows += _asked(home, [*strange, *named], "ready library")
    labels = np.array([float(row.answerable) for row in rows])
    counts = {part: sum(row.part == part for row in rows) for part in {row.part for row in rows}}
    weights = np.array([100 / counts[row.part] for row in rows])
    groups = np.array([random.Random(row.question).randrange(FOLDS) for row in rows])
    # Where a rule decides the model has nothing to learn.
    weights[[row.untold for row in rows]] = 0.0
    table = np.array([row.features for row in rows])
    chosen = fit(table, labels, weights, RIDGE)
    click.echo(f"refused, each question held out, at {STEPS}")
    _refused(rows, held_out(table, labels, weights, groups, RIDGE))
    click.echo("refused, questions that had no part in features or weights")
    _refused(tested, predict(chosen, np.array([row.features for row in tested])))
    click.echo(
        " ".join(f"{name} {weight:.2f}" for name, weight in zip(("constant", *refusal.NAMES), chosen, strict=True))
    )
    if write:
        _write("refusal", {"default": {"weights": _rounded(chosen), "least": LEAST}})


def _items(path: Path) -> list[Item]:
    """Those that stand by themselves and have the truth as their premise."""
    return [item for item in read_set(path).items if not item.history and item.kind != "false-premise"]


def _built(home: Path, paths: Sequence[Path]) -> Path:
    with Library.open(home, write=True, llm="none") as library:
        library.ingest(list(paths))
    return home


def _asked(home: Path, items: Sequence[Item], name: str, answerable: bool = True) -> Iterator[_Row]:
    """Features of each question over the library at `home`; with `answerable` False it can answer none."""
    with Library.open(home, llm="none") as library:
        for item in items:
            question = understand(item.question, (), library.index, None)
            found = library.searcher.found(question, 5, question.filters)
            if found.ranked and question.kind not in LISTS:
                seen = refusal.features(question, found.ranked, library.index, found.vector)
                paper = refusal.best_paper(question, found.ranked, library.index)
                near = [hit.paper for hit in found.ranked[:3]]
                untold = refusal.untold(question, paper, near) is not None
                yield _Row(f"{name}: {item.kind}", item.answerable and answerable, item.question, astuple(seen), untold)


def _refused(rows: Sequence[_Row], probabilities: Array) -> None:
    """A line a part: how many questions, and the share refused at each of STEPS."""
    untold = np.array([row.untold for row in rows])
    seen = np.where(untold, probabilities * refusal.UNTOLD_SHARE, probabilities)
    for part in dict.fromkeys(row.part for row in rows):
        here = np.array([row.part == part for row in rows])
        shares = "  ".join(f"{np.mean(seen[here] < step):.3f}" for step in STEPS)
        click.echo(f"  {part:36}{here.sum():4}  {shares}")


@main.command("listing")
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--write", is_flag=True, help="write the weights to rag/data/calibration.json")
def lists(data: Path, write: bool) -> None:
    """F1 of the list questions over the seeds, with weights chosen without the question, and without its set."""
    sets = {name: read_set(SETS / f"{name}.jsonl").items for name in ("seeds_lists", "seeds_lists_more")}
    items = [(name, item) for name, found in sets.items() for item in found]
    rows: list[tuple[int, bool, tuple[float, ...]]] = []
    with tempfile.TemporaryDirectory() as folder:
        home = _built(Path(folder), sorted((data / "seeds").glob("*.txt")))
        with Library.open(home, llm="none") as library:
            for place, (_, item) in enumerate(items):
                question = understand(item.question, (), library.index, None)
                topics = listing.topics(question, library.index)
                for paper, seen, _ in listing.judged(question, topics, library.index) if topics else ():
                    rows.append((place, paper.locator in item.relevant, astuple(seen)))
    places = np.array([row[0] for row in rows])
    labels = np.array([float(row[1]) for row in rows])
    table = np.array([row[2] for row in rows])
    weights = np.ones(len(rows))
    out = held_out(table, labels, weights, places, LIST_RIDGE)
    names = np.array([items[place][0] for place in places])
    other = np.zeros(len(rows))
    for name in sets:
        here = names == name
        other[here] = predict(fit(table[~here], labels[~here], weights[~here], LIST_RIDGE), table[here])
    for least in (0.2, 0.25, 0.3, 0.35, 0.4):
        for what, probabilities in (("each question held out", out), ("each set held out", other)):
            scores = {
                place: _f1(labels[places == place] > 0, probabilities[places == place] >= least)
                for place in sorted(set(places.tolist()))
            }
            shares = "  ".join(
                f"{name} {np.mean([score for place, score in scores.items() if items[place][0] == name]):.3f}"
                for name in sets
            )
            click.echo(f"least {least}, {what}: F1 {np.mean(list(scores.values())):.3f}  {shares}")
    if write:
        chosen = fit(table, labels, weights, LIST_RIDGE)
        _write("listing", {"default": {"weights": _rounded(chosen), "least": LIST_LEAST}})


def _f1(wanted: NDArray[np.bool_], given: NDArray[np.bool_]) -> float:
    """F1 of one question; where nothing is wanted, 1 for an empty list."""
    if not wanted.any():
        return float(not given.any())
    return float(2 * (wanted & given).sum() / (wanted.sum() + given.sum()))


def _rounded(model: Array) -> list[float]:
    return [round(float(value), 3) for value in model]


def _write(part: str, entry: dict[str, object]) -> None:
    data = orjson.loads(TARGET.read_bytes())
    data[part] = entry if part == "verifier" else {**data.get(part, {}), **entry}
    TARGET.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
