"""The sources of an answer as cards: title, authors, venue, year, the decisive sentence, the abstract lit up."""

from __future__ import annotations

from collections import defaultdict
from urllib.parse import quote, urlsplit

from rag.types import Paper, RankedPaper
from ui.exchange import Exchange
from ui.icons import icon
from ui.prose import escape, marked, plain
from ui.text import Words

AUTHORS_SHOWN = 4
_SUMMARY_KEY = "abstract_kind"


def sources(exchange: Exchange, words: Words) -> str:
    """All cards of an exchange: cited papers by number, then what was found beside them."""
    papers = exchange.papers
    if not papers:
        return ""
    numbers = exchange.numbers
    ranked = {passage.paper.paper_id: passage for passage in exchange.passages}
    spans = _spans(exchange)
    cited = [paper for paper_id, paper in papers.items() if paper_id in numbers]
    others = [paper for paper_id, paper in papers.items() if paper_id not in numbers]
    parts = [
        card(
            exchange.exchange_id,
            paper,
            words,
            numbers.get(paper.paper_id),
            ranked.get(paper.paper_id),
            spans[paper.paper_id],
        )
        for paper in cited
    ]
    if others:
        if exchange.abstained:
            parts.append(f'<h3 class="aqa-sources-sub">{escape(words("nearest"))}</h3>')
        elif cited and exchange.state != "running":
            parts.append(f'<h3 class="aqa-sources-sub">{escape(words("also_found"))}</h3>')
        parts += [
            card(exchange.exchange_id, paper, words, None, ranked.get(paper.paper_id), spans[paper.paper_id])
            for paper in others
        ]
    return "".join(parts)


