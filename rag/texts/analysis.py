"""From text to the terms of the lexical index. Questions and papers go through the same function.

Compatibility forms are made plain (NFKC), case is dropped, English words are stemmed (Snowball, after British spelling
was made American), common words are left out. A name written with signs or digits in it is findable whole and in parts:
`GPT-4` gives gpt, 4 and gpt4. Chinese, Japanese and Korean text gives overlapping pairs of characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

_COMMON = (
    "a about an and any are as at be been but by can do does for from had has have how i if in into is it "
    "its may me of on or our such than that the their them then there these they this those to us was we "
    "were what when where which who whom whose why will with you your"
)
STOP_WORDS = frozenset(_COMMON.split())
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_]+)?(?:[-‐–_./+][^\W_{_CJK}]+)*\+*")
_IDEOGRAPHS = re.compile(rf"[{_CJK}]+")
_PART = re.compile(r"[^\W\d_]+|\d+")
_PIECE = re.compile(r"[^\W_]+")
# memorisation, generalise: spelled as in America; not supervised, precise, noise.
_BRITISH = re.compile(r"(?<=[a-z]{3}[lmrtnd])is(?=(?:e[drs]?|ing|ations?|able)$)")
# Raised whenever the same text would give other terms: an index of other terms is made anew.
ANALYSIS = "2"
# Longer runs are no words but data; they would only swell the index.
LONGEST = 60
_local = threading.local()


def terms(text: str) -> list[str]:
    """The terms of `text`, in order, with repetitions."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        found += _of_word(word)
    return found


@lru_cache(maxsize=200_000)
def _of_word(word: str) -> tuple[str, ...]:
    if _IDEOGRAPHS.match(word):
        return (word,) if len(word) == 1 else tuple(word[place : place + 2] for place in range(len(word) - 1))
    word = re.sub(r"['’]s?\b", "", word)
    if word in STOP_WORDS or len(word) > LONGEST:
        return ()
    if word.isalpha():
        return (_stem(word),)
    pieces = _PIECE.findall(word)
    parts = [part for piece in pieces for part in _PART.findall(piece)]
    whole = _stem("".join(pieces)) + "+" * (len(word) - len(word.rstrip("+")))
    split = tuple(_stem(part) for part in parts if part not in STOP_WORDS)
    if len(parts) == 1 and whole == parts[0]:
        return split
    return (*split, whole)


def _stem(word: str) -> str:
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer

        # A stemmer keeps state and is not safe to share between threads.
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    stem: str = stemmer.stemWord(_BRITISH.sub("iz", word))
    return stem
