"""The tools offered to MCP clients and to Gradio's own client: ask, search_papers, get_paper."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.events import api

from rag.answer_json import paper_json, search_json, to_json
from rag.errors import AbstractQAError
from rag.events import Done
from rag.types import Filters
from ui.desk import Desk
from ui.users import owner_of, user_of

Json = dict[str, Any]


def tools(desk: Desk) -> tuple[Callable[..., str], ...]:
    """The functions; their names, types and docstrings are what a client sees."""

    def ask(question: str, request: gr.Request, venue: str = "", year_from: int = 0, year_to: int = 0) -> str:
        """Answer a question from the abstracts of the library, every sentence with the paper it comes from.

        Args:
            question: The question, in any language.
            venue: Only papers of this venue; empty for all.
            year_from: Only papers from this year on; 0 for all.
            year_to: Only papers up to this year; 0 for all.
        """

        def answered() -> Json:
            filters = Filters(venue or None, year_from or None, year_to or None)
            with desk.run(owner_of(user_of(request), "mcp")) as run:
                for event in desk.stream(run, question, (), filters):
                    if isinstance(event, Done):
                        return to_json(event.answer)
            return {"error": "The answer ended before it was complete; ask again."}

        return _told(answered)

    def search_papers(query: str, k: int = 10) -> str:
        """Find papers of the library by relevance to a query, each with its most telling sentence.

        Args:
            query: What the papers should be about.
            k: How many papers, at most 50.
        """
        return _told(lambda: search_json(query, desk.library.search(query, max(1, min(int(k), 50)))))

    def get_paper(reference: str) -> str:
        """Everything the library knows of a paper, its abstract included.

        Args:
            reference: A paper id, DOI, arXiv id, exact title or FILE#POSITION.
        """
        return _told(lambda: paper_json(desk.library.paper(reference)))

    return ask, search_papers, get_paper


def offer(desk: Desk) -> None:
    """Offer the tools; call inside `gr.Blocks`."""
    for tool in tools(desk):
        # Outside of the queue, for which Gradio's MCP server would ask over HTTP again, without saying for whom.
        api(tool, api_name=tool.__name__, queue=False)


def _told(make: Callable[[], Json]) -> str:
    """What `make` gives as JSON (Gradio would write a dict in Python's way); an error that is the user's to read."""
    try:
        value = make()
    except AbstractQAError as error:
        value = {"error": str(error)}
    return json.dumps(value, ensure_ascii=False)
