"""abstract-qa: a library of abstracts that answers questions, each sentence with the paper it comes from.

from rag import Library
library = Library.open()
print(library.ask("Which papers quantise the key-value cache?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.library import Library

__all__ = ["Library"]


def __getattr__(name: str) -> object:
    # Late, so that `abstract-qa --help` and the readers do not load what only the library needs.
    if name == "Library":
        from rag.library import Library

        return Library
    raise AttributeError(f"module 'rag' has no attribute {name!r}")
