"""From a JSON object to a `Record`: this project's own, arXiv's, Semantic Scholar's, OpenReview's, CSL, OpenAlex.

They are told apart by their keys, never by the file's name, since dumps mix them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rag.identifiers import arxiv_of, pmid_of
from rag.readers.fields import make_record, split_names
from rag.readers.names import field_of
from rag.types import Record, Source

Object = Mapping[str, Any]
_WRAPPERS = ("citingPaper", "citedPaper", "paper", "_source", "item")


def paper_in(value: object) -> Object | None:
    """The object that describes a paper in `value`: itself, or the one it wraps. None where there is none."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("content"), dict) and paper_in(value["content"]) is not None:
        return value
    names = {found[0] for key in value if (found := field_of(key))}
    if "title" in names or "abstract" in names:
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
    external = flat.get("externalIds")
    ids: Object = external if isinstance(external, dict) else {}
    own = raw.get("id")
    arxiv = _text(raw.get("arxiv_id")) or _text(ids.get("ArXiv"))
    kind = _kind(flat)
    if kind in ("arxiv", "own") and not arxiv:
        arxiv = arxiv_of(_text(own), bare=kind == "arxiv")
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
        pmid=_text(raw.get("pmid")) or _text(ids.get("PubMed")) or (pmid_of(_text(own)) if kind == "own" else None),
        openreview_id=openreview,
        keywords=_words(raw.get("keywords")),
        own_id=_text(own) if kind == "own" else None,
        extra=extra,
    )


def _flattened(value: Object) -> dict[str, Any]:
    """OpenReview's `content` lifted up, and its {"value": …} opened."""
    flat: dict[str, Any] = {}
    for key, content in value.items():
        if key == "content" and isinstance(content, dict):
            for inner, wrapped in content.items():
                flat[inner] = wrapped["value"] if isinstance(wrapped, dict) and "value" in wrapped else wrapped
        else:
            flat.setdefault(key, content)
    return flat


def _kind(flat: Object) -> str:
    identity = _text(flat.get("id")) or ""
    if "forum" in flat and ("invitation" in flat or "invitations" in flat or "signatures" in flat or "cdate" in flat):
        return "openreview"
    if arxiv_of(identity, bare=True) and ("categories" in flat or "versions" in flat or "abs" in flat):
        return "arxiv"
    if "paperId" in flat or "authorships" in flat or "issued" in flat:
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
    return tuple(_person(item) for item in value) if isinstance(value, list) else ()


def _person(item: object) -> str:
    if isinstance(item, dict):
        if isinstance(item.get("author"), dict):
            return _person(item["author"])
        if item.get("family") or item.get("last"):
            return " ".join(
                filter(
                    None, (_text(item.get("given") or item.get("first")), _text(item.get("family") or item.get("last")))
                )
            )
        return _text(item.get("name") or item.get("display_name") or item.get("literal")) or ""
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
    """The paper objects in `value`, outermost first met, none inside another."""
    found = paper_in(value)
    if found is not None:
        yield found
    elif isinstance(value, dict):
        for inner in value.values():
            yield from papers_below(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from papers_below(inner)
