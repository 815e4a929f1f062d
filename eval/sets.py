"""Question sets: one JSON object a line, checked with file and line on error.

Keys: `id` and `question`; optional `kind`, `history`, `filters`, `relevant`, `grades`, `facts`, `forbidden`,
`answerable` (default true) and `reference_answer`. Further keys are kept and change nothing. docs/evaluation.md
describes each.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from rag.errors import InputError
from rag.types import Filters, Turn

NO_KIND = "unspecified"
_YEARS = re.compile(r"(\d{4})(?:\s*-\s*(\d{4}))?")
_Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


@dataclass(frozen=True, slots=True)
class Item:
    """One question with what a good answer to it holds.

    `relevant` are references as written (see `eval.resolve`); `grades` is empty, or one whole number of at least 1 per
    reference. Of each group of `facts` at least one string must appear in the answer, of `forbidden` none may.
    `line` is the 1-based line of the file it came from (0: not from a file). `extra` keeps unknown keys.
    """

    id: str
    question: str
    kind: str = NO_KIND
    history: tuple[Turn, ...] = ()
    filters: Filters = field(default_factory=Filters)
    relevant: tuple[str, ...] = ()
    grades: tuple[int, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()
    answerable: bool = True
    reference_answer: str | None = None
    line: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def as_json(self) -> dict[str, Any]:
        """The item as a line of a question set; what is at its default is left out."""
        data: dict[str, Any] = {"id": self.id, "kind": self.kind, "question": self.question}
        if self.history:
            data["history"] = [{"role": turn.role, "content": turn.content} for turn in self.history]
        if self.filters:
            data["filters"] = _filters_json(self.filters)
        for name in ("relevant", "grades", "facts", "forbidden"):
            if value := getattr(self, name):
                data[name] = [list(part) if isinstance(part, tuple) else part for part in value]
        data["answerable"] = self.answerable
        if self.reference_answer is not None:
            data["reference_answer"] = self.reference_answer
        return data | dict(self.extra)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A checked set. `fingerprint` is twelve hexadecimal digits of the whole set, whatever part of it is selected."""

    path: str
    items: tuple[Item, ...]
    fingerprint: str

    @property
    def name(self) -> str:
        return Path(self.path).stem

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, in order of first use."""
        return tuple(dict.fromkeys(item.kind for item in self.items))


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")
    role: Literal["user", "assistant"]
    content: str


class _Filters(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")  # a misspelt filter would silently ask something else
    venue: _Text | None = None
    year: int | str | None = None


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")
    id: _Text | int
    question: _Text
    kind: _Text = NO_KIND
    history: list[_Turn] = []
    filters: _Filters | None = None
    relevant: list[_Text] = []
    grades: list[Annotated[int, Field(ge=1)]] = []
    facts: list[Annotated[list[_Text], Field(min_length=1)]] = []
    forbidden: list[_Text] = []
    answerable: bool = True
    reference_answer: str | None = None


def parse_item(data: object, file: str, line: int) -> Item:
    """A checked item from a decoded JSON value. Raises InputError naming file, line, key and what is expected."""
    if not isinstance(data, dict):
        raise InputError(
            f"expected a JSON object with id and question, got {type(data).__name__}.", file=file, line=line
        )
    try:
        row = _Line.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        problem = "is missing" if first["type"] == "missing" and len(first["loc"]) == 1 else f"is wrong: {first['msg']}"
        raise InputError(f"{key!r} {problem}.", file=file, line=line) from None
    if row.grades and len(row.grades) != len(row.relevant):
        message = f"'grades' has {len(row.grades)} entries and 'relevant' {len(row.relevant)}; give one grade for each."
        raise InputError(message, file=file, line=line)
    return Item(
        id=str(row.id),
        question=row.question,
        kind=row.kind,
        history=tuple(Turn(turn.role, turn.content) for turn in row.history),
        filters=_filters(row.filters, file, line),
        relevant=tuple(row.relevant),
        grades=tuple(row.grades),
        facts=tuple(tuple(group) for group in row.facts),
        forbidden=tuple(row.forbidden),
        answerable=row.answerable,
        reference_answer=row.reference_answer,
        line=line,
        extra=dict(row.model_extra or {}),
    )


def read_json_lines(path: Path) -> Iterable[tuple[int, Any]]:
    """Yields (1-based line, value) of a JSON-lines file, blank lines skipped.

    Raises InputError where the file cannot be read, is not UTF-8 or holds a line that is not JSON.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start}); save it as UTF-8.", file=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}).", file=str(path)) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                message = f"is not JSON ({error.msg} at column {error.colno}); expected one JSON object a line."
                raise InputError(message, file=str(path), line=number) from None


