"""Figures as inline SVG, drawn by matplotlib. Colours are CSS variables, so that a figure follows the page's theme."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eval.metrics import BY_NAME, Scored, coverage_curve
from eval.ranking import CUTOFFS
from eval.stats import Estimate, bootstrap_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eval.result import RunResult

# matplotlib writes colours as hexadecimal; these stand for variables of the page's style sheet.
_VARIABLES = {"#010101": "fg", "#020202": "muted", "#030303": "line", "#040404": "accent", "#050505": "good"}
_VARIABLES |= {"#060606": "bad", "#070707": "warn"}
_INK = {name: colour for colour, name in _VARIABLES.items()}
_STYLE: dict[Any, Any] = {  # keys are names of matplotlib's settings
    "svg.fonttype": "none",  # text stays text: the page's font, selectable
    "font.size": 12.0,
    "axes.edgecolor": _INK["line"],
    "axes.labelcolor": _INK["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": _INK["line"],
    "grid.linewidth": 0.5,
    "text.color": _INK["fg"],
    "text.parse_math": False,  # a kind may be named "$x$"
    "xtick.color": _INK["muted"],
    "ytick.color": _INK["muted"],
    "legend.frameon": False,
}
_ID = re.compile(r'\bid="(?!p[0-9a-f]{10}|m[0-9a-f]{10})[^"]*"\s?')
_WIDTH, _HEIGHT = 5.6, 3.2  # inches
_LABEL = 20


def figures(result: RunResult) -> dict[str, str]:
    """Title -> SVG, for what the run has data for."""
    drawn = {
        "Recall by depth": _recall(result),
        "Coverage and accuracy": _coverage(result.rows),
        "Relevance of the first paper": _refusal(result.rows),
        "Calibration of relevance": _calibration(result.rows),
        "The verifier's verdicts": _verifier(result.rows),
        "By kind": _kinds(result),
        "Times": _latency(result.rows),
    }
    return {title: svg for title, svg in drawn.items() if svg is not None}


def _draw(salt: str, label: str, paint: Callable[[Axes], None], height: float = _HEIGHT) -> str:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.StringIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
        # The reader's browser draws the text; that matplotlib's own font lacks a sign of a kind's name is no matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure.add_subplot())
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _ID.sub("", svg)  # what nothing refers to would come twice in a page of several figures
    for colour, name in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{name})")
    # CSS, not the file, decides how large it is; and a name for those who cannot see it.
    return re.sub(r'<svg ([^>]*?)width="[^"]*"', rf'<svg role="img" aria-label="{label}" \1', svg, count=1).replace(
        f'height="{height * 72:g}pt" ', "", 1
    )


def _recall(result: RunResult) -> str | None:
    points = [(k, result.summary[f"recall@{k}"]) for k in CUTOFFS]
    known = [(k, e.value, e.low, e.high) for k, e in points if e.value is not None]
    if not known:
        return None

    def paint(axes: Axes) -> None:
        ks = [k for k, *_ in known]
        axes.fill_between(ks, [p[2] or 0 for p in known], [p[3] or 0 for p in known], color=_INK["accent"], alpha=0.2)
        axes.plot(ks, [p[1] or 0 for p in known], color=_INK["accent"], marker="o")
        axes.set(xlabel="first k papers", ylabel="recall", ylim=(0, 1.02), xticks=ks)

    return _draw("recall", "Recall by depth", paint)


def _coverage(rows: Sequence[Scored]) -> str | None:
    curve = coverage_curve(rows)
    if len(curve) < 2:
        return None
    answered = [row for row in rows if row.verdict in ("right", "partly right", "wrong", "wrongly answered")]
    judged = [row for row in rows if row.verdict not in ("not judged", "failed")]
    full = any(row.outcome.answer and "status" in row.outcome.answer for row in rows)

    def paint(axes: Axes) -> None:
        axes.plot(*zip(*curve, strict=True), color=_INK["accent"], label="a relevant paper in the first 5")
        if full and answered:
            right = sum(row.verdict == "right" for row in answered)
            axes.plot(
                [len(answered) / len(judged)],
                [right / len(answered)],
                "D",
                color=_INK["good"],
                label="answers as given, wholly right",
            )
        axes.set(xlabel="share of questions answered", ylabel="accuracy", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.legend(loc="lower left")

    return _draw("coverage", "Accuracy against the share of questions answered", paint)


def _refusal(rows: Sequence[Scored]) -> str | None:
    groups = {
        name: [row.outcome.relevance or 0.0 for row in rows if row.item.answerable is answerable]
        for name, answerable in (("answerable", True), ("unanswerable", False))
    }
    if not all(groups.values()):
        return None

    def paint(axes: Axes) -> None:
        bins = [place / 20 for place in range(21)]
        for (name, values), colour in zip(groups.items(), ("accent", "warn"), strict=True):
            weights = [1 / len(values)] * len(values)
            axes.hist(values, bins, weights=weights, color=_INK[colour], alpha=0.55, label=name)
        axes.set(xlabel="relevance of the first paper", ylabel="share of questions", xlim=(0, 1))
        axes.legend()

    return _draw("refusal", "Relevance of the first paper, by whether the question can be answered", paint)


def _calibration(rows: Sequence[Scored]) -> str | None:
    known = [
        (row.outcome.relevance, row.outcome.ranking[0] in {gold.paper_id for gold in row.golds})
        for row in rows
        if row.outcome.relevance is not None and row.outcome.ranking and (row.golds or not row.item.answerable)
    ]
    if not known:
        return None
    bins: dict[int, list[tuple[float, bool]]] = {}
    for relevance, right in known:
        bins.setdefault(min(int(relevance * 10), 9), []).append((relevance, right))

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=_INK["muted"], linewidth=0.8, linestyle="--", label="perfect")
        places = sorted(bins)
        means = [sum(relevance for relevance, _ in bins[p]) / len(bins[p]) for p in places]
        shares = [bootstrap_mean([right for _, right in bins[p]]) for p in places]
        axes.vlines(means, [s.low or 0 for s in shares], [s.high or 0 for s in shares], color=_INK["accent"])
        axes.plot(means, [s.value or 0 for s in shares], "o", color=_INK["accent"], label="the first paper")
        axes.set(xlabel="stated relevance", ylabel="share relevant", xlim=(0, 1), ylim=(0, 1.02))
        axes.legend(loc="upper left")

    return _draw("calibration", "Stated relevance of the first paper against how often it is relevant", paint)


def verdict_shares(rows: Sequence[Scored]) -> dict[str, list[bool]]:
    """The verifier's verdict -> for each cited sentence with it, whether it cites a relevant paper."""
    shares: dict[str, list[bool]] = {"supported": [], "partial": [], "unsupported": []}
    for row in rows:
        answer = row.outcome.answer
        if not row.golds or answer is None or "sentences" not in answer:
            continue
        papers = {citation["n"]: citation["paper_id"] for citation in answer["citations"]}
        relevant = {gold.paper_id for gold in row.golds}
        for sentence in answer["sentences"]:
            if sentence["citations"]:
                shares[sentence["support"]].append(any(papers.get(n) in relevant for n in sentence["citations"]))
    return shares


