"""Exchanges as HTML: pure functions, nothing read or kept here. Data attributes are for `script.js`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby, zip_longest

from rag.types import AnswerSentence, Filters, Match, Paper, Question
from ui.cards import export_buttons, meta, sources
from ui.exchange import Exchange
from ui.followups import follow_ups
from ui.icons import icon
from ui.prose import escape, inline, is_list_item, plain
from ui.text import Words

PAGE = 10
_SIDE = re.compile(r"(?P<name>[^“”]{1,80}?)[:：]\s*(?P<quoted>“.+”)\s*", re.DOTALL)
_ENDS = (".", "!", "?", "。", "！", "？", "…")


def exchange_html(exchange: Exchange, words: Words, *, last: bool = True) -> str:
    """One question with its answer; its source cards are hidden in it, the page shows a copy in the panel."""
    cards = sources(exchange, words)
    version = hashlib.sha1(cards.encode(), usedforsecurity=False).hexdigest()[:10]
    busy = exchange.state == "running"
    return (
        f'<section class="aqa-exchange" data-exchange="{escape(exchange.exchange_id)}" data-state="{exchange.state}" '
        f'data-sources="{version}" data-count="{len(exchange.papers)}">'
        f"{_asked(exchange, words)}"
        f'<div class="aqa-answer" aria-busy="{str(busy).lower()}">'
        f'<h3 class="aqa-sr">{escape(words("answer"))}</h3>'
        f"{_notes(exchange, words)}{_body(exchange, words)}{_status(exchange, words)}"
        f"{'' if busy else _foot(exchange, words)}</div>"
        f'<details class="aqa-inline-sources"{"" if cards else " hidden"}><summary>{escape(words("sources"))} '
        f'<span class="aqa-count">{len(exchange.papers)}</span></summary>'
        f'<div class="aqa-inline-export">{export_buttons(words)}</div>'
        f'<div class="aqa-mount"></div></details>'
        f'<div class="aqa-cards" hidden>{cards}</div>'
        f"{follow_ups(exchange, words) if last and not busy else ''}"
        "</section>"
    )


def _asked(exchange: Exchange, words: Words) -> str:
    return (
        f'<div class="aqa-asked"><h2 class="aqa-question" dir="auto"><span class="aqa-sr">{escape(words("you"))}: '
        f'</span><span class="aqa-question-text">{escape(exchange.text)}</span></h2>'
        f'<button type="button" class="aqa-icon" data-act="edit" title="{escape(words("edit"))}" '
        f'aria-label="{escape(words("edit"))}">{icon("edit")}</button></div>'
    )


def _notes(exchange: Exchange, words: Words) -> str:
    """What was searched, where it differs from what was typed; each can be taken back."""
    question = exchange.question
    if question is None:
        return ""
    chips: list[str] = []
    if question.standalone.strip() != question.text.strip():
        text = f"{words('searched_for')}: {question.standalone}"
        chips.append(_chip(text, words("ask_alone"), "alone"))
    chips += [
        _chip(label, words("drop_filter"), f"drop-{name}") for name, label in _filter_labels(question.filters).items()
    ]
    if question.language != "en" and question.search_text != question.standalone:
        named = words("language_zh") if question.language == "zh" else words("language_other")
        searched = words("language_note", language=named, text=question.search_text)
        chips.append(f'<span class="aqa-chip"><bdi>{escape(searched)}</bdi></span>')
    said = [f'<span class="aqa-note" dir="auto">{escape(note)}</span>' for note in _other_notes(question, words)]
    return f'<p class="aqa-notes">{"".join(chips + said)}</p>' if chips or said else ""


def _filter_labels(filters: Filters) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    if filters.venue:
        labels["venue"] = filters.venue
    years = [year for year in (filters.year_from, filters.year_to) if year is not None]
    if len(set(years)) == 1 and len(years) == 2:
        labels["years"] = str(years[0])
    elif years:
        labels["years"] = f"{filters.year_from or ''}–{filters.year_to or ''}"
    return labels


def _other_notes(question: Question, words: Words) -> list[str]:
    """What the chips do not say, in the page's language: that it was not translated, that not all was searched."""
    said: list[str] = []
    alone, searched = question.standalone.strip(), question.search_text.strip()
    if question.language != "en" and searched == alone:
        said.append(words("not_translated"))
    elif not question.filters and len(searched) < len(alone) and alone.startswith(searched):
        said.append(words("searched_part", share=f"{len(searched) / len(alone):.0%}"))
    return said


