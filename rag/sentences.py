"""Cutting a text into sentences, with exact offsets."""

from __future__ import annotations

import re
from bisect import bisect_right

from rag.latex import MATH
from rag.types import Span
from rag.words import BEFORE_NUMBER, NEVER_LAST, SOMETIMES_LAST, STARTERS

# A sentence's end: the mark, quotes and brackets that close, and citations that follow it; then a blank or the end.
_END = re.compile(
    r"""(?P<mark>[.!?…]+|[。！？]+)(?P<tail>['"”’»)\]}」』）】*_]*(?:\s?\[\d[\d,\s–-]*\])*)"""
    r"(?=(?P<gap>\s+|$)|[\u3040-\u30ff\u3400-\u9fff「『（【“])"
    r"|(?P<line>\s*\n\s*)"
)
_GLUED = re.compile(
    r"(?<=[a-z]{3})[.!?](?=(?:We|The|In|This|Our|However|It|To|These|Moreover|Furthermore|Finally|For)\s)"
)
_BRACKETS = re.compile(r"[()\[\]（）]")
_TOKEN = re.compile(r"[^\s(\[{（“\"'‘]*$")


def split_sentences(text: str) -> tuple[Span, ...]:
    """The sentences of `text` in order, without blanks around them, `text[start:end] == span.text`.

    A line break ends a sentence. Nothing is cut inside mathematics or inside brackets, nor at an abbreviation.
    """
    if not text or text.isspace():
        return ()
    closed = _Closed(text)
    spans: list[Span] = []
    start = 0
    ends = _END.finditer(text)
    glued = {found.end() for found in _GLUED.finditer(text)} if _GLUED.search(text) else set()
    cuts = sorted({end for found in ends if (end := _cut(text, found, closed)) is not None} | glued)
    for end in [*cuts, len(text)]:
        piece = text[start:end]
        stripped = piece.strip()
        if stripped:
            begin = start + len(piece) - len(piece.lstrip())
            spans.append(Span(begin, begin + len(stripped), stripped))
        start = max(start, end)
    return tuple(spans)


def _cut(text: str, found: re.Match[str], closed: _Closed) -> int | None:
    """Where to cut at a possible end, or None."""
    at = found.start()
    if found["line"] is not None:
        return found.end() if closed.math_free(at) else None
    mark, end = found["mark"], found.end()
    if mark[0] in "。！？":
        return None if closed.holds(at, end) else end
    if closed.holds(at, end):
        return None
    if found["gap"] is None:
        return None if mark == "." else end
    following = text[found.end("gap") : found.end("gap") + 40]
    if not following:
        return end
    if not _begins_sentence(following):
        return None
    if mark[0] in "!?":
        return end
    last = _TOKEN.search(text, max(0, at - 24), at)
    token = last[0] if last else ""
    if token.strip(".") and not found["tail"].strip() and not _ends_sentence(text, token, at, following):
        return None
    return end


def _begins_sentence(following: str) -> bool:
    first = following[0]
    if first.islower():
        # mT5, vLLM, iBOT: a name in mixed case may begin a sentence.
        word = following.split(maxsplit=1)[0]
        return any(char.isupper() for char in word[1:4]) and word[:1].isalpha()
    return first not in ",;:)]}%=<>/&+"


def _ends_sentence(text: str, token: str, at: int, following: str) -> bool:
    """Whether a full stop at `at`, after `token`, ends a sentence, given what follows."""
    before = token.lower().rstrip(".")
    word = re.match(r"[\W_]*(\w+)", following)
    starts = word is not None and word[1].lower() in STARTERS
    if before in BEFORE_NUMBER and not following[0].isdigit():
        return True
    if before in NEVER_LAST:
        return False
    if before in SOMETIMES_LAST:
        return starts
    if len(before) == 1 and before.isalpha() and token[:1].isupper():
        return starts  # an initial: "J. Smith"
    if re.fullmatch(r"(?:[a-z]\.)+[a-z]", before):
        return starts
    if before.isdigit() and len(before) <= 2:
        # "1." at the beginning of a line or sentence numbers it.
        lead = text[: at - len(token)].rstrip()
        return bool(lead) and lead[-1] not in ".!?:;\n。"
    return True


class _Closed:
    """Where mathematics and bracketed text lie: nothing is cut in them."""

    def __init__(self, text: str) -> None:
        self._math = [found.span() for found in MATH.finditer(text)] if "$" in text or "\\" in text else []
        self._brackets: list[tuple[int, int]] = []
        opened: list[int] = []
        for found in _BRACKETS.finditer(text):
            if found[0] in "([（":
                opened.append(found.start())
            elif opened:
                begin = opened.pop()
                # A long bracket holds sentences of its own, or was never closed where it should.
                if not opened and found.start() - begin <= 400:
                    self._brackets.append((begin, found.start()))

    def math_free(self, at: int) -> bool:
        return not _inside(self._math, at)

    def holds(self, at: int, end: int) -> bool:
        """Whether a mark at `at`, with what closes after it up to `end`, is inside mathematics or brackets."""
        return _inside(self._math, at) or (_inside(self._brackets, at) and _inside(self._brackets, end))


def _inside(spans: list[tuple[int, int]], at: int) -> bool:
    index = bisect_right(spans, (at, 1 << 62)) - 1
    return index >= 0 and spans[index][0] < at < spans[index][1]