def _verifier(rows: Sequence[Scored]) -> str | None:
    shares = {name: values for name, values in verdict_shares(rows).items() if values}
    if not shares:
        return None

    def paint(axes: Axes) -> None:
        names = [f"{name} ({len(values)})" for name, values in shares.items()]
        _bars(axes, names, {"": [bootstrap_mean(values) for values in shares.values()]}, ("good",))
        axes.set(xlabel="share of cited sentences that cite a relevant paper")

    return _draw(
        "verifier",
        "How often a sentence cites a relevant paper, by the verifier's verdict",
        paint,
        1.1 + 0.5 * len(shares),
    )


def _kinds(result: RunResult) -> str | None:
    wanted = ("recall@5",) if result.retrieval_only else ("recall@5", "fact_recall", "citation_precision")
    names = [name for name in wanted if result.summary[name].n]
    if not names:
        return None
    counts = Counter(row.item.kind for row in result.rows)
    kinds = [kind for kind, figures in result.by_kind.items() if any(figures[name].n for name in names)]

    def paint(axes: Axes) -> None:
        groups = {BY_NAME[name].title: [result.by_kind[kind][name] for kind in kinds] for name in names}
        _bars(axes, [f"{_short(kind)} ({counts[kind]})" for kind in kinds], groups, ("accent", "good", "warn"))
        if len(groups) > 1:
            _legend_above(axes)

    return _draw(
        "kinds", "Figures by kind of question", paint, 1.2 + (0.3 + 0.22 * len(names)) * len(kinds) + 0.25 * len(names)
    )


def _bars(axes: Axes, labels: Sequence[str], groups: Mapping[str, Sequence[Estimate]], colours: Sequence[str]) -> None:
    """Horizontal bars with intervals, one group of bars per label, first label on top."""
    thick = 0.8 / len(groups)
    for place, ((name, estimates), colour) in enumerate(zip(groups.items(), colours, strict=False)):
        rows = [(at + place * thick, e) for at, e in enumerate(estimates)]
        known = [(at, e.value, e.low or 0, e.high or 0) for at, e in rows if e.value is not None]
        axes.barh([r[0] for r in known], [r[1] for r in known], thick * 0.9, color=_INK[colour], label=name or None)
        axes.hlines([r[0] for r in known], [r[2] for r in known], [r[3] for r in known], color=_INK["fg"], linewidth=1)
    axes.set_yticks([at + thick * (len(groups) - 1) / 2 for at in range(len(labels))], labels)
    axes.set(xlim=(0, 1.02))
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()


def _short(kind: str) -> str:
    """A kind's name that leaves room for its bars."""
    return kind if len(kind) <= _LABEL else kind[: _LABEL - 1] + "…"


def _legend_above(axes: Axes) -> None:
    figure = axes.get_figure(root=True)
    if figure is not None:
        figure.legend(loc="outside upper left")


def _latency(rows: Sequence[Scored]) -> str | None:
    names = ("latency_first_source_ms", "latency_first_token_ms", "latency_total_ms")
    found = {name: sorted(row.scores[name] / 1000 for row in rows if name in row.scores) for name in names}
    found = {name: values for name, values in found.items() if values}
    if not found:
        return None

    def paint(axes: Axes) -> None:
        from matplotlib.ticker import NullFormatter

        for (name, values), colour in zip(found.items(), ("good", "warn", "accent"), strict=False):
            seen = [max(value, 1e-4) for value in values]
            shares = [place / len(values) for place in range(len(values) + 1)]
            axes.step([seen[0], *seen], shares, where="post", color=_INK[colour], label=BY_NAME[name].title)
        low, high = min(v[0] for v in found.values()), max(v[-1] for v in found.values())
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set(xlabel="seconds", ylabel="share of questions", ylim=(0, 1.02), xlim=_decades(low, high))
        _legend_above(axes)

    return _draw("latency", "Distribution of the times", paint, 4.0)


def _decades(low: float, high: float) -> tuple[float, float]:
    """Limits of a logarithmic axis: whole powers of ten around the data, so that two ticks at least are named."""
    first = math.floor(math.log10(max(low, 1e-4)))
    return 10.0**first, 10.0 ** max(first + 1, math.ceil(math.log10(max(high, 1e-4))))
