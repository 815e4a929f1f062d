"""Plots of the library, drawn in the page by Gradio's own copy of plotly: nothing is fetched."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ui.overview import Overview
from ui.text import Words

if TYPE_CHECKING:
    from rag.library import Library

MAPPED = 3000
ACCENT = "#2c8c80"


def per_year(held: Overview, words: Words) -> Any:
    """Papers per year as columns."""
    import plotly.graph_objects as go

    bars = go.Bar(x=[year for year, _ in held.years], y=[n for _, n in held.years], marker_color=ACCENT)
    return _calm(go.Figure(bars), words("per_year"))


def per_venue(held: Overview, words: Words) -> Any:
    """The twenty venues with most papers as bars."""
    import plotly.graph_objects as go

    top = list(reversed(held.venues[:20]))
    bars = go.Bar(x=[n for _, n in top], y=[name[:32] for name, _ in top], orientation="h", marker_color=ACCENT)
    return _calm(go.Figure(bars), words("per_venue"), height=max(300, 60 + 20 * len(top)))


def library_map(library: Library, words: Words) -> Any:
    """Papers as points, the alike close together: the two directions in which their vectors differ most (PCA)."""
    import plotly.graph_objects as go

    rows = library.index.rows()
    rows = rows[:: max(1, len(rows) // MAPPED)][:MAPPED]
    papers, vectors = library.index.papers(rows), library.index.vectors(rows)
    known = [row for row in rows if row in papers and row in vectors]
    points = project(np.stack([vectors[row].chunks.mean(axis=0) for row in known])) if known else np.zeros((0, 2))
    texts = ["<br>".join(textwrap.wrap(_plain(papers[row].title), 60)) for row in known]
    years = [papers[row].year for row in known]
    dots = go.Scattergl(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        text=texts,
        hoverinfo="text",
        marker={"size": 6, "opacity": 0.75, "color": [year or None for year in years], "colorscale": "Viridis"},
    )
    figure = _calm(go.Figure(dots), words("map"), height=520)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure


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


def _calm(figure: Any, title: str, height: int = 320) -> Any:
    figure.update_layout(
        title={"text": title, "font": {"size": 14}},
        height=height,
        margin={"l": 40, "r": 16, "t": 44, "b": 32},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#7b8790", "size": 12},
        showlegend=False,
    )
    figure.update_xaxes(gridcolor="rgba(128,140,150,0.2)")
    figure.update_yaxes(gridcolor="rgba(128,140,150,0.2)")
    return figure