def from_items(path: Path | str, items: Iterable[Item]) -> QuestionSet:
    """A set of checked items. Raises InputError where it is empty or an id comes twice."""
    found = tuple(items)
    if not found:
        raise InputError("holds no question; expected one JSON object a line.", file=str(path))
    seen: dict[str, Item] = {}
    for item in found:
        if item.id in seen:
            message = f"id {item.id!r} is already used in line {seen[item.id].line}; ids must differ."
            raise InputError(message, file=str(path), line=item.line or None)
        seen[item.id] = item
    canonical = json.dumps([item.as_json() for item in found], sort_keys=True, ensure_ascii=False, default=str)
    return QuestionSet(str(path), found, hashlib.sha256(canonical.encode()).hexdigest()[:12])


def read_set(path: Path) -> QuestionSet:
    """Reads a set in this project's own format. `eval.foreign.load_set` reads other shapes too. Raises InputError."""
    return from_items(path, (parse_item(data, str(path), line) for line, data in read_json_lines(path)))


def select(
    questions: QuestionSet, *, limit: int | None = None, kinds: Sequence[str] = (), seed: int | None = None
) -> QuestionSet:
    """The items of some kinds, then at most `limit` of them: the first ones, or with `seed` a random draw.

    Order stays that of the set, and the fingerprint stays that of the whole set. Raises InputError for a kind that does
    not occur.
    """
    if unknown := [kind for kind in kinds if kind not in questions.kinds]:
        message = f"has no questions of kind {', '.join(unknown)}; it has {', '.join(questions.kinds)}."
        raise InputError(message, file=questions.path)
    items = [item for item in questions.items if not kinds or item.kind in kinds]
    if limit is not None and limit < len(items):
        if limit < 1:
            raise InputError(f"a limit of {limit} leaves no question; give 1 or more.")
        places = range(limit) if seed is None else sorted(random.Random(seed).sample(range(len(items)), limit))
        items = [items[place] for place in places]
    return replace(questions, items=tuple(items))


def write_set(path: Path, items: Iterable[Item]) -> None:
    """Writes items as a question set, one JSON object a line."""
    lines = [json.dumps(item.as_json(), ensure_ascii=False) + "\n" for item in items]
    path.write_text("".join(lines), encoding="utf-8")


def _filters(row: _Filters | None, file: str, line: int) -> Filters:
    if row is None:
        return Filters()
    if row.year is None:
        return Filters(row.venue)
    match = _YEARS.fullmatch(str(row.year).strip())
    if match is None:
        raise InputError(
            f"'filters': year {row.year!r} is neither a year nor a range such as 2021-2023.", file=file, line=line
        )
    first = int(match[1])
    return Filters(row.venue, first, int(match[2]) if match[2] else first)


def _filters_json(filters: Filters) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if filters.venue is not None:
        data["venue"] = filters.venue
    if filters.year_from is not None or filters.year_to is not None:
        first = filters.year_from if filters.year_from is not None else 1000
        last = filters.year_to if filters.year_to is not None else 9999
        data["year"] = first if first == last else f"{first}-{last}"
    return data
