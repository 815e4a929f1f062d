"""Mathematics in text: where it stands between dollars, and the LaTeX of it that stands outside them."""

from __future__ import annotations

import re

# The argument of a macro, with braces three deep in it.
ARGUMENT = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"

# A dollar sign opens mathematics only before no space, and closes it only after no space and before no digit
# (the rule of Pandoc), so that "$5 and $10" stays money.
_STRICT = r"(?<![\\$])\$(?![\s$])(?:[^$\\]|\\.){0,600}?(?<![\s\\])\$(?![\d$])"
# "$ f(x) $" and "$\sim$10" break that rule: they are mathematics where no word of prose stands inside, or where they
# begin with a command or a sign that money never has.
_WORD = r"(?<![\\A-Za-z])(?!log|min|max|exp|poly|arg|sup|inf|mod|reg|opt|dim|rank|sign|loss|sin|cos|tan|det)[a-z]{3,}"
_SPACED = (
    rf"(?<![\\$])\$(?!\s*\d)(?:(?!{_WORD})(?:[^$\\]|\\.)){{1,300}}?(?<!\\)\$(?![\d$])"
    r"|(?<![\\$])\$(?=[\\^_<>=≤≥≈∼×])(?:[^\s$\\]|\\.){1,40}\$(?=\d)"
)
MATH = re.compile(
    r"\$\$[^$]{1,2000}?\$\$"
    rf"|{_STRICT}|{_SPACED}"
    r"|\\\((?:[^\\]|\\(?![()])).{0,600}?\\\)"
    r"|\\\[.{1,2000}?\\\]"
    r"|\\begin\{(equation|align|gather|multline|eqnarray|displaymath|math)(\*?)\}.{0,4000}?\\end\{\1\2\}",
    re.DOTALL,
)
_OLD_FACE = re.compile(
    r"\{\\(cal|frak|mathcal|mathfrak)\s+([A-Z])\}|\\(cal|frak)\s*(?:\{([A-Z])\}|([A-Z])(?![A-Za-z]))"
)
# What means something in mathematics only, so that it is set between dollars where it stands outside them.
_SEED = re.compile(
    r"\\(?:d?t?frac|d?t?binom)\s?(?:ARG\s?ARG|\d\d)"
    r"|\\sqrt\s?(?:\[[^\[\]]{0,9}\])?(?:ARG|\s?[A-Za-z0-9])"
    r"|\\(?:wide)?(?:hat|tilde)(?![A-Za-z])\s?(?:ARG|\\?[A-Za-z]+)"
    r"|\\(?:bar|d?dot|vec|breve|mathring|overline|math(?:bb|cal|frak|scr)|boldsymbol|bm)(?![A-Za-z])\s?"
    r"(?:ARG|\\?[A-Za-z]+)"
    r"|(?<=[\w)\]}])[_^]ARG".replace("ARG", ARGUMENT)
)
_BEFORE = re.compile(r"(?:[^\s$\ue000\ue001\"“”'‘’,;:]|(?<=[\w)])[,'](?=[\w\\]))*$")
_AFTER = re.compile(r"(?:[^\s$\ue000\ue001\"“”‘’;]|(?<=[\w)]),(?=[\w\\]))*")
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}|https?:|[-–—]{2}|www\.")
_REACH = 80
_OPENING, _CLOSING = "([{", ")]}"


def set_apart(text: str) -> str:
    """`text`, without dollars in it, with the mathematics that stands bare in it between dollars."""
    if "{\\" in text or "\\cal" in text or "\\frak" in text:
        text = _OLD_FACE.sub(_calligraphic, text)
    if "\\" not in text and "^{" not in text and "_{" not in text:
        return text
    pieces: list[str] = []
    done = 0
    while found := _SEED.search(text, done):
        start, end = _extent(text, found.start(), found.end(), done)
        formula = text[start:end]
        if start < done or not _whole(text, start, end):
            pieces.append(text[done : found.end()])
            done = found.end()
            continue
        pieces += [text[done:start], f"${formula}$"]
        done = end
    return "".join([*pieces, text[done:]])


def _calligraphic(found: re.Match[str]) -> str:
    face = (found[1] or found[3]).removeprefix("math")
    return f"\\math{face}{{{found[2] or found[4] or found[5]}}}"


def _extent(text: str, start: int, end: int, floor: int) -> tuple[int, int]:
    """The formula around a seed: what stands against it without a blank, up to the brackets that this opens."""
    before = _BEFORE.search(text, max(floor, start - _REACH), start)
    if before and not _PROSE.search(before[0]):
        start = before.start()
    elif text[start] in "_^":
        start -= 1
    after = _AFTER.match(text, end, min(len(text), end + _REACH))
    if after and not _PROSE.search(after[0]):
        end = after.end()
    end = start + _whole_braces(text[start:end])
    for _ in range(4):
        depth, lowest = _depth(text[start:end])
        if depth - lowest > 0 and (close := _closing(text, end, depth - lowest)):
            end = close
            after = _AFTER.match(text, end, min(len(text), end + _REACH))
            end = after.end() if after and not _PROSE.search(after[0]) else end
            end = start + _whole_braces(text[start:end])
        elif lowest < 0 and (opening := _opening(text, start, -lowest, floor)) is not None:
            start = opening
        else:
            break
    while text[end - 1] in ".,:;!?" or (text[end - 1] in ")]" and _depth(text[start:end])[1] < 0):
        end -= 1
    while start < end and text[start] in "([" and _depth(text[start:end])[0] > 0:
        start += 1
    return start, end


def _depth(text: str) -> tuple[int, int]:
    """(brackets left open at the end, the lowest depth met) of `text`."""
    depth = lowest = 0
    for sign in text:
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
            lowest = min(lowest, depth)
    return depth, lowest


def _whole_braces(text: str) -> int:
    """The length of `text` up to a brace that it does not open."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return place
    return len(text)


def _closing(text: str, at: int, depth: int) -> int | None:
    """Where the brackets still open are closed; None where prose or the reach ends before."""
    for place in range(at, min(len(text), at + _REACH)):
        depth += (text[place] in _OPENING) - (text[place] in _CLOSING)
        if not depth:
            return None if _PROSE.search(text[at:place]) or "$" in text[at:place] else place + 1
    return None


def _opening(text: str, at: int, depth: int, floor: int) -> int | None:
    """Where the brackets closed too often are opened, with what stands against that; None as above."""
    for place in range(at - 1, max(floor, at - _REACH) - 1, -1):
        depth += (text[place] in _CLOSING) - (text[place] in _OPENING)
        if not depth and text[place] == "{":
            return None
        if not depth:
            if _PROSE.search(text[place:at]) or "$" in text[place:at]:
                return None
            before = _BEFORE.search(text, max(floor, place - _REACH), place)
            return before.start() if before and not _PROSE.search(before[0]) else place
    return None


def _whole(text: str, start: int, end: int) -> bool:
    """Whether dollars around this would be read as mathematics again, and its brackets fit."""
    formula = text[start:end]
    near = text[start - 1 : start] + text[end : end + 1]
    fits = _depth(formula) == (0, 0) and not any(sign in near for sign in "$\\\ue000\ue001")
    return fits and not text[end : end + 1].isdigit() and MATH.fullmatch(f"${formula}$") is not None
