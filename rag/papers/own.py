"""What this program's own exports carry beyond their format, so that reading them back gives the very same papers.

`export` writes with these functions, the readers read with them. A BibTeX entry is known as ours by its field
`abstract-qa-id`, a RIS entry by a line `U5  - abstract-qa {…}`, a table by the names of its columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rag.types import Record

BIBTEX_ID = "abstract-qa-id"
BIBTEX_EXTRA = "abstract-qa-extra"
BIBTEX_OPENREVIEW = "openreview"
CSV_COLUMNS = (
    "id", "title", "abstract", "authors", "venue", "year", "url", "doi", "arxiv_id", "pmid", "openreview_id",
    "keywords", "extra",
)  # fmt: skip
_RIS_MARK = "abstract-qa "
# A cell that begins with one of these signs is run as a formula by spreadsheets.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")

# Commands with an empty group stand for characters whose bare form BibTeX or LaTeX would take for syntax. Braces are
# never written as `\{`: BibTeX counts them as braces all the same.
_COMMANDS = {
    "\\": "\\textbackslash{}",
    "{": "\\textbraceleft{}",
    "}": "\\textbraceright{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "%&$#_"},
}
_SIGNS = {command: sign for sign, command in _COMMANDS.items()}
_SPECIAL = re.compile(r"[\\{}~^%&$#_]")
_AT_LINE_START = re.compile(r"(?<=\n)([^\S\n]*)@")
# As pandoc tells mathematics from amounts of money: no blank inside the dollars, no digit after.
_MATH = re.compile(r"(?<!\\)\$(?=[^\s$])(?:[^$\\]|\\[^$])*?(?<=\S)\$(?!\d)")
_ESCAPED = re.compile(
    r"\\text(?:backslash|braceleft|braceright|asciitilde|asciicircum)\{\}|\\[%&$#_]|\{[@;]\}|\$[^$]*\$"
)


@dataclass(frozen=True, slots=True)
class Stated:
    """Fields of a record that an export states outright. They take the place of what was read from the format."""

    own_id: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def onto(self, record: Record) -> Record:
        """`record` with the stated fields."""
        return replace(record, own_id=self.own_id, **self.fields)


def escape(text: str, *, mathematics: bool = True) -> str:
    """`text` as a BibTeX value, without its enclosing braces; `unescape` gives it back.

    With `mathematics`, `$…$` with balanced braces is left for LaTeX to set.
    """
    pieces = []
    start = 0
    for found in _MATH.finditer(text) if mathematics else ():
        if _can_stay(found[0]):
            pieces += [_escape(text[start : found.start()]), found[0]]
            start = found.end()
    return _AT_LINE_START.sub(r"\1{@}", "".join([*pieces, _escape(text[start:])]))


def unescape(value: str) -> str:
    """The text that `escape` was given."""
    return _ESCAPED.sub(lambda found: _SIGNS.get(found[0]) or found[0].strip("{}"), value)


def escape_verbatim(text: str) -> str:
    """An address or identifier, left as it is where BibTeX can hold it so."""
    return escape(text, mathematics=False) if re.search(r"[\\{}]", text) else text


def unescape_verbatim(value: str) -> str:
    """The text that `escape_verbatim` was given."""
    return unescape(value) if "\\" in value else value


def escape_names(names: Sequence[str]) -> str:
    """A BibTeX list of names. One that holds a comma or the word "and" is braced, to be taken whole."""
    escaped = [escape(name, mathematics=False) for name in names]
    return " and ".join(f"{{{name}}}" if re.search(r",|\band\b|^others$", name, re.I) else name for name in escaped)


def unescape_name(value: str) -> str:
    """One name of such a list."""
    whole = value.startswith("{") and value.endswith("}")
    return unescape(value[1:-1] if whole else value)


def escape_list(words: Sequence[str]) -> str:
    """Keywords divided by semicolons; a semicolon within one is braced."""
    return "; ".join(escape(word, mathematics=False).replace(";", "{;}") for word in words)


def unescape_list(value: str) -> tuple[str, ...]:
    """The keywords that `escape_list` was given."""
    return tuple(unescape(word) for word in re.split(r"(?<!\{); ", value) if word)


def guard(cell: str) -> str:
    """`cell` with an apostrophe before what a spreadsheet would run as a formula; `unguard` takes it off."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguard(cell: str) -> str:
    """The text that `guard` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def join_cell(words: Sequence[str]) -> str:
    """Several words in one cell, divided by semicolons; as a JSON list where one of them has such a sign itself."""
    plain = "; ".join(words)
    return plain if split_cell(plain) == list(words) else json.dumps(words, ensure_ascii=False)


def split_cell(cell: str) -> list[str]:
    """The words that `join_cell` was given."""
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):
            return [word for word in json.loads(cell) if isinstance(word, str)]
    return [word for word in cell.split("; ") if word]


def stated_in_row(cells: Sequence[str]) -> dict[str, Any]:
    """What a row of a table of ours states, whose header is `CSV_COLUMNS`, by the names of Record's fields."""
    values: dict[str, Any] = dict(zip(CSV_COLUMNS, map(unguard, cells), strict=True))
    values["own_id"] = values.pop("id")
    values["authors"] = split_cell(values["authors"])
    values["keywords"] = split_cell(values["keywords"])
    values["extra"] = texts(parsed(values["extra"]))
    return values


def state_in_ris(own_id: str, fields: Mapping[str, Any]) -> str:
    """The value of the line that makes a RIS entry ours. `fields` are those of Record that RIS cannot hold."""
    return _RIS_MARK + json.dumps({"own_id": own_id, **fields}, ensure_ascii=True)


def stated_in_ris(values: Sequence[str]) -> Stated | None:
    """What such a line among `values` states; None where there is none or it is not whole."""
    for value in values:
        if value.startswith(_RIS_MARK):
            return _stated(parsed(value.removeprefix(_RIS_MARK)))
    return None


def parsed(text: str) -> dict[str, Any]:
    """The JSON object in `text`; empty where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def texts(mapping: Mapping[str, Any]) -> dict[str, str]:
    """The entries of `mapping` whose values are text."""
    return {name: value for name, value in mapping.items() if isinstance(value, str)}


def _stated(found: dict[str, Any]) -> Stated | None:
    fields: dict[str, Any] = {}
    own_id = found.pop("own_id", None)
    if not isinstance(own_id, str) or not own_id:
        return None
    for name, value in found.items():
        if name in ("arxiv_id", "pmid", "openreview_id", "url", "venue") and isinstance(value, str):
            fields[name] = value
        elif name in ("authors", "keywords") and isinstance(value, list):
            fields[name] = tuple(word for word in value if isinstance(word, str))
        elif name == "extra" and isinstance(value, dict):
            fields[name] = texts(value)
    return Stated(own_id, fields)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: _COMMANDS[found[0]], text)


def _can_stay(math: str) -> bool:
    """Whether braces balance both as BibTeX counts them and as parsers do that pass over escaped ones."""
    if re.search(r"\\\\[{}]|\n\s*@", math):
        return False
    return _balanced(math) and _balanced(re.sub(r"\\[{}]", "", math))


def _balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0
