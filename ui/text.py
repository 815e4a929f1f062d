"""The interface's words in English and Chinese. Both languages have the same keys, held by a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ui import text_en, text_zh

Language = Literal["en", "zh"]
LANGUAGES: Mapping[Language, Mapping[str, str]] = {"en": text_en.WORDS, "zh": text_zh.WORDS}


class Words:
    """The words of one language: `words("papers_many", n=12)`. An unknown key is a KeyError."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self._words = LANGUAGES[language]

    def __call__(self, key: str, **values: object) -> str:
        return self._words[key].format(**values) if values else self._words[key]

    def count(self, key: str, n: int) -> str:
        """`{key}_one` or `{key}_many` with the number written with thousands separators."""
        return self(f"{key}_one") if n == 1 else self(f"{key}_many", n=f"{n:,}")
