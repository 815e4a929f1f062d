"""Memory of a server with a large library, with the answering model and without."""

from __future__ import annotations

from eval.bench import server
from eval.bench.libraries import Sized
from eval.bench.setting import Bench, Raw, Section, Table, gigabytes
from eval.bench.texts import questions_about, search_questions

NAME = "memory"
SIZE = 40_000
LIMITS = {"with the model": 6e9, "without a model": 1.5e9}


def measure(bench: Bench) -> Raw:
    """Bytes when ready and after questions: facts, a search, a question with a year, a list, leafing through papers."""
    from rag.library import Library

    sized = chosen(bench.sized)
    with Library.open(sized.home, embed=False) as library:
        papers = library.papers(limit=2000)
        year = next((paper.year for paper in papers if paper.year), None)
    asked = questions_about(papers, 5)
    found: dict[str, Raw] = {}
    for name, llm in (("with the model", bench.reference), ("without a model", "none")):
        bench.say(f"  {name}")
        with server.Server(sized.home, llm) as running:
            ready = running.memory()
            for question in asked:
                server.ask(running.client, question)
            for query in search_questions(10):
                server.search(running.client, query)
            server.ask(running.client, f"Which papers are about {papers[0].title}?")
            if year is not None:
                server.ask(running.client, asked[0], year_from=year, year_to=year)
            found[name] = {"ready": ready, "asked": running.memory()}
    return {"papers": sized.papers, "model": bench.model.name, "servers": found}


def chosen(sized: list[Sized]) -> Sized:
    """The library nearest to the size that the limits are for."""
    return min(sized, key=lambda each: abs(each.size - SIZE))


def report(raw: Raw) -> Section:
    """Memory of both servers, beside the limits where the library has the size they are for."""
    rows = []
    for name, server_memory in raw["servers"].items():
        ready, asked = server_memory["ready"], server_memory["asked"]
        limit = LIMITS[name] if raw["papers"] >= 0.9 * SIZE else None
        rows.append(
            (
                name,
                gigabytes(ready["resident"]),
                gigabytes(asked["resident"]),
                gigabytes(asked["proportional"]),
                gigabytes(asked["peak"]),
                gigabytes(limit),
            )
        )
    return Section(
        "Memory of the server",
        (Table(("server", "when ready", "after questions", "of that its own", "peak", "limit"), tuple(rows)),),
        {},
        (
            f"`abstract-qa serve` with {raw['papers']:,} papers, {raw['model']} where there is a model; resident "
            "memory, read from the system after five questions, ten searches, a list and a question with a year. Its "
            "own is the proportional set size: pages shared with other processes count in part.",
        ),
    )
