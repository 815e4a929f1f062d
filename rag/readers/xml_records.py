"""Records of XML files, cut out one by one and parsed each for itself.

So a file of any size is streamed, a record that is not well formed costs only itself, and no document type declaration
reaches the parser: entities that a file declares are refused, external ones cannot be asked for.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from rag.readers.encoding import MIXED
from rag.readers.opened import Opened
from rag.readers.options import Unreadable

_BLOCK = 1 << 18
_LONGEST = 1 << 26  # characters of one record
_DECLARED = re.compile(rb"^\s*<\?xml[^>]*encoding\s*=\s*[\"']([\w.-]+)")
_NAMESPACE = re.compile(r"xmlns(?::[\w.-]+)?\s*=\s*(?:\"[^\"<]*\"|'[^'<]*')")
_PREFIX = re.compile(r"(?:(?<=[<\s])|(?<=</))(?!xml)([A-Za-z_][\w.-]*):(?=[A-Za-z_])")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z]\w*;|(?!#\d+;|#x[0-9A-Fa-f]+;))")
_NO_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_DATE = frozenset({"Year", "Month", "Day", "Hour", "Minute"})
# Attributes that tell apart elements of one name.
_TELLING = frozenset({"IdType", "EIdType", "PubStatus", "IssnType", "Source", "key", "type", "rel", "title"})


@dataclass(frozen=True, slots=True)
class Cut:
    """A record that begins at 1-based `line`; without `element`, `reason` says why it cannot be read."""

    line: int
    element: Element | None
    reason: str = ""


def cut(file: Opened, names: Iterable[str]) -> Iterator[Cut]:
    """The elements of `file` that have one of `names`, in order, namespaces taken off.

    Raises Unreadable where the file declares entities, and where it ends between records before its root is closed.
    """
    source = _Text(file)
    alternatives = "|".join(map(re.escape, names))
    starts = re.compile(rf"<!--|<!\[CDATA\[|<!ENTITY|<(?:[\w.-]+:)?({alternatives})(?=[\s/>])")
    spaces: str | None = None
    rooted = False
    while found := source.search(starts):
        if found[0].startswith("<!E"):
            refuse(source.line_at(found.start()))
        if found[0].startswith("<!"):
            source.skip_past("-->" if found[0] == "<!--" else "]]>", found.end())
            continue
        if spaces is None:
            prolog = source.text[: found.start()]
            spaces = " ".join(dict.fromkeys(_NAMESPACE.findall(prolog)))
            rooted = bool(_ROOT.search(prolog))
        source.drop(found.start())
        line = source.line
        text = source.take(found[1])
        if text is None:
            whole = not source.at_end or starts.search(source.text) is not None
            ended = "another begins before it is closed" if whole else "the file ends within it"
            yield Cut(line, None, f"not closed: {ended}")
            rooted = rooted and whole
        else:
            yield _parsed(text, spaces, line)
    if rooted and "</" not in source.text:
        raise Unreadable("the file ends early: its closing tag is missing", source.line_at(len(source.text)))


def refuse(line: int) -> NoReturn:
    """Give a file up that declares entities."""
    raise Unreadable("declares entities of its own, which are refused; remove its document type declaration", line)


def text_of(element: Element) -> str:
    """All text in `element`."""
    return "".join(element.itertext()) if len(element) else element.text or ""


def keep_raised(element: Element, tag: str = "sup") -> None:
    """Put HTML's tags around raised text (10<sup>-3</sup>), for cleaning to make superscripts of it."""
    for raised in element.iter(tag):
        if raised.text and not len(raised):
            raised.text = f"<sup>{raised.text}</sup>"


class Parts:
    """An element whose parts are taken one by one. `rest` is what has not been taken, for `extra`."""

    def __init__(self, element: Element) -> None:
        self._element = element
        self._taken: set[Element] = set()

    def elements(self, *paths: str) -> list[Element]:
        """The elements at all of these ElementTree paths, taken."""
        found = [element for path in paths for element in self._element.findall(path)]
        self._taken.update(found)
        return found

    def peek(self, path: str) -> list[Element]:
        """The elements at an ElementTree path, left in place."""
        return self._element.findall(path)

    def texts(self, *paths: str) -> list[str]:
        """The texts, not empty, at all of these paths, taken."""
        return [text for element in self.elements(*paths) if (text := text_of(element).strip())]

    def first(self, *paths: str) -> str | None:
        """The first text, not empty, by the order of `paths`; it alone is taken."""
        for path in paths:
            for element in self._element.findall(path):
                if text := text_of(element).strip():
                    self._taken.add(element)
                    return text
        return None

    def rest(self) -> dict[str, str]:
        """Texts of all elements not taken, named by parent and element; several of one name stand on a line each."""
        left: dict[str, list[str]] = {}
        self._gather(self._element, "", left)
        return {name: "\n".join(dict.fromkeys(values)) for name, values in left.items()}

    def _gather(self, element: Element, parent: str, left: dict[str, list[str]]) -> None:
        for child in element:
            if child in self._taken:
                continue
            name = parent + child.tag
            if child.attrib:
                name += "".join(f"[{value}]" for key, value in child.attrib.items() if key in _TELLING and value)
            if not len(child):
                text = child.text or child.get("href") or ""
            elif child[0].tag in _DATE and {inner.tag for inner in child} <= _DATE:
                text = "-".join((inner.text or "").strip() for inner in child)
            elif not (child.text or "").strip():
                self._gather(child, f"{child.tag}/", left)
                continue
            else:
                text = text_of(child)
            if text := " ".join(text.split()):
                left.setdefault(name, []).append(text)


