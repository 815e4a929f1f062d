"""Reading papers in: the program, the tutorial pipeline and the bare encoder in turns, on the same papers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.bench.figures import ratios, spread
from eval.bench.setting import Bench, Raw, Section, Table, times, value
from eval.bench.texts import Text, papers_of, write_papers

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder

NAME = "ingest"
PAPERS, QUICK_PAPERS = 600, 40
BATCH_SIZES = (16, 32, 64, 128)
OURS, BASELINE = "abstract-qa", "tutorial"
SAME_TEXTS, ONE_TEXT = "bare encoder, the same texts", "bare encoder, title and abstract as one text"


def measure(bench: Bench) -> Raw:
    """Abstracts a second of each, round by round. Models are loaded before; reading the file counts."""
    from rag import quiet

    with quiet.imports():
        from eval.bench import baseline
    count = bench.size(PAPERS, QUICK_PAPERS)
    papers = papers_of(bench.papers, count)
    embeddings = baseline.HuggingFaceEmbeddings(bench.embedder)
    bare = bare_encoder(bench.embedder)
    same, one = pieces(papers, bench.encoder), [paper.whole for paper in papers]
    best = _best_batch(bare, same[: max(64, len(same) // 4)])
    rates: dict[str, list[float]] = {OURS: [], BASELINE: [], SAME_TEXTS: [], ONE_TEXT: []}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        # The first call of each is slower than any other.
        first = papers[: min(16, count)]
        ours(write_papers(folder / "first.jsonl", first), folder / "first", bench.encoder)
        baseline.ingest(first, embeddings, folder / "first-chroma")
        source = write_papers(folder / "papers.jsonl", papers)
        for number in range(bench.rounds):
            bench.say(f"  round {number + 1} of {bench.rounds}")
            rates[OURS].append(count / ours(source, folder / f"ours-{number}", bench.encoder))
            rates[SAME_TEXTS].append(count / _seconds(bare, same, best))
            rates[BASELINE].append(count / _tutorial(source, folder / f"tutorial-{number}", embeddings))
            rates[ONE_TEXT].append(count / _seconds(bare, one, best))
    return {
        "papers": count,
        "made": bench.papers is None,
        "texts": len(same),
        "batch": best,
        "dtype": {"bare": str(next(bare.parameters()).dtype), BASELINE: embeddings.dtype},
        "rates": rates,
    }


def bare_encoder(folder: Path) -> Any:
    """The embedder alone, in the precision that the program would take."""
    import torch
    from sentence_transformers import SentenceTransformer

    from rag.models.hardware import device, use_bf16

    place = device(apple=True)
    dtype = torch.bfloat16 if use_bf16("auto", place) else torch.float32
    return SentenceTransformer(str(folder), device=place, local_files_only=True, model_kwargs={"dtype": dtype})


def pieces(papers: Sequence[Text], encoder: Encoder) -> list[str]:
    """The texts that the program embeds of `papers`: chunks, then titles."""
    from rag.ingest.chunking import plan_chunks
    from rag.texts.sentences import split_sentences
    from rag.types import Paper

    whole = [Paper(paper.paper_id, paper.title, paper.abstract) for paper in papers]
    plans = [plan_chunks(paper, split_sentences(paper.abstract), encoder) for paper in whole]
    return [chunk.embed_text for plan in plans for chunk in plan.chunks] + [paper.title for paper in papers]


def ours(source: Path, home: Path, encoder: Encoder) -> float:
    """Seconds that the program takes to read `source` into a new library."""
    from rag.library import Library

    with Library.open(home, encoder=encoder) as library:
        began = time.perf_counter()
        library.ingest([source])
        return time.perf_counter() - began


def _tutorial(source: Path, folder: Path, embeddings: Any) -> float:
    import orjson

    from eval.bench import baseline

    began = time.perf_counter()
    rows = [orjson.loads(row) for row in source.read_bytes().splitlines()]
    baseline.ingest([Text(row["id"], row["title"], row["abstract"]) for row in rows], embeddings, folder)
    return time.perf_counter() - began


def _best_batch(bare: Any, texts: Sequence[str]) -> int:
    _seconds(bare, texts[:16], 16)
    return min(BATCH_SIZES, key=lambda size: _seconds(bare, texts, size))


def _seconds(bare: Any, texts: Sequence[str], batch: int) -> float:
    """Seconds to encode `texts`; sentence-transformers sorts them by length itself."""
    began = time.perf_counter()
    bare.encode(list(texts), batch_size=batch, show_progress_bar=False)
    return time.perf_counter() - began


def report(raw: Raw) -> Section:
    """Rates, and ours as a multiple of each other one."""
    rates = raw["rates"]
    found = {name: ratios(rates[OURS], values) for name, values in rates.items() if name != OURS}
    rows = [(OURS, value(spread(rates[OURS])), "")]
    rows += [(name, value(spread(rates[name])), times(ratio)) for name, ratio in found.items()]
    kind = "made" if raw["made"] else "real"
    return Section(
        "Reading papers in",
        (Table(("pipeline", "abstracts/s", "abstract-qa against it"), tuple(rows)),),
        {f"ingest: {OURS} / {name}": ratio.median for name, ratio in found.items()},
        (
            f"{raw['papers']} {kind} papers, read from JSON lines into a new library each time; models loaded before. "
            f"The tutorial pipeline embeds in {raw['dtype'][BASELINE].removeprefix('torch.')}.",
            f"The bare encoder is sentence-transformers in {raw['dtype']['bare'].removeprefix('torch.')} with its best "
            f"batch of {raw['batch']}, sorted by length. “The same texts” are the {raw['texts']} chunks and titles "
            "that the program embeds; as one text, what lies beyond 256 tokens is not read.",
        ),
    )
