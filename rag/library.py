"""`Library`: the Python API over all of it. The command line, the browser, HTTP, MCP and the evaluation use this.

from rag import Library
with Library.open() as library:
    library.ingest(["papers.bib"])
    answer = library.ask("Which papers quantise the key-value cache?")
    print(answer.text, [citation.paper.title for citation in answer.citations])
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rag.answering.pipeline import Answerer
from rag.answering.verify import Verifier
from rag.errors import AbstractQAError, InputError
from rag.events import Event
from rag.ingest.run import IngestOptions, IngestProgress, IngestReport, ingest
from rag.models import hardware
from rag.models import known as models
from rag.models.writer import Writer
from rag.search.retrieve import Searcher
from rag.settings import Settings, load_settings
from rag.store.index import Index
from rag.store.records import Order
from rag.types import Answer, Filters, Paper, RankedPaper, Turn

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder

NO_FILTERS = Filters()
NO_LLM = "none"


def _silent(_: object) -> None:
    """Progress for nobody."""


class Library:
    """One library on disk, its embedder, and the model that answers from it.

    Use it as a context manager, or call `close`. Safe to use from several threads.
    """

    def __init__(self, settings: Settings, index: Index) -> None:
        """Use `Library.open`."""
        self.settings = settings
        self.index = index
        self._writers: dict[str, Writer] = {}
        self._loading = threading.Lock()

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        *,
        write: bool = False,
        rebuild: bool = False,
        embed: bool = True,
        encoder: Encoder | None = None,
        progress: Callable[[models.PullProgress], None] = _silent,
        **settings: Any,
    ) -> Self:
        """The library under `home` (None: the default home), made if it is not there.

        `settings` are fields of Settings. `encoder` replaces the embedder that the settings name; any LangChain
        Embeddings fits through `rag.models.embeddings.wrap`. A model that is not on this machine is fetched first, with
        `progress`, and loaded when the first vector is wanted. `write` keeps other writers out until it is closed;
        `rebuild` embeds all papers anew; `embed` False does without an embedder, for listing, showing, exporting and
        removing papers.
        Raises SettingsError, ModelError and LibraryError.
        """
        chosen = load_settings(Path(home) if home is not None else None, **settings)
        hardware.keep_under(chosen.home)
        if encoder is None and embed:
            from rag.models.embeddings import DeferredEncoder, load_encoder

            resolved = models.ensure(chosen.embedder, chosen.home, "embedder", progress)
            encoder = DeferredEncoder(resolved.name, resolved.fingerprint, lambda: load_encoder(resolved, chosen))
        return cls(chosen, Index.open(chosen, encoder, write=write, rebuild=rebuild))

    def warm(self) -> None:
        """Load the embedder in the background, so that the first question need not wait for all of it.

        What goes wrong is raised where the embedder is first wanted.
        """
        encoder = self.index.encoder

        def load() -> None:
            with suppress(AbstractQAError):
                encoder.encode(["The first text takes longer."])

        if not encoder.loaded:
            threading.Thread(target=load, name="embedder", daemon=True).start()

    def close(self) -> None:
        """Let go of the files."""
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def searcher(self) -> Searcher:
        """What ranks the papers."""
        return Searcher(self.index, self.settings)

    @cached_property
    def _verifier(self) -> Verifier:
        return Verifier(self.index.encoder)

    # Asking

    def ask(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = NO_FILTERS,
        k: int | None = None,
        llm: str | None = None,
    ) -> Answer:
        """The answer to `question`; `llm` names another model for this call, "none" for none."""
        return self.answerer(llm).ask(question, history, filters, k)

    def stream(
        self,
        question: str,
        history: Sequence[Turn] = (),
        filters: Filters = NO_FILTERS,
        k: int | None = None,
        cancel: threading.Event | None = None,
        llm: str | None = None,
        owner: str = "",
    ) -> Iterator[Event]:
        """The events of one answer, see `rag.events` and `Answerer.stream`."""
        return self.answerer(llm).stream(question, history, filters, k, cancel, owner)

    def answerer(self, llm: str | None = None) -> Answerer:
        """The pipeline with the model `llm` (None: the one in the settings), loaded on first use."""
        reference = llm or self.settings.llm
        writer = None if reference == NO_LLM else self.writer(reference)
        return Answerer(self.index, self.searcher, self._verifier, self.settings, writer)

    def writer(self, reference: str, progress: Callable[[models.PullProgress], None] = _silent) -> Writer:
        """The model `reference` ready to write; it is kept, so that a second call costs nothing."""
        with self._loading:
            if reference not in self._writers:
                from rag.models.chat_model import load_chat_model

                resolved = models.ensure(reference, self.settings.home, "llm", progress)
                chat = load_chat_model(resolved, self.settings)
                self._writers[reference] = Writer(chat, resolved.description)
            return self._writers[reference]

    # Finding

    def search(self, query: str, k: int = 10, filters: Filters = NO_FILTERS) -> tuple[RankedPaper, ...]:
        """The `k` best papers for `query`, no model used. Raises InputError for an empty query, LibraryEmpty."""
        return self.searcher.search(query, k, filters)

    def similar(self, reference: str, k: int = 5) -> tuple[RankedPaper, ...]:
        """Papers like the one named, without itself."""
        paper = self.paper(reference)
        found = self.searcher.search(f"{paper.title}. {paper.abstract}", k + 1, NO_FILTERS)
        return tuple(hit for hit in found if hit.paper.paper_id != paper.paper_id)[:k]

    # The papers

    def ingest(
        self,
        paths: Sequence[str | Path],
        options: IngestOptions | None = None,
        progress: Callable[[IngestProgress], None] = _silent,
    ) -> IngestReport:
        """Read files or folders into the library; see `rag.ingest.run`."""
        return ingest(paths, self.index, options or IngestOptions(), progress)

    def papers(
        self,
        filters: Filters = NO_FILTERS,
        text: str | None = None,
        source: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        order: Order = "added",
        descending: bool = False,
    ) -> tuple[Paper, ...]:
        """Papers that match, in the order they came in or by another field; `limit` None means all."""
        rows = self.index.rows(filters, text, source, order, descending)
        chosen = rows[offset : None if limit is None else offset + limit]
        found = self.index.papers(chosen)
        return tuple(found[row] for row in chosen if row in found)

    def count(self, filters: Filters = NO_FILTERS, text: str | None = None, source: str | None = None) -> int:
        """How many papers match."""
        return len(self.index.rows(filters, text, source))

    def venue_counts(self) -> list[tuple[str, int]]:
        """Papers of each venue, most first; papers without a venue are not counted."""
        return self.index.records.venue_counts()

    def year_counts(self) -> list[tuple[int, int]]:
        """Papers of each year, earliest first; papers without a year are not counted."""
        return self.index.records.year_counts()

    def paper(self, reference: str) -> Paper:
        """The paper known by an id, DOI, arXiv id, exact title or `FILE#POSITION`. Raises InputError when unknown."""
        found = self.index.find(reference)
        if found is None:
            raise InputError(
                f"No paper in the library is known as {reference!r}; give a paper id, DOI, arXiv id, "
                "exact title or FILE#POSITION (`abstract-qa papers list` shows them)."
            )
        return found

    def remove(self, references: Iterable[str]) -> int:
        """Remove the papers named; returns how many were. Raises InputError for an unknown one, removing none."""
        return self.index.remove([self.paper(reference).paper_id for reference in references])
