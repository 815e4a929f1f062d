"""Answers, search results and papers as plain JSON values, in the shapes that other programs rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag.types import Answer, AnswerSentence, Citation, Filters, Match, Paper, RankedPaper

Json = dict[str, Any]


def to_json(answer: Answer) -> Json:
    """The Answer object that `ask --json` prints. `n` is the same number in answer, sentences and citations."""
    question = answer.question
    timings = answer.timings
    return {
        "question": question.text,
        "standalone_question": question.standalone,
        "search_text": question.search_text,
        "kind": question.kind,
        "language": question.language,
        "filters": filters_json(question.filters),
        "notes": [*question.notes, *answer.notes],
        "status": answer.status,
        "answer": answer.text,
        "sentences": [_sentence(sentence) for sentence in answer.sentences],
        "citations": [_citation(citation) for citation in answer.citations],
        "passages": [passage_json(passage) for passage in answer.passages],
        "nearest": [passage_json(passage) for passage in answer.nearest],
        "total_matches": answer.total_matches,
        "matches": None if answer.matches is None else [_match(match) for match in answer.matches],
        "timings_ms": {
            "understand": timings.understand,
            "retrieve": timings.retrieve,
            # Where nothing was found or no model wrote, the first to be seen is the whole answer.
            "first_source": timings.total if timings.first_source is None else timings.first_source,
            "first_token": timings.total if timings.first_token is None else timings.first_token,
            "total": timings.total,
        },
        "model": dict(answer.model),
        "settings": answer.settings,
    }


def search_json(query: str, ranked: Sequence[RankedPaper]) -> Json:
    """The object that `search --json` prints."""
    return {
        "query": query,
        "papers": [
            {
                "rank": hit.rank,
                "paper_id": hit.paper.paper_id,
                "locator": hit.paper.locator,
                "title": hit.paper.title,
                "venue": hit.paper.venue,
                "year": hit.paper.year,
                "url": hit.paper.url,
                "score": hit.score,
                "quote": hit.quote.text,
            }
            for hit in ranked
        ],
    }


def paper_json(paper: Paper) -> Json:
    """Everything known of a paper."""
    return {
        "paper_id": paper.paper_id,
        "title": paper.title,
        "titled": paper.titled,
        "abstract": paper.abstract,
        "authors": list(paper.authors),
        "venue": paper.venue,
        "year": paper.year,
        "url": paper.url,
        "doi": paper.doi,
        "arxiv_id": paper.arxiv_id,
        "pmid": paper.pmid,
        "openreview_id": paper.openreview_id,
        "keywords": list(paper.keywords),
        "aliases": list(paper.aliases),
        "locator": paper.locator,
        "sources": [{"path": source.path, "position": source.position} for source in paper.sources],
        "extra": dict(paper.extra),
    }


def passage_json(passage: RankedPaper) -> Json:
    """A found paper with the text it was found by."""
    return {
        "rank": passage.rank,
        "paper_id": passage.paper.paper_id,
        "locator": passage.paper.locator,
        "title": passage.paper.title,
        "score": passage.score,
        "relevance": passage.relevance,
        "text": passage.paper.abstract,
        "quote": {"start": passage.quote.start, "end": passage.quote.end, "text": passage.quote.text},
    }


def filters_json(filters: Filters) -> Json:
    """Filters as venue and both ends of the years; null where there is no restriction."""
    return {"venue": filters.venue, "year_from": filters.year_from, "year_to": filters.year_to}


def _sentence(sentence: AnswerSentence) -> Json:
    return {
        "text": sentence.text,
        "citations": list(sentence.citations),
        "support": sentence.support,
        "evidence": [
            {"n": found.n, "start": found.span.start, "end": found.span.end, "text": found.span.text}
            for found in sentence.evidence
        ],
    }


def _citation(citation: Citation) -> Json:
    paper = citation.paper
    return {
        "n": citation.n,
        "paper_id": paper.paper_id,
        "locator": paper.locator,
        "title": paper.title,
        "authors": list(paper.authors),
        "venue": paper.venue,
        "year": paper.year,
        "url": paper.url,
        "quote": citation.quote,
    }


def _match(match: Match) -> Json:
    paper = match.paper
    return {
        "paper_id": paper.paper_id,
        "locator": paper.locator,
        "title": paper.title,
        "venue": paper.venue,
        "year": paper.year,
        "relevance": match.relevance,
        "quote": {"start": match.quote.start, "end": match.quote.end, "text": match.quote.text},
    }
