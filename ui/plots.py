"""Plots of the library, drawn in the page by Gradio's own copy of plotly: nothing is fetched and nothing installed."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from gradio.components.plot import PlotData

from ui.overview import Overview
from ui.text import Words

if TYPE_CHECKING:
    from rag.library import Library

Json = dict[str, Any]
MAPPED = 3000
ACCENT = "#2c8c80"
GRID = "rgba(128,140,150,0.2)"
VENUES = 20
LONGEST_NAME = 32


def per_year(held: Overview, words: Words) -> PlotData:
    """Papers per year as columns."""
    bars = {
        "type": "bar",
        "x": [year for year, _ in held.years],
        "y": [n for _, n in held.years],
        "marker": {"color": ACCENT},
        "hovertemplate": "%{x}: %{y}<extra></extra>",
    }
    whole: Json = {"tickformat": "d", "gridcolor": GRID}
    return _figure(bars, words("per_year"), xaxis=whole | {"nticks": 12}, yaxis=whole)


def per_venue(held: Overview, words: Words) -> PlotData:
    """The twenty venues with most papers as bars."""
    top = list(reversed(held.venues[:VENUES]))
    places = list(range(len(top)))
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [n for _, n in top],
        "y": places,
        "text": [_plain(name) for name, _ in top],
        "textposition": "none",
        "hovertemplate": "%{text}: %{x}<extra></extra>",
        "marker": {"color": ACCENT},
    }
    names = [_plain(name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…") for name, _ in top]
    return _figure(
        bars,
        words("per_venue"),
        height=max(320, 70 + 20 * len(top)),
        xaxis={"tickformat": "d", "gridcolor": GRID},
        yaxis={"tickvals": places, "ticktext": names, "automargin": True},
    )


def library_map(library: Library, words: Words) -> tuple[int, PlotData]:
    """Papers as points, the alike close together: the two directions in which their vectors differ most (PCA).

    Returns how many papers are drawn (at most `MAPPED`, evenly taken) and the figure, whose points carry their ids.
    """
    rows = library.index.rows()
    rows = [rows[int(place)] for place in np.linspace(0, len(rows) - 1, min(len(rows), MAPPED))]
    papers, vectors = library.index.papers(rows), library.index.vectors(rows)
    known = [row for row in rows if row in papers and row in vectors]
    points = project(np.stack([vectors[row].chunks.mean(axis=0) for row in known])) if known else np.zeros((0, 2))
    years = [papers[row].year for row in known]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": np.round(points[:, 0], 4).tolist(),
        "y": np.round(points[:, 1], 4).tolist(),
        "text": ["<br>".join(_plain(line) for line in textwrap.wrap(papers[row].title, 60)) for row in known],
        "customdata": [papers[row].paper_id for row in known],
        "hoverinfo": "text",
        "marker": {
            "size": 8,
            "opacity": 0.8,
            "color": years,
            "colorscale": "Viridis",
            "showscale": any(years),
            "colorbar": {"thickness": 10, "outlinewidth": 0, "tickformat": "d", "nticks": 8},
        },
    }
    hidden = {"visible": False}
    return len(known), _figure(dots, words("map"), height=520, xaxis=hidden, yaxis=hidden)


def project(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(n, d) to (n, 2): coordinates on the first two principal components; zeros where there are too few."""
    if len(vectors) < 3:
        return np.zeros((len(vectors), 2))
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ directions[:2].T)


def _plain(text: str) -> str:
    """Plotly reads a few tags in labels; a title must not make any."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _figure(trace: Json, title: str, height: int = 320, **axes: Json) -> PlotData:
    layout = {
        "title": {"text": title, "font": {"size": 14}},
        "height": height,
        "margin": {"l": 40, "r": 16, "t": 44, "b": 32},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "#7b8790", "size": 12, "family": "system-ui, sans-serif"},
        "showlegend": False,
        "hoverlabel": {"align": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#7b8790", "activecolor": ACCENT},
        **axes,
    }
    return PlotData(type="plotly", plot=json.dumps({"data": [trace], "layout": layout}))
