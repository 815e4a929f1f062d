"""BM25 over titles, abstracts and authors in tantivy. The only module that imports tantivy.

Terms are made by `analysis`; tantivy sees them as words between spaces. Everything in the index can be made again
from the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import tantivy

from rag.errors import LibraryDamaged, StorageError
from rag.texts.analysis import terms
from rag.types import Paper

# docs/decisions/0007: a higher weight for title terms gains nothing; authors count little, so that a common name
# does not outweigh the subject.
AUTHORS_BOOST = 0.25
TOKENIZER = "terms"
# More distinct terms than any question has; a pasted book is cut, not refused.
MOST_TERMS = 400
HEAP = 64_000_000


class Lexical:
    """The lexical index of one library in a folder. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """Opens or makes the index. Raises LibraryDamaged when what is there is no sound index, StorageError."""
        self.folder = folder
        with _translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._schema = _schema()
            self._index = tantivy.Index(self._schema, str(folder))
            analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._index.register_tokenizer(TOKENIZER, analyzer)
            self._index.config_reader("manual")
            self._index.reload()

    def count(self) -> int:
        """Papers in the index."""
        with _translated(self.folder):
            return self._index.searcher().num_docs

    def rows(self) -> set[int]:
        """Rows of all papers in the index."""
        return {row for row, _ in self._search(tantivy.Query.all_query(), max(1, self.count()))}

    def update(self, papers: Mapping[int, Paper], leaving: Iterable[int] = ()) -> None:
        """Add papers or replace those of the same row, remove the rows `leaving`, and commit: all of it or nothing."""
        gone = [*leaving, *papers]
        with _translated(self.folder):
            writer = self._index.writer(HEAP, 1)
            try:
                # Deleting by term leaves fields of numbers untouched in tantivy 0.27; a query finds them.
                writer.delete_documents_by_query(tantivy.Query.term_set_query(self._schema, "row", gone))
                for row, paper in papers.items():
                    writer.add_document(_document(row, paper))
                writer.commit()
            except BaseException:
                writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()
            self._index.reload()

    def reload(self) -> None:
        """See what another process has committed."""
        with _translated(self.folder):
            self._index.reload()

    def search(
        self,
        text: str,
        n: int,
        venues: Sequence[str] | None = None,
        years: tuple[int | None, int | None] = (None, None),
    ) -> list[tuple[int, float]]:
        """The `n` best rows with their BM25 score, best first; rows that share no term with `text` are not found.

        `venues` are whole names as papers state them (None: any); `years` both ends in, None for an open end.
        """
        wanted = list(dict.fromkeys(terms(text)))[:MOST_TERMS]
        if not wanted:
            return []
        should = tantivy.Occur.Should
        clauses = [(should, self._any_field(term)) for term in wanted]
        query = tantivy.Query.boolean_query(clauses)
        restrictions = []
        if venues is not None:
            restrictions.append(
                tantivy.Query.term_set_query(self._schema, "venue", [name.casefold() for name in venues])
            )
        if years != (None, None):
            restrictions.append(
                tantivy.Query.range_query(
                    self._schema, "year", tantivy.FieldType.Integer, years[0] or -(2**62), years[1] or 2**62
                )
            )
        if restrictions:
            must = tantivy.Occur.Must
            silent = [(must, tantivy.Query.const_score_query(restriction, 0.0)) for restriction in restrictions]
            query = tantivy.Query.boolean_query([(must, query), *silent])
        return self._search(query, n)

    def _any_field(self, term: str) -> tantivy.Query:
        text, authors = (tantivy.Query.term_query(self._schema, field, term, "freq") for field in ("text", "authors"))
        should = tantivy.Occur.Should
        return tantivy.Query.boolean_query(
            [(should, text), (should, tantivy.Query.boost_query(authors, AUTHORS_BOOST))]
        )

    def _search(self, query: tantivy.Query, n: int) -> list[tuple[int, float]]:
        with _translated(self.folder):
            searcher = self._index.searcher()
            hits = searcher.search(query, n, count=False).hits
            rows = searcher.fast_field_values("row", [address for _, address in hits])
            return [(int(row or 0), float(score)) for row, (score, _) in zip(rows, hits, strict=True)]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", indexed=True, fast=True)
    for name in ("text", "authors"):
        builder.add_text_field(name, tokenizer_name=TOKENIZER, index_option="freq")
    builder.add_text_field("venue", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("year", indexed=True)
    return builder.build()


def _document(row: int, paper: Paper) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("row", row)
    # The label of an untitled paper is words of its own abstract.
    title = paper.title if paper.titled else ""
    document.add_text("text", " ".join(terms("\n".join((title, paper.abstract, *paper.keywords)))))
    document.add_text("authors", " ".join(terms("\n".join(paper.authors))))
    if paper.venue is not None:
        document.add_text("venue", paper.venue.casefold())
    if paper.year is not None:
        document.add_integer("year", paper.year)
    return document


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Tantivy's errors as this program's."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{folder} cannot be read or written ({error.strerror or error}).") from error
    except BaseException as error:
        # A panic of the Rust code comes past Exception.
        if not isinstance(error, ValueError | RuntimeError) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(str(error).split())
        if "No space" in text or "Read-only" in text or "Permission" in text:
            raise StorageError(
                f"{folder} cannot be written ({text}); make room and run the same command again."
            ) from error
        raise LibraryDamaged(
            f"The lexical index in {folder} is damaged ({text}); `abstract-qa doctor --repair` makes it anew."
        ) from error
