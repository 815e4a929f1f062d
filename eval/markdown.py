"""Runs, comparisons and sweeps as Markdown, for a pull request or a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.compare import Comparison
from eval.metrics import METRICS, Metric
from eval.result import RunResult
from eval.stats import Estimate

_FLIPS = 30  # shown side by side; the rest is counted
_LISTED = 10


def number(metric: Metric, value: float | None) -> str:
    """A value with its unit, "–" for none."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if metric.unit == "ms" else f"{value:.3f}"


def interval(metric: Metric, estimate: Estimate) -> str:
    """`low – high`, "–" where nothing entered."""
    if estimate.value is None:
        return "–"
    return f"{number(metric, estimate.low)} – {number(metric, estimate.high)}"


def summary(result: RunResult) -> str:
    """Headline table with intervals, per kind, failures and what was run."""
    identity = result.info["identity"]
    what = "retrieval only" if result.retrieval_only else f"model {identity['llm']}"
    lines = [f"## {result.questions.name}: {len(result.rows)} questions, {what}", ""]
    lines += _table(
        ["metric", "value", "95% interval", "n"],
        (_row(result, metric) for metric in METRICS if result.summary[metric.name].n),
    )
    names = [
        name
        for name in ("recall@5", "fact_recall", "citation_precision", "citation_recall", "abstain_recall")
        if result.summary[name].n
    ]
    if len(result.by_kind) > 1 and names:
        by_name = {metric.name: metric for metric in METRICS}
        rows = (
            [_safe(kind), *(number(by_name[name], figures[name].value) for name in names)]
            for kind, figures in result.by_kind.items()
        )
        lines += ["", *_table(["kind", *names], rows)]
    lines += ["", "Verdicts: " + ", ".join(f"{count} {name}" for name, count in result.info["verdicts"].items()) + "."]
    if result.failed:
        lines.append(f"Failed and scored at the worst value: {result.failed}.")
    if result.missing:
        named = ", ".join(f"`{_safe(m.reference)}` ({m.question_id})" for m in result.missing[:_LISTED])
        more = len(result.missing) - _LISTED
        lines.append(
            f"Relevant papers that are not in the library and count as misses, {len(result.missing)}: {named}"
            + (f" and {more} more." if more > 0 else ".")
        )
    lines.append(
        f"Set `{identity['set']}`, settings `{identity['settings']}`, library `{identity['library']}`, "
        f"prompts `{identity['prompts']}`, code `{identity['code']}`, version {result.info['version']}, "
        f"{result.info['seconds']:.1f} s of questions."
    )
    return "\n".join(lines) + "\n"


def comparison(compared: Comparison) -> str:
    """Paired differences, then the questions that flipped."""
    lines = [f"## {compared.new.questions.name}: compared on {compared.shared} questions", ""]
    if compared.left_out:
        lines += [f"{compared.left_out} questions are in one run only and are left out.", ""]
    if compared.changed:
        lines += ["Changed: " + "; ".join(f"{n} `{_safe(o)}` → `{_safe(w)}`" for n, o, w in compared.changed) + ".", ""]
    header = ["metric", "old", "new", "difference", "95% interval", "p", "p (Holm)", "won", "tied", "lost"]
    rows = (
        [
            d.metric.name,
            number(d.metric, d.old),
            number(d.metric, d.new),
            _signed(d.metric, d.difference.value),
            f"{_signed(d.metric, d.difference.low)} – {_signed(d.metric, d.difference.high)}",
            f"{d.p:.4f}",
            f"{d.p_holm:.4f}",
            str(d.wins),
            str(d.ties),
            str(d.losses),
        ]
        for d in compared.differences
    )
    lines += _table(header, rows)
    lines += ["", f"{len(compared.flips)} questions have another verdict than before.", ""]
    if compared.flips:
        shown = (
            [
                flip.new.item.id,
                _short(flip.new.item.question),
                f"{flip.old.verdict} → {flip.new.verdict}",
                _short(_said(flip.old.outcome.answer)),
                _short(_said(flip.new.outcome.answer)),
            ]
            for flip in compared.flips[:_FLIPS]
        )
        lines += _table(["id", "question", "verdict", "old answer", "new answer"], shown)
        if len(compared.flips) > _FLIPS:
            lines += ["", f"… and {len(compared.flips) - _FLIPS} more."]
    return "\n".join(lines) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(_table(header, rows)) + "\n"


def _said(answer: object) -> str:
    return str(answer.get("answer", "")) if isinstance(answer, dict) else ""


def _row(result: RunResult, metric: Metric) -> list[str]:
    estimate = result.summary[metric.name]
    value = number(metric, estimate.value)
    if estimate.p95 is not None:
        value += f" (p95 {number(metric, estimate.p95)})"
    return [metric.name, value, interval(metric, estimate), str(estimate.n)]


def _signed(metric: Metric, value: float | None) -> str:
    return "–" if value is None else ("+" if value > 0 else "") + number(metric, value)


def _short(text: str, length: int = 90) -> str:
    text = " ".join(text.split())
    return _safe(text if len(text) <= length else text[: length - 1] + "…")


def _safe(value: object) -> str:
    """Text that cannot break out of a table's cell or of code marks."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
