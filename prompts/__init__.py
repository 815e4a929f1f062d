"""Prompt templates: text files beside this module, each with its placeholders declared in its first lines.

A template file begins with one header line, `# placeholders: question, evidence`, then a blank line, then the text.
Where a placeholder stands, the text has its name in double braces: `{{question}}`. Loading checks that the two agree,
and rendering checks that every value is given and none is unknown, so that a typing error fails at once and not in an
answer. Values are put in once and never read again for placeholders: a question that contains `{{evidence}}` is text.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

_HEADER = re.compile(r"\A# placeholders:(?P<names>[^\n]*)\n\s*\n")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A checked template. `fingerprint` is twelve hexadecimal digits of its text."""

    name: str
    text: str
    placeholders: frozenset[str]

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def render(self, **values: str) -> str:
        """The text with every placeholder replaced. Raises ValueError when a value is missing or unknown."""
        if missing := self.placeholders - values.keys():
            raise ValueError(f"prompt {self.name!r} needs a value for {', '.join(sorted(missing))}")
        if unknown := values.keys() - self.placeholders:
            raise ValueError(f"prompt {self.name!r} has no placeholder {', '.join(sorted(unknown))}")
        return _SLOT.sub(lambda slot: values[slot[1]], self.text)


def parse(name: str, source: str) -> Template:
    """A template from the text of its file. Raises ValueError when header and text do not agree."""
    header = _HEADER.match(source)
    if header is None:
        raise ValueError(f"prompt {name!r} must begin with a line '# placeholders: …' and a blank line")
    declared = frozenset(part.strip() for part in header["names"].split(",") if part.strip())
    text = source[header.end() :].strip("\n")
    used = frozenset(_SLOT.findall(text))
    if declared != used:
        raise ValueError(f"prompt {name!r} declares {sorted(declared)} but uses {sorted(used)}")
    return Template(name, text, declared)


@cache
def load(name: str) -> Template:
    """The template `prompts/NAME.txt`. Raises FileNotFoundError for an unknown name."""
    return parse(name, resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def names() -> tuple[str, ...]:
    """The names of all templates, sorted."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")))


def fingerprint() -> str:
    """Twelve hexadecimal digits that change when any template changes."""
    joined = "\n".join(f"{name} {load(name).fingerprint}" for name in names())
    return hashlib.sha256(joined.encode()).hexdigest()[:12]
