"""What a million and ten million papers would take, carried on from the measured growth."""

from __future__ import annotations

from collections.abc import Mapping

from eval.bench import growth, ingest, search
from eval.bench.clocked import SECOND
from eval.bench.figures import exponent, line, middle, spread
from eval.bench.setting import Raw, Section, Table, gigabytes, ms

WANTED = (1_000_000, 10_000_000)
# Stages whose work grows with the library; the others look at a fixed number of candidates.
GROWING = ("dense", "lexical")
# Smaller libraries say more about fixed costs than about growth.
LEAST = 1_000


def section(raws: Mapping[str, Raw]) -> Section | None:
    """The estimate from the raw figures of the parts by name; None where there are not enough of them."""
    if not {ingest.NAME, search.NAME, growth.NAME} <= raws.keys():
        return None
    sizes = [one["papers"] for one in raws[search.NAME]["libraries"] if one["papers"] >= LEAST]
    grown = [one for one in raws[growth.NAME]["libraries"] if one["papers"] >= LEAST]
    if len(sizes) < 2 or len(grown) < 2:
        return None
    rate = spread(raws[ingest.NAME]["rates"][ingest.OURS]).median
    memory = [growth.resident(one) for one in grown]
    papers = [one["papers"] for one in grown]
    rows = []
    for size in WANTED:
        constant, slope = line(papers, [number or 0.0 for number in memory])
        disk_constant, disk_slope = line(papers, [one["disk"] for one in grown])
        rows.append(
            (
                f"{size:,}",
                f"{size / rate / 3600:,.0f} h",
                gigabytes(disk_constant + disk_slope * size),
                gigabytes(constant + slope * size) if all(memory) else "–",
                ms(searching(raws[search.NAME], size, "HNSW")),
                ms(searching(raws[search.NAME], size, "exact")),
            )
        )
    header = ("papers", "embedding here", "disk", "memory without a model", "search, HNSW", "search, exact")
    return Section(
        "Carried on to larger libraries",
        (Table(header, tuple(rows)),),
        {},
        (
            "Not measured: disk and memory are lines, the dense and lexical stages powers of the papers, fitted to the "
            f"libraries of {min(sizes):,} to {max(sizes):,} papers above; the other stages stay as they are. Embedding "
            f"is at the {rate:.0f} abstracts/s of this machine. What follows from it is in docs/performance.md.",
        ),
    )


def searching(raw: Raw, size: int, mode: str) -> float:
    """Estimated median milliseconds of a search over `size` papers."""
    libraries = [one for one in raw["libraries"] if one["papers"] >= LEAST]
    last = libraries[-1]
    times = {stage: search.stages_of(last, mode)[stage] for stage in search.stages_of(last, mode)}
    for stage in GROWING:
        values = [search.stages_of(one, mode).get(stage, 0.0) for one in libraries]
        if stage in times and all(values):
            power = max(0.0, exponent([one["papers"] for one in libraries], values))
            times[stage] *= (size / last["papers"]) ** power
    # Stages may overlap; what they add up to is then too much by the same share.
    whole = middle(last["total"][mode]).median
    parts = sum(search.stages_of(last, mode).values())
    return sum(times.values()) * (min(1.0, whole / parts) if SECOND in times and parts else 1.0)
