"""Cutting a text into sentences, with exact offsets."""

from __future__ import annotations

import re
from bisect import bisect_right

from rag.texts.latex import MATH
from rag.texts.words import BEFORE_NUMBER, NEVER_LAST, SOMETIMES_LAST, STARTERS
from rag.types import Span

# A sentence's end: the mark, quotes and brackets that close, and citations that follow it; then a blank or the end.
_END = re.compile(
    r"""(?P<mark>[.!?…]+|[。！？]+)(?P<tail>['"”’»)\]}」』）】*_]*(?:\s?\[\d[\d,\s–-]*\])*)"""
    r"(?=(?P<gap>\s+|$)|[\u3040-\u30ff\u3400-\u9fff「『（【“])"
    r"|(?P<line>\s*\n\s*)"
)
_GLUED = re.compile(
    r"(?<=[a-z]{3})[.!?](?=(?:We|The|In|This|Our|However|It|To|These|Moreover|Furthermore|Finally|For)[\s,])"
)
_MATH_END = re.compile(r"\.\$\s+[A-Z]")
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
    glued = {found.end() for found in _GLUED.finditer(text)} | closed.sentence_ends()
    cuts = sorted({end for found in ends if (end := _cut(text, found, closed)) is not None} | glued)
    for end in [*cuts, len(text)]:
        piece = text[start:end]
        stripped = piece.strip()
        if spans and stripped and not any(char.isalnum() for char in stripped):
            # A mark that stands apart belongs to the sentence before it.
            end_of_mark = start + len(piece.rstrip())
            spans[-1] = Span(spans[-1].start, end_of_mark, text[spans[-1].start : end_of_mark])
        elif stripped:
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
    if _numbers(text, token, at):
        return None
    if token.strip(".") and not found["tail"].strip() and not _ends_sentence(token, following):
        return None
    return end


def _begins_sentence(following: str) -> bool:
    first = following[0]
    if first.islower():
        # mT5, vLLM, iBOT: a name in mixed case may begin a sentence.
        word = following.split(maxsplit=1)[0]
        return any(char.isupper() for char in word[1:4]) and word[:1].isalpha()
    return first not in ",;:)]}%=<>/&+"


def _numbers(text: str, token: str, at: int) -> bool:
    """Whether `token` before the full stop at `at` numbers what follows: "1.", "(2.)", "3)." after a sentence's end."""
    if not re.fullmatch(r"\(?(?:\d{1,2}|[ivxIVX]{1,4}|[A-Ha-h])\)?", token):
        return False
    lead = text[: at - len(token)].rstrip(" ([")
    return not lead or lead[-1] in ".!?:;。\n"


def _ends_sentence(token: str, following: str) -> bool:
    """Whether a full stop after `token` ends a sentence, given what follows."""
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
    return starts if re.fullmatch(r"(?:[a-z]\.)+[a-z]", before) else True


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

        self._text = text

    def sentence_ends(self) -> set[int]:
        """Ends of mathematics that took the sentence's full stop in: "of size $B.$ We"."""
        return {end for _, end in self._math if _MATH_END.match(self._text, end - 2)}

    def math_free(self, at: int) -> bool:
        return not _inside(self._math, at)

    def holds(self, at: int, end: int) -> bool:
        """Whether a mark at `at`, with what closes after it up to `end`, is inside mathematics or brackets."""
        return _inside(self._math, at) or (_inside(self._brackets, at) and _inside(self._brackets, end))


def _inside(spans: list[tuple[int, int]], at: int) -> bool:
    index = bisect_right(spans, (at, 1 << 62)) - 1
    return index >= 0 and spans[index][0] < at < spans[index][1]
