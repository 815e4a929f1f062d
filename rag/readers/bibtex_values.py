"""Values of BibTeX fields: braces and quotes off, macros replaced, parts joined at `#`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_MARK = re.compile(r"(?<!\\)[{}\"]")
_FORMULA = re.compile(r"((?<!\\)\$[^$]*\$)")
_GROUP = re.compile(r"(\\[A-Za-z]+\*?\s*(?:\[[^\]]*\])?|\\.|[_^}])?\{([^{}\\$]*)\}")
_BRACED_BRACE = re.compile(r"\{(\\[{}])\}")  # a brace as Mendeley writes it
_AND = re.compile(r"(?<!\\)[{}]|\s+and(?=\s)", re.IGNORECASE)
_BARE = re.compile(r"[^\s#{}\",]+")
_NEXT_FIELD = re.compile(r"\s*([A-Za-z][\w:.+-]*)\s*=\s*(?=[{\"\w])")


def value_of(raw: str, macros: Mapping[str, str]) -> str:
    """The text of one value. `macros` has the names in lower case; an unknown one stands for its own name (`mar`)."""
    text, end = _value(raw, 0, macros)
    return text + raw[end:]


def fields_of(name: str, raw: str, macros: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(name, text) of a field; of several where the comma between them was forgotten."""
    text, end = _value(raw, 0, macros)
    while found := _NEXT_FIELD.match(raw, end):
        yield name, text
        name = found[1]
        text, end = _value(raw, found.end(), macros)
    yield name, text + raw[end:].rstrip()


def unbraced(value: str) -> str:
    """`value` without braces around the whole of it, as in `title = {{Some Title}}`."""
    while value.startswith("{") and len(value) > 1 and _closing(value, 0) == len(value) - 1:
        value = value[1:-1].strip()
    return value


def ungrouped(value: str) -> str:
    """`value` without braces that only protect letters (`{T}he {RNA}`); those of commands and mathematics stay."""
    pieces = _FORMULA.split(_BRACED_BRACE.sub(r"\1", value))
    return "".join(piece if n % 2 else _GROUP.sub(_bare_group, piece) for n, piece in enumerate(pieces))


def _bare_group(found: re.Match[str]) -> str:
    return found[0] if found[1] else found[2]


def names_of(value: str) -> list[str]:
    """The names in a list divided by "and", of which braces protect one. "others" and empty names are left out.

    bibtexparser's own function loses the accent of a name that begins with one (`Doe, J. and \\'{E}vry, A.`).
    """
    names = []
    depth = start = 0
    for mark in _AND.finditer(value):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            names.append(value[start : mark.start()])
            start = mark.end()
    names.append(value[start:])
    return [name for raw in names if (name := raw.strip()).lower() not in ("", "others", "et al.", "et al")]


def _value(raw: str, start: int, macros: Mapping[str, str]) -> tuple[str, int]:
    """The text of the value that begins at `start`, and where it ends."""
    parts = []
    at = start
    while True:
        at = _past_blanks(raw, at)
        if at < len(raw) and raw[at] in '{"':
            end = _closing(raw, at)
            parts.append(raw[at + 1 : end])
            at = end + 1
        elif found := _BARE.match(raw, at):
            parts.append(macros.get(found[0].lower(), found[0]))
            at = found.end()
        else:
            return "".join(parts), min(at, len(raw))
        following = _past_blanks(raw, at)
        if not raw.startswith("#", following):
            return "".join(parts), at
        at = following + 1


def _past_blanks(raw: str, at: int) -> int:
    while at < len(raw) and raw[at].isspace():
        at += 1
    return at


def _closing(raw: str, start: int) -> int:
    """Where the brace or quote that opens at `start` is closed; the end of `raw` if nowhere."""
    quoted = raw[start] == '"'
    depth = 0
    for mark in _MARK.finditer(raw, start + 1):
        if mark[0] == '"':
            if quoted and depth == 0:
                return mark.start()
        elif mark[0] == "{":
            depth += 1
        elif depth == 0 and not quoted:
            return mark.start()
        else:
            depth = max(0, depth - 1)
    return len(raw)