def _chip(text: str, action: str, act: str) -> str:
    return (
        f'<span class="aqa-chip"><bdi>{escape(text)}</bdi><button type="button" data-act="{act}" '
        f'title="{escape(action)}" aria-label="{escape(action)}: {escape(text)}">{icon("close")}</button></span>'
    )


def _body(exchange: Exchange, words: Words) -> str:
    if exchange.abstained:
        reason = exchange.reason or (exchange.answer.text if exchange.answer else "")
        return (
            f'<div class="aqa-refusal"><p><strong>{escape(words("abstained"))}</strong></p>'
            f'<p dir="auto">{inline(reason)}</p></div>'
        )
    if exchange.answer is not None and exchange.answer.matches is not None:
        return _matches(exchange, exchange.answer.matches, words)
    shown = [sentence for sentence in exchange.sentences if sentence.support != "unsupported"]
    if table := _compared(shown, exchange, words):
        return table + _left_out(exchange, words)
    blocks: list[str] = []
    for listed, group in groupby(shown, key=lambda sentence: is_list_item(sentence.text)):
        parts = [_sentence(sentence, exchange, words) for sentence in group]
        blocks.append(
            "<ul>" + "".join(f'<li dir="auto">{part}</li>' for part in parts) + "</ul>"
            if listed
            else f'<p dir="auto">{" ".join(parts)}{_draft(exchange) if len(blocks) == 0 else ""}</p>'
        )
    if not blocks and exchange.draft:
        blocks.append(f'<p dir="auto">{_draft(exchange)}</p>')
    return "".join(blocks) + _left_out(exchange, words)


def _compared(shown: list[AnswerSentence], exchange: Exchange, words: Words) -> str:
    """A comparison in quotations, each opening with the name of its side: a column for each side."""
    if exchange.question is None or exchange.question.kind != "compare":
        return ""
    columns: dict[str, list[str]] = {}
    for sentence in shown:
        found = _SIDE.fullmatch(sentence.text)
        if found is None:
            return ""
        text = found["quoted"]
        columns.setdefault(found["name"], []).append(_sentence(replace(sentence, text=text), exchange, words))
    if len(columns) < 2:
        return ""
    heads = "".join(f'<th scope="col" dir="auto">{plain(name)}</th>' for name in columns)
    rows = "".join(
        "<tr>" + "".join(f'<td dir="auto">{cell}</td>' for cell in row) + "</tr>"
        for row in zip_longest(*columns.values(), fillvalue="")
    )
    return f'<div class="aqa-compared"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _draft(exchange: Exchange) -> str:
    return f' <span class="aqa-draft">{escape(exchange.draft)}</span>' if exchange.draft else ""


def _left_out(exchange: Exchange, words: Words) -> str:
    left = [sentence for sentence in exchange.sentences if sentence.support == "unsupported"]
    if not left:
        return ""
    items = "".join(f'<li dir="auto">{inline(sentence.text)}</li>' for sentence in left)
    return (
        f'<details class="aqa-left-out"><summary>{escape(words.count("unsupported", len(left)))}</summary>'
        f"<ul>{items}</ul></details>"
    )


def _sentence(sentence: AnswerSentence, exchange: Exchange, words: Words) -> str:
    """A sentence with its chips before its closing mark, and a quiet label where it is supported in part."""
    text, end = sentence.text.strip(), ""
    if text.endswith(_ENDS):
        text, end = text[:-1], text[-1]
    chips = "".join(chip(n, sentence, exchange, words) for n in sentence.citations)
    partly = (
        f'<span class="aqa-partly" title="{escape(words("partial_hint"))}">{escape(words("partial"))}</span>'
        if sentence.support == "partial"
        else ""
    )
    gap = "&hairsp;" if chips else ""
    return (
        f'<span class="aqa-s" data-support="{sentence.support}">{inline(text)}{gap}{chips}{escape(end)}{partly}</span>'
    )


def chip(n: int, sentence: AnswerSentence, exchange: Exchange, words: Words) -> str:
    """The number of a source as a button, with what shows when it is pointed at or focused."""
    paper = next((paper for paper_id, paper in exchange.papers.items() if exchange.numbers.get(paper_id) == n), None)
    pieces = [piece for piece in sentence.evidence if piece.n == n]
    starts = " ".join(str(piece.span.start) for piece in pieces)
    label = f"{words('sources')} {n}" + (f": {paper.title}" if paper else "")
    tip = _tip(n, paper, pieces[0].span.text if pieces else "") if paper else ""
    return (
        f'<button type="button" class="aqa-cite" data-act="cite" data-n="{n}" data-starts="{starts}" '
        f'data-paper="{escape(paper.paper_id) if paper else ""}" aria-label="{escape(label)}">'
        f"<span>[</span>{n}<span>]</span></button>{tip}"
    )


