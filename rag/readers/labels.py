"""Lines of the form `Title: …`, as people and scripts write them in text and Markdown."""

from __future__ import annotations

import re

from rag.readers.names import field_of

_TAGS = re.compile(r"<[^<>]{1,80}>")
# Label with its decoration: bullets, bold, colour; a colon outside or inside the bold.
_LINE = re.compile(
    r"""^[\s>]*(?:[-*+•]\s+)?(?P<bold>\*{1,3}|_{1,3})?\s*(?P<label>[^\W\d_][^:：*\n]{0,38}?)\s*
        (?:[:：]\s*(?:\*{1,3}|_{2,3})|(?:\*{1,3}|_{2,3})\s*[:：]|[:：](?!//))\s*(?P<rest>.*)$""",
    re.VERBOSE,
)
# The bold ends at the label or its colon.
_CLOSED = re.compile(r"[^:：*_]*\s*(?:[*_]{1,3}\s*[:：]|[:：]\s*[*_]{1,3})")
_FIRM_NAMES = """
    title abstract authors author summary keywords venue journal conference year url link doi arxiv pmid pdf date
    published openreview source titel autoren zusammenfassung jahr titre auteurs resume annee titulo autores resumen ano
    paperurl publicationdate publishedin arxivid 标题 题目 题名 论文标题 摘要 作者 关键词 链接 年份 会议 期刊
"""
_FIRM = frozenset(_FIRM_NAMES.split())


def label_in(line: str) -> tuple[str | None, str, str] | None:
    """(field, label, rest of the line) where `line` begins with a label; None where it is running text.

    The field is None for a label that names no field of a record. A bare label that is not one of the usual ones
    ("Results: …", "Note: …") counts as running text; in bold it counts as a label.
    """
    plain = (_TAGS.sub("", line) if "<" in line else line).strip()
    if not plain:
        return None
    found = _LINE.match(plain)
    if not found:
        return None
    label = found["label"].strip()
    if found["bold"] and found["bold"] in found["rest"] and not _CLOSED.match(plain[found.start("label") :]):
        return None  # a title in bold with a colon in it
    named = field_of(label)
    plain_label = "".join(char for char in label.casefold() if char.isalnum())
    if plain_label in _FIRM or (found["bold"] and len(label) <= 24):
        if plain_label == "publishedin":
            return "venue", label, found["rest"].strip()
        return (named[0] if named else None), label, found["rest"].strip()
    return None