def _spans(exchange: Exchange) -> dict[str, list[tuple[int, int]]]:
    """What to mark in each abstract: the evidence of the answer, else of the search, else the telling sentence."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for sentence in exchange.sentences:
        for piece in sentence.evidence:
            spans[piece.paper_id].append((piece.span.start, piece.span.end))
    for piece in exchange.evidence:
        if piece.paper_id not in spans:
            spans[piece.paper_id].append((piece.span.start, piece.span.end))
    for passage in exchange.passages:
        if passage.paper.paper_id not in spans and _is_in(passage):
            spans[passage.paper.paper_id].append((passage.quote.start, passage.quote.end))
    return spans


def _is_in(passage: RankedPaper) -> bool:
    span = passage.quote
    return bool(span.text) and passage.paper.abstract[span.start : span.end] == span.text


def card(
    scope: str,
    paper: Paper,
    words: Words,
    n: int | None,
    passage: RankedPaper | None,
    spans: list[tuple[int, int]],
) -> str:
    """One source. `scope` keeps ids apart between exchanges; `n` is None for a paper that is not cited."""
    card_id = f"src-{escape(scope)}-{escape(paper.paper_id)}"
    number = f'<span class="aqa-num">{n}</span>' if n is not None else '<span class="aqa-num aqa-num-none"></span>'
    quoted = _quote(paper, passage, spans)
    quote_html = f'<blockquote class="aqa-quote" dir="auto">{plain(quoted)}</blockquote>' if quoted else ""
    return (
        f'<article class="aqa-card{"" if n is None else " aqa-cited"}" id="{card_id}" '
        f'data-paper="{escape(paper.paper_id)}" data-n="{n or ""}" tabindex="-1">'
        f'<h4><button type="button" class="aqa-card-head" data-act="toggle" aria-expanded="false" '
        f'aria-controls="{card_id}-full">{number}<span class="aqa-title" dir="auto">{plain(paper.title)}</span>'
        f"{icon('chevron')}</button></h4>"
        f'<p class="aqa-meta"><span>{meta(paper)}</span>{_relevance(passage, words)}</p>'
        f"{quote_html}"
        f'<div class="aqa-full" id="{card_id}-full" hidden>{_abstract(paper, words, spans)}'
        f'<p class="aqa-card-actions">{_actions(paper, words)}</p>'
        '<div class="aqa-similar" aria-live="polite"></div></div></article>'
    )


def export_buttons(words: Words) -> str:
    """What can be saved of a conversation: its sources in three formats, and itself."""
    formats = ("bibtex", "BibTeX"), ("ris", "RIS"), ("markdown", "Markdown")
    return "".join(
        f'<button type="button" class="aqa-link" data-act="export" data-format="{name}">{escape(label)}</button>'
        for name, label in (*formats, ("conversation", words("export_conversation")))
    )


def dialog(paper: Paper, words: Words, shown: str) -> str:
    """One paper by itself, in a dialog that `script.js` opens; `shown` changes with every showing."""
    close = escape(words("close"))
    return (
        f'<dialog class="aqa-dialog" data-shown="{escape(shown)}" aria-labelledby="aqa-dialog-title">'
        f'<article class="aqa-card aqa-open" data-paper="{escape(paper.paper_id)}">'
        f'<h2 id="aqa-dialog-title" dir="auto">{plain(paper.title)}</h2>'
        f'<button type="button" class="aqa-icon aqa-dialog-close" data-act="close" '
        f'aria-label="{close}" title="{close}">{icon("close")}</button>'
        f'<p class="aqa-meta">{meta(paper)}</p>{_abstract(paper, words, [])}'
        f'<p class="aqa-card-actions">{_actions(paper, words)}</p>'
        '<div class="aqa-similar" aria-live="polite"></div></article></dialog>'
    )


def meta(paper: Paper) -> str:
    """Authors, venue and year in one line; where it was read when nothing else is known."""
    shown = list(paper.authors[:AUTHORS_SHOWN])
    authors = ", ".join(shown) + (" et al." if len(paper.authors) > len(shown) else "")
    parts = [part for part in (authors, paper.where) if part] or [paper.locator or ""]
    return '<span class="aqa-dot"> · </span>'.join(f"<bdi>{escape(part)}</bdi>" for part in parts)


def safe_url(url: str | None) -> str | None:
    """The address if it is one of the web, None for anything else (`javascript:`, `data:`, a path)."""
    if not url:
        return None
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return url.strip() if parts.scheme in ("http", "https") and parts.netloc else None


def link_of(paper: Paper) -> str | None:
    """Where the paper can be read: its own address, else its DOI's or arXiv's."""
    if own := safe_url(paper.url):
        return own
    if paper.doi:
        return f"https://doi.org/{quote(paper.doi, safe='/')}"
    if paper.arxiv_id:
        return f"https://arxiv.org/abs/{quote(paper.arxiv_id, safe='/')}"
    return None


def _quote(paper: Paper, passage: RankedPaper | None, spans: list[tuple[int, int]]) -> str:
    if spans:
        start, end = spans[0]
        return paper.abstract[start:end]
    if passage is not None and passage.quote.text != paper.title:
        return passage.quote.text
    return ""


def _relevance(passage: RankedPaper | None, words: Words) -> str:
    if passage is None:
        return ""
    percent = round(100 * min(max(passage.relevance, 0.0), 1.0))
    label = escape(words("relevance", p=percent))
    return (
        f'<span class="aqa-score" role="img" aria-label="{label}" title="{label}">'
        f'<span style="width:{percent}%"></span></span>'
    )


def _abstract(paper: Paper, words: Words, spans: list[tuple[int, int]]) -> str:
    if not paper.abstract:
        return f'<p class="aqa-note">{escape(words("no_abstract"))}</p>'
    note = f'<p class="aqa-note">{escape(words("summary_note"))}</p>' if paper.extra.get(_SUMMARY_KEY) else ""
    return f'<div class="aqa-abstract" dir="auto">{marked(paper.abstract, spans)}</div>{note}'


def _actions(paper: Paper, words: Words) -> str:
    url = link_of(paper)
    link = (
        f'<a class="aqa-link" href="{escape(url)}" target="_blank" rel="noopener noreferrer nofollow">'
        f"{icon('open')}{escape(words('open_paper'))}</a>"
        if url
        else ""
    )
    return (
        f'{link}<button type="button" class="aqa-link" data-act="similar">{icon("similar")}'
        f"{escape(words('more_like'))}</button>"
        f'<button type="button" class="aqa-link" data-act="bibtex">{icon("copy")}'
        f"{escape(words('copy_bibtex'))}</button>"
    )
