"""From a JSON object to a `Record`: this project's own, arXiv's, Semantic Scholar's, OpenReview's, CSL, OpenAlex.

They are told apart by their keys, never by the file's name, since dumps mix them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rag.papers.identifiers import arxiv_of, pmid_of
from rag.readers.fields import make_record, split_names, year_of
from rag.readers.names import field_of
from rag.types import Record, Source

Object = Mapping[str, Any]
_NAME_PARTS = (
    ("given", "dropping-particle", "non-dropping-particle", "family", "suffix"),
    ("first", "middle", "last", "suffix"),
    ("firstName", "lastName"),
)
_WHOLE_NAMES = ("name", "display_name", "literal", "fullName", "fullname", "text", "raw_author_name")
_WRAPPERS = ("citingPaper", "citedPaper", "paper", "_source", "item")
# Keys of services whose ids are their own and name no paper of a library.
_FOREIGN = ("paperId", "authorships", "issued", "s2Url", "inCitations", "paper_id", "entry_id", "pubModel", "docid")
# Daily lists of arXiv keep a row of their Markdown table under each identifier: date, title, authors, link.
_DAILY = re.compile(
    r"\|\s*\**(?P<date>(?:19|20)\d\d-\d\d-\d\d)\**\s*\|\s*\**(?P<title>[^|]+?)\**\s*\|\s*(?P<authors>[^|]*?)\s*\|"
    r"\s*\[?(?P<arxiv_id>\d{4}\.\d{4,5})"
)
_ARXIV_WHOLE = re.compile(r"\d{4}\.\d{5}(?:v\d+)?")


def paper_in(value: object) -> Object | None:
    """The object that describes a paper in `value`: itself, or the one it wraps. None where there is none."""
    if not isinstance(value, dict) or _is_table(value):
        return None
    if (inner := paper_in(value.get("paper"))) is not None:
        return inner  # what stands around it repeats its title, as in Hugging Face's lists
    if isinstance(value.get("content"), dict) and paper_in(value["content"]) is not None:
        return value
    names = {found[0] for key, held in value.items() if (found := field_of(key)) and _is_value(held)}
    if "title" in names or "abstract" in names or isinstance(value.get("abstract_inverted_index"), dict):
        return value
    return next((inner for key in _WRAPPERS if (inner := paper_in(value.get(key))) is not None), None)


def record_of(value: Object, source: Source) -> Record:
    """The record of one paper object. Keys that are no known field stay in `extra`."""
    flat = _flattened(value)
    chosen: dict[str, tuple[int, str]] = {}
    for key, content in flat.items():
        found = field_of(key)
        if found and content not in (None, "", [], {}) and (found[0] not in chosen or found[1] < chosen[found[0]][0]):
            chosen[found[0]] = (found[1], key)
    raw = {field: flat[key] for field, (_, key) in chosen.items()}
    used = {key for _, key in chosen.values()}
    external = flat.get("externalIds") or flat.get("ids")
    ids: Object = external if isinstance(external, dict) else {}
    own = raw.get("id")
    arxiv = _text(raw.get("arxiv_id")) or _text(ids.get("ArXiv"))
    kind = _kind(flat)
    if not arxiv:
        arxiv = arxiv_of(_text(own), bare=kind == "arxiv" or bool(_ARXIV_WHOLE.fullmatch(_text(own) or "")))
    url = _text(raw.get("url"))
    if kind == "arxiv" and arxiv and not url:
        url = f"https://arxiv.org/abs/{arxiv}"
    openreview = _text(raw.get("openreview_id"))
    if kind == "openreview":
        openreview = openreview or _text(flat.get("forum")) or _text(own)
        url = url if url and url.startswith("http") else f"https://openreview.net/forum?id={openreview}"
    extra = {key: _text(content) for key, content in flat.items() if key not in used | {"id", "extra", "externalIds"}}
    given = flat.get("extra")
    if isinstance(given, dict):
        extra.update({str(key): _text(content) for key, content in given.items()})
    return make_record(
        source,
        title=_text(raw.get("title")),
        abstract=_abstract(flat, raw.get("abstract")),
        authors=_people(raw.get("authors")),
        venue=_text(raw.get("venue")),
        year=_year(flat, raw.get("year")),
        url=url,
        doi=_text(raw.get("doi")) or _text(ids.get("DOI")),
        arxiv_id=arxiv,
        pmid=_text(raw.get("pmid"))
        or _text(ids.get("PubMed"))
        or _text(ids.get("pmid"))
        or (pmid_of(_text(own)) if kind == "own" else None),
        openreview_id=openreview,
        keywords=_words(raw.get("keywords")),
        own_id=_text(own) if kind == "own" else None,
        extra=extra,
    )


def _flattened(value: Object) -> dict[str, Any]:
    """OpenReview's `content` lifted up, and its {"value": …} opened; the journal's title of Europe PMC lifted up."""
    flat: dict[str, Any] = {}
    for key, content in value.items():
        if key == "content" and isinstance(content, dict):
            for inner, wrapped in content.items():
                flat[inner] = wrapped["value"] if isinstance(wrapped, dict) and "value" in wrapped else wrapped
        elif key == "journalInfo" and isinstance(content, dict):
            flat["journalTitle"] = (content.get("journal") or {}).get("title")
        else:
            flat.setdefault(key, content)
    return flat


def _kind(flat: Object) -> str:
    identity = _text(flat.get("id")) or ""
    if "forum" in flat and ("invitation" in flat or "invitations" in flat or "signatures" in flat or "cdate" in flat):
        return "openreview"
    if arxiv_of(identity, bare=True) and ("categories" in flat or "versions" in flat or "abs" in flat):
        return "arxiv"
    if any(key in flat for key in _FOREIGN) or not flat.keys().isdisjoint(
        ("authorList", "journalInfo", "citationCount")
    ):
        return "foreign"
    return "own" if identity else "foreign"


def _abstract(flat: Object, found: object) -> str | None:
    index = flat.get("abstract_inverted_index")
    if isinstance(index, dict):
        places = sorted((place, word) for word, at in index.items() for place in (at if isinstance(at, list) else []))
        return " ".join(word for _, word in places)
    return _text(found)


def _people(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return split_names(value)
    if isinstance(value, dict):  # DBLP and Europe PMC: {"author": [...]}, or one author alone
        return _people(value["author"]) if "author" in value else (_person(value),)
    return tuple(_person(item) for item in value) if isinstance(value, list) else ()


def _person(item: object) -> str:
    if isinstance(item, dict):
        if isinstance(item.get("author"), dict):
            return _person(item["author"])
        for names in _NAME_PARTS:
            if any(_text(item.get(name)) for name in names[1:]):
                return " ".join(part for name in names if (part := _text(item.get(name))))
        return next((name for key in _WHOLE_NAMES if (name := _text(item.get(key)))), "")
    if isinstance(item, list):  # arXiv's [family, given, suffix, affiliations…]
        family, given, suffix, *_ = [*(str(part or "").strip() for part in item), "", "", ""]
        return " ".join(part for part in (given.replace(". -", ".-"), family, suffix) if part)
    return _text(item) or ""


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        mark = ";" if ";" in value else ","
        return tuple(value.split(mark))
    if not isinstance(value, list):
        return ()
    return tuple(
        _text(item.get("name") or item.get("display_name") if isinstance(item, dict) else item) or "" for item in value
    )


def _year(flat: Object, value: object) -> str | int | None:
    """The stated year; of arXiv entries, which state the year of their last change, that of the first version."""
    if _kind(flat) == "openreview" and (year := year_of(_text(flat.get("venue")))):
        return year  # the conference's, not that of the submission
    versions = flat.get("versions")
    if isinstance(versions, list) and versions and isinstance(versions[0], dict):
        return _text(versions[0].get("created"))
    if isinstance(value, int) and not isinstance(value, bool):
        if value > 10_000:  # OpenReview states milliseconds since 1970
            return 1970 + int(value / 1000 / 31_556_952)
        return value if 1000 <= value <= 2999 else None
    if isinstance(value, dict) and isinstance(value.get("date-parts"), list):
        return _text(value["date-parts"][0][0]) if value["date-parts"] and value["date-parts"][0] else None
    return _text(value)


def _text(value: object) -> str | None:
    """A scalar as text; of a list its joined items, of an object its name or its JSON."""
    if value is None or value == "" or value == [] or value == {}:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return "; ".join(str(item) for item in value)
    if isinstance(value, dict):
        for key in ("name", "display_name", "text", "value", "url"):
            if isinstance(value.get(key), str):
                return str(value[key])
        source = value.get("source")
        if isinstance(source, dict):
            return _text(source)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def papers_below(value: object) -> Iterator[Object]:
    """The paper objects in `value`, outermost first met, none inside another; rows of daily arXiv lists are objects."""
    if isinstance(value, str):
        if (row := _DAILY.match(value)) is not None:
            yield row.groupdict()
        return
    found = paper_in(value)
    if found is not None:
        yield found
    elif isinstance(value, dict) and _is_table(value):
        yield from _rows(value)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from papers_below(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from papers_below(inner)


def _is_value(held: object) -> bool:
    """Whether it is what a field holds, rather than a part of the structure with entries of its own."""
    return not isinstance(held, dict) or not held.keys().isdisjoint(("value", "text", "name"))


def _is_table(value: Object) -> bool:
    """Whether it is a table by columns, as pandas writes it: each key with a list of values, or with them by row."""
    columns = [held for key, held in value.items() if (found := field_of(key)) and found[0] in ("title", "abstract")]
    if not columns:
        return False
    if all(isinstance(held, dict) and held and all(row.isdigit() for row in held) for held in columns):
        return True
    return all(isinstance(held, list) and len(held) > 1 for held in columns) and len(columns) > 1


def _rows(table: Object) -> Iterator[Object]:
    """The rows of a table by columns."""
    columns = {
        key: held if isinstance(held, dict) else dict(enumerate(held))
        for key, held in table.items()
        if isinstance(held, dict | list)
    }
    for row in dict.fromkeys(row for held in columns.values() for row in held):
        yield {key: held[row] for key, held in columns.items() if row in held}
