"""Reading files into the library from the page: how far it is, and the report at the end."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag.errors import AbstractQAError
from rag.ingest.run import IngestProgress, IngestReport
from ui.desk import Desk
from ui.prose import escape
from ui.text import Words

LOG = logging.getLogger("abstract_qa.ui")
REJECTED_SHOWN = 50


def ingested(desk: Desk, paths: Sequence[Path], words: Words) -> Iterator[str]:
    """Read files, saying how it goes; the last piece is the report. Reading goes on when the page goes away."""
    told: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        try:
            told.put(desk.library.ingest(paths, progress=told.put))
        except Exception as error:  # noqa: BLE001 - told by the one who waits, who must not wait for ever
            told.put(error)

    threading.Thread(target=work, daemon=True).start()
    yield progress(words("reading"), None)
    while True:
        item = told.get()
        while isinstance(item, IngestProgress) and not told.empty():
            item = told.get()
        if isinstance(item, IngestReport):
            yield report_html(item, words)
            return
        if isinstance(item, AbstractQAError):
            yield problem(str(item))
            return
        if isinstance(item, Exception):
            LOG.error("reading failed", exc_info=item)
            yield problem(words("failed"))
            return
        total = f" / {item.total:,}" if item.total else ""
        share = min(1.0, item.done / item.total) if item.total else None
        yield progress(f"{words('reading')}: {Path(item.file).name} — {item.done:,}{total}", share)


def problem(text: str) -> str:
    """A sentence that says what went wrong."""
    return f'<p class="aqa-error" role="alert" dir="auto">{escape(text)}</p>'


def progress(text: str, share: float | None) -> str:
    """What is being done and how much of it is, from 0 to 1; None where it cannot be told."""
    label = escape(text)
    value = f' max="1" value="{share:.3f}"' if share is not None else ""
    return (
        f'<div class="aqa-progress" role="status"><p class="aqa-note">{label}</p>'
        f'<progress aria-label="{label}"{value}></progress></div>'
    )


def report_html(report: IngestReport, words: Words) -> str:
    """What became of the files: the counts, and every entry that was not read with its reason."""
    line = words(
        "ingest_done",
        added=f"{report.added:,}",
        unchanged=f"{report.unchanged:,}",
        replaced=f"{report.replaced:,}",
        merged=f"{report.merged:,}",
        rejected=f"{len(report.rejected):,}",
        seconds=f"{report.seconds:.1f}",
    )
    rows = "".join(
        f"<tr><td><bdi>{escape(Path(item.file).name)}</bdi></td><td>{escape(item.line or '')}</td>"
        f'<td dir="auto">{escape(item.reason)}</td></tr>'
        for item in report.rejected[:REJECTED_SHOWN]
    )
    rest = len(report.rejected) - REJECTED_SHOWN
    more = f'<p class="aqa-note">{escape(words("more_rejected", n=f"{rest:,}"))}</p>' if rest > 0 else ""
    heads = "".join(f'<th scope="col">{escape(words(key))}</th>' for key in ("file", "line", "reason"))
    table = (
        f"<details open><summary>{escape(words('rejected'))}</summary>"
        f'<div class="aqa-table"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{more}'
        "</details>"
        if rows
        else ""
    )
    return f'<div role="status"><p class="aqa-done">{escape(line)}</p>{table}</div>'
