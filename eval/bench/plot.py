"""The growth plot: search, answers, memory and disk against the number of papers, as SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eval.bench import growth, search
from eval.bench.figures import middle, p95
from eval.bench.setting import Raw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AIM_MS = 60.0
INK, MUTED = "#24292f", "#6e7781"
FIRST, SECOND, THIRD = "#0969da", "#bc4c00", "#1a7f37"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "growth",
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d0d7de",
    "grid.linewidth": 0.5,
    "axes.edgecolor": MUTED,
    "text.color": INK,
    "legend.frameon": False,
}


def growth_plot(raws: Mapping[str, Raw]) -> str | None:
    """The plot from the raw figures of the parts by name; None where searches or growth were not measured."""
    if not {search.NAME, growth.NAME} <= raws.keys():
        return None
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.StringIO()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 3.4), layout="constrained", facecolor="white")
        FigureCanvasSVG(figure)
        left, centre, right = figure.subplots(1, 3)
        _search(left, raws[search.NAME]["libraries"])
        _answers(centre, raws[growth.NAME]["libraries"])
        _space(right, raws[growth.NAME]["libraries"])
        for axes in (left, centre, right):
            axes.set_xscale("log")
            axes.set_xlabel("papers")
            axes.set_ylim(bottom=0)
            axes.legend(loc="upper left")
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    return re.sub(r"[ \t]+\n", "\n", svg[svg.index("<svg") :])


def _search(axes: Axes, libraries: list[Raw]) -> None:
    papers = [one["papers"] for one in libraries]
    for mode, colour in zip(search.MODES, (FIRST, SECOND), strict=True):
        axes.plot(
            papers,
            [middle(one["total"][mode]).median for one in libraries],
            "o-",
            color=colour,
            label=f"{mode}, median",
        )
    axes.plot(papers, [p95(one["total"]["HNSW"]) for one in libraries], ":", color=FIRST, label="HNSW, p95")
    axes.axhline(AIM_MS, color=MUTED, linestyle="--", linewidth=0.8)
    axes.set_title("search, ms")


def _answers(axes: Axes, libraries: list[Raw]) -> None:
    papers = [one["papers"] for one in libraries]
    for figure, name, colour in (("first_source", "first source", FIRST), ("total", "answer, no model", SECOND)):
        axes.plot(papers, [growth.answered(one, figure) for one in libraries], "o-", color=colour, label=name)
    axes.set_title("answering, ms")


def _space(axes: Axes, libraries: list[Raw]) -> None:
    papers = [one["papers"] for one in libraries]
    axes.plot(papers, [one["disk"] / 1e9 for one in libraries], "o-", color=THIRD, label="disk")
    memory = [growth.resident(one) for one in libraries]
    if all(memory):
        axes.plot(papers, [(number or 0) / 1e9 for number in memory], "o-", color=FIRST, label="memory, no model")
    axes.set_title("space, GB")