def _tip(n: int, paper: Paper, quoted: str) -> str:
    quote_html = f'<span class="aqa-tip-quote" dir="auto">{plain(quoted)}</span>' if quoted else ""
    return (
        f'<span class="aqa-tip" hidden><span class="aqa-tip-title" dir="auto"><span class="aqa-num">{n}</span>'
        f'{plain(paper.title)}</span><span class="aqa-meta">{meta(paper)}</span>{quote_html}</span>'
    )


def _matches(exchange: Exchange, matches: tuple[Match, ...], words: Words) -> str:
    """The answer to a list question: how many, what was said of them, and all of them, a page at a time."""
    numbers = exchange.numbers
    items = "".join(
        f'<li{" hidden" if place >= PAGE else ""}><button type="button" class="aqa-open-paper aqa-match-title" '
        f'data-act="paper" data-paper="{escape(match.paper.paper_id)}" dir="auto">{plain(match.paper.title)}'
        f"</button> {_match_chip(match, numbers, words)}"
        f'<span class="aqa-meta">{meta(match.paper)}</span></li>'
        for place, match in enumerate(matches)
    )
    rest = len(matches) - PAGE
    more = (
        f'<button type="button" class="aqa-more" data-act="more" data-page="{PAGE}" '
        f'data-label="{escape(words("show_more", n="{n}"))}">'
        f"{escape(words('show_more', n=min(rest, PAGE)))}</button>"
        if rest > 0
        else ""
    )
    return (
        f'<p class="aqa-total">{escape(words.count("matches", len(matches)))}</p>'
        f'<ol class="aqa-matches">{items}</ol>{more}'
    )


def _match_chip(match: Match, numbers: Mapping[str, int], words: Words) -> str:
    n = numbers.get(match.paper.paper_id)
    if n is None:
        return ""
    return (
        f'<button type="button" class="aqa-cite" data-act="cite" data-n="{n}" data-starts="{match.quote.start}" '
        f'data-paper="{escape(match.paper.paper_id)}" aria-label="{escape(words("sources"))} {n}">'
        f"<span>[</span>{n}<span>]</span></button>{_tip(n, match.paper, match.quote.text)}"
    )


def _status(exchange: Exchange, words: Words) -> str:
    """Where the answer stands while it is made, or why it ended early."""
    if exchange.state == "running" and exchange.error:
        return f'<p class="aqa-note" role="status">{escape(exchange.error)}</p>'
    if exchange.state == "running":
        ahead = f" · {words.count('ahead', exchange.ahead)}" if exchange.ahead else ""
        return (
            f'<p class="aqa-stage" role="status" data-asked="{escape(exchange.asked)}"><span class="aqa-pulse"></span>'
            f'{escape(words("stage_" + exchange.stage))}{escape(ahead)} <span class="aqa-elapsed"></span></p>'
        )
    if exchange.state == "stopped":
        return f'<p class="aqa-note">{escape(exchange.error or words("stopped"))}</p>'
    if exchange.state == "failed":
        return f'<p class="aqa-error" role="alert">{escape(exchange.error or words("failed"))}</p>'
    told = exchange.answer.notes if exchange.answer is not None else ()
    return "".join(f'<p class="aqa-note" dir="auto">{escape(note)}</p>' for note in told)


def _foot(exchange: Exchange, words: Words) -> str:
    """What can be done with an answer, and how it was made."""

    def button(act: str, name: str, key: str, pressed: bool | None = None) -> str:
        state = "" if pressed is None else f' aria-pressed="{str(pressed).lower()}"'
        label = escape(words(key))
        return (
            f'<button type="button" class="aqa-icon" data-act="{act}" title="{label}" aria-label="{label}"{state}>'
            f"{icon(name)}</button>"
        )

    rated = (
        ""
        if exchange.answer is None
        else (
            button("up", "up", "good", exchange.rating == "up")
            + button("down", "down", "bad", exchange.rating == "down")
        )
    )
    copied = "" if exchange.answer is None else button("copy", "copy", "copy")
    return (
        f'<div class="aqa-foot">{copied}{button("retry", "retry", "retry")}{rated}'
        f'<span class="aqa-made">{_made(exchange, words)}</span></div>'
        f'<div class="aqa-reason" hidden></div>'
    )


def _made(exchange: Exchange, words: Words) -> str:
    if exchange.answer is None:
        return ""
    seconds = words("seconds", s=f"{exchange.answer.timings.total / 1000:.1f}")
    model = exchange.answer.model
    author = (model.get("name") if model.get("wrote", True) else None) or words("without_model")
    return f"{escape(author)} · {escape(seconds)}"
