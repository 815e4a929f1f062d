"""Which language a question is written in, told by its script.

Only scripts are looked at, so languages written in Latin letters count as English until the words say otherwise:
a library of abstracts is searched in English, and a wrong guess costs more than none.
"""

from __future__ import annotations

import re
import unicodedata

ENGLISH = "en"
# Share of a text's letters in another script from which the text counts as written in it. Chinese questions keep
# their English system names, and one Chinese word says as much as several Latin letters.
_SHARE = 0.15
_SCRIPTS = (
    ("ja", re.compile(r"[\u3041-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
# Words that no English question has, for the languages most often asked in with Latin letters.
_WORDS = {
    "de": "welche welcher welches wie viele und der die das ist eine für mit nicht arbeiten gibt",
    "fr": "quels quelles quel quelle combien est les des une pour avec sont article dans articles",
    "es": "qué cuáles cuál cuántos los las una para con son el artículo artículos sobre cómo",
}
_WORD_SETS = tuple((code, frozenset(words.split())) for code, words in _WORDS.items())
_LATIN_WORD = re.compile(r"[^\W\d_]+")
NAMES = {
    "en": "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "ar": "Arabic",
    "he": "Hebrew",
    "el": "Greek",
    "hi": "Hindi",
    "th": "Thai",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
}


def detect(text: str) -> str:
    """ISO 639-1 code of the language of `text`; "en" where nothing says otherwise (also for emoji or formulas)."""
    letters = sum(unicodedata.category(char).startswith("L") for char in text)
    if not letters:
        return ENGLISH
    found = {code: len(pattern.findall(text)) for code, pattern in _SCRIPTS}
    if found["ja"] and found["ja"] + found["zh"] >= letters * _SHARE and found["ja"] * 5 >= found["zh"]:
        return "ja"
    found["ja"] = 0
    code = max(found, key=lambda name: found[name])
    # A formula has Greek letters without being Greek: ask for more of them.
    needed = 0.5 if code == "el" else _SHARE
    if found[code] >= letters * needed:
        return code
    words = [word.lower() for word in _LATIN_WORD.findall(text)]
    for code, known in _WORD_SETS:
        hits = sum(word in known for word in words)
        if hits >= 2 and hits * 5 >= len(words):
            return code
    return ENGLISH