class _Text:
    """The decoded text of a file, of which only what is being looked at is held."""

    def __init__(self, file: Opened) -> None:
        self.text = ""
        self.line = 1
        self.at_end = False
        self._blocks = _decoded(file)

    def search(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first match from here on; text before it is dropped except for what a declaration may be in."""
        while True:
            found = pattern.search(self.text)
            # A name cut off at the end of the text held would be missed, so the last characters are looked at again.
            if found or self.at_end:
                return found
            if len(self.text) > _BLOCK:
                self.drop(len(self.text) - 200)
            self.more()

    def more(self) -> None:
        """One block more."""
        block = next(self._blocks, None)
        if block is None:
            self.at_end = True
        else:
            self.text += block

    def drop(self, count: int) -> None:
        """Forget the first `count` characters."""
        self.line = self.line_at(count)
        self.text = self.text[count:]

    def line_at(self, place: int) -> int:
        """The 1-based line of a place in the text held."""
        return self.line + self.text.count("\n", 0, place)

    def skip_past(self, mark: str, start: int) -> None:
        """Forget everything up to and with the next `mark` after `start`, or all if there is none."""
        while (end := self.text.find(mark, start)) < 0 and not self.at_end:
            start = max(start, len(self.text) - len(mark))
            self.more()
        self.drop(end + len(mark) if end >= 0 else len(self.text))

    def take(self, name: str) -> str | None:
        """The element `name` that begins here, taken off. None where it is not closed; then only its start is."""
        tag = rf"<(/?)(?:[\w.-]+:)?{re.escape(name)}(?=[\s/>])[^<>]*?(/?)>"
        marks = re.compile(rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|{tag}", re.DOTALL)
        place = 0
        while True:
            found = marks.search(self.text, place)
            if found is None:
                if self.at_end or len(self.text) > _LONGEST:
                    self.drop(1)
                    return None
                self.more()
            elif found[0].startswith("<!"):
                place = found.end()
            elif found[1] or (found.start() == 0 and found[2]):
                text = self.text[: found.end()]
                self.drop(found.end())
                return text
            elif found.start() == 0:
                place = found.end()
            else:
                self.drop(found.start())
                return None


def _decoded(file: Opened) -> Iterator[str]:
    declared = _DECLARED.match(file.start)
    encoding = file.encoding
    if declared and encoding not in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        try:
            encoding = codecs.lookup(declared[1].decode("ascii", "replace")).name
        except LookupError:
            encoding = file.encoding
    decoder = codecs.getincrementaldecoder(encoding)(MIXED)
    with closing(file.binary()) as stream:
        while block := stream.read(_BLOCK):
            yield decoder.decode(block)
    yield decoder.decode(b"", True)


def _parsed(text: str, spaces: str, line: int) -> Cut:
    clean = _ENTITY.sub(_character, _NO_CHARACTER.sub("", text)) if "&" in text else _NO_CHARACTER.sub("", text)
    try:
        element = _element(clean, spaces)
    except ParseError as error:
        if "unbound prefix" not in str(error):
            return Cut(line, None, f"not well-formed XML ({str(error).split(':')[0]})")
        prefixes = dict.fromkeys(_PREFIX.findall(clean))
        try:
            element = _element(clean, " ".join(f'xmlns:{prefix}="{prefix}"' for prefix in prefixes))
        except ParseError as second:
            return Cut(line, None, f"not well-formed XML ({str(second).split(':')[0]})")
    except (DefusedXmlException, RecursionError) as error:
        return Cut(line, None, f"XML that is refused ({type(error).__name__})")
    for inner in element.iter():
        if "}" in inner.tag:
            inner.tag = inner.tag.rsplit("}", 1)[1]
    return Cut(line, element)


def _element(text: str, spaces: str) -> Element:
    wrapper: Element = fromstring(f"<record {spaces}>{text}</record>", forbid_dtd=True)
    return wrapper[0]


def _character(found: re.Match[str]) -> str:
    """A character for an entity of HTML; an ampersand that begins none stands for itself."""
    if not found[1]:
        return "&amp;"
    character = html.unescape(found[0])
    return character if character != found[0] else f"&amp;{found[1]}"
