"""Publishers' copyright notices at the ends of abstracts, and texts that only say that there is no abstract.

Only what is surely a notice goes: every word of it is a name, a year or one of the few words that notices are made of,
or it is one of the sentences that publishers add. A sentence of the abstract always has other words.
"""

from __future__ import annotations

import re

# No notice is without one of these.
_SIGNS = (
    "©",
    "ⓒ",
    "(c)",
    "copyright",
    "rights reserved",
    "open access",
    "open-access",
    "published by",
    "licens",
    "licenc",
    "from author",
    "from publisher",
)
_MARK = re.compile(
    r"[\[(]?(?:Abstract copyright:\s*)?(?:Crown )?(?:(?:19|20)\d\d\s*(?=©))?"
    r"(?:(?:©|ⓒ|\([cC]\))\s*(?:Crown )?(?:Copyright\b:?)?"
    r"|Copyright\b:?\s*(?:©|ⓒ|\([cC]\)|(?=\d{4}\b)|(?=of the\b)|(?=held by\b)))",
    re.IGNORECASE,
)
# Words that stand in a notice besides names and numbers.
_WORDS = """
a all an and as at behalf by copyright copyrighted de der des du el et al for exclusive from group held his her in inc
is la le licence license licensed licensee limited ltd of on or owner owner/author part owner/author(s) owner/author(s
author author(s author(s) authors published publication publications publishing publisher reserved rights some the
their this to under und van von with wiley.com ieee.org www unless otherwise noted stated
"""
_NOTICE_WORDS = frozenset(_WORDS.split())
_NAME = re.compile(
    r"[\"“(\[]*[A-ZÀ-Þ][\w'’&+./@()-]*|[&+/–—-]+|\W*\d[\d\w–./()$-]*|\W*(?:https?://|www\.)\S+|[a-z]+\.(?:org|com)\W*"
)
_NO_NAME = re.compile(r"Key ?words?|Index|Background|Objectives?|Methods?|Results?|Conclusions?|We|In|Our|It")
# Whole sentences that publishers add.
_SENTENCES = re.compile(
    r"(?:"
    r"All rights reserved"
    r"|Published by (?:Elsevier|Springer|Wiley|IEEE|ACM|Oxford University|Taylor (?:&|and) Francis|MDPI|SAGE|Cambridge)"
    r"[^.]{0,60}(?:B\.V|Ltd|Inc)?"
    r"|This (?:article|paper|work|chapter) is protected by copyright(?:\. All rights reserved)?"
    r"|This is an open[- ]access article (?:under|distributed under|published under|licensed under)[^.]{0,80}licen[cs]e"
    r"[^.]{0,60}(?:\(?https?://[^\s)]+\)?)?(?:,? which permits[^.]{0,250})?"
    r"|This is an open[- ]access article under the CC[ -][A-Z0-9 .-]+?"
    r"|This (?:article|paper|work) is (?:an open[- ]access article )?(?:distributed|licensed|published|made available) "
    r"under[^.]{0,80}(?:Creative Commons|CC[ -]BY)[^.]{0,120}"
    r"|Open access under (?:the )?CC[^.]{0,40}"
    r"|Licensee MDPI,? Basel,? Switzerland"
    r"|Selection and(?:/or)? peer[- ]review under (?:the )?responsibility of[^.]{0,120}"
    r"|Personal use is permitted[^.]{0,200}"
    r"|Copyright of [^.]{3,150} is the property of [^.]{3,250} and its content may not be (?:copied|used)[^.]{0,250}"
    r"|However, users may print, download, or email articles for individual use"
    r"|This abstract may be abridged|No warranty is given about the accuracy of the copy"
    r"|Users should refer to the original published version of the material for the full abstract"
    r"|(?:\(Copyright applies to all Abstracts\.?\)|\(?Copyright applies to all Abstracts)"
    r")[.\s)\]]*$"
    r"|[\[(](?:ABSTRACT FROM (?:AUTHOR|PUBLISHER)|Abstract from author|FROM AUTHOR)[\])][.\s]*$"
    r"|\(?\s*PsycINFO Database Record \(\s*c\s*\) \d{4} APA,? all rights reserved\)?[.\s]*$",
    re.IGNORECASE,
)
_END = r"(?:B\.\s?V\.?|S\.\s?A\.?|Ltd\.?|Inc\.?|LLC\.?|AG\.?|GmbH\.?|KG\.?|Co\.|[\w()]{3,}\.|IEEE\.?|ACM\.?)"
_HEAD = re.compile(
    r"(?:Crown )?(?:Copyright\s*)?(?:©|ⓒ|\([cC]\))\s*(?:Copyright\s*)?(?:by\s+)?(?:\d{4}(?:\s*[-–/,]\s*\d{4})?,?\s*)?"
    r"(?:(?:by|of|and|for|the|on|behalf|under|exclusive|licen[cs]ee?|to|et|al\.|de|authors?|[A-ZÀ-Þ&(][\w'’&+/()-]*)[,;]?\s+)"
    r"{0,14}?"
    rf"(?:{_END})\s*(?:Published by [A-Z][\w.& ]{{3,40}}?(?:B\.\s?V\.|Ltd\.?|Inc\.?)\s*)?(?:All rights reserved\.?\s*)?"
    r"(?=[A-ZÀ-Þ\"“(\[\u4e00-\u9fff])(?!(?:Ltd|Inc|B\.|V\.|LLC|All rights|Published))"
)
_NO_ABSTRACT = re.compile(
    r"\W*(?:(?:no abstracts?|(?:the )?abstract (?:is |was )?(?:not|un))[ -]?(?:is |was )?"
    r"(?:available|provided|given|supplied|present)?(?: for this (?:article|paper|item))?"
    r"|abstract|none|null|nan|n\.?\s?/?\s?a\.?|not (?:available|applicable|provided)|nil|tbd|tba|to be added|untitled"
    r"|editorial(?: note)?|erratum|errata|corrigendum|correction|retracted|retraction|(?:temporarily )?withdrawn|letter"
    r"|letter to the editor|reply|response|book review|review|introduction|foreword|preface|commentary|comment|news"
    r"|see (?:the )?(?:pdf|full text|paper|article)|international audience|see text|item (?:is )?not available"
    r"|(?:this )?(?:paper|article|submission) (?:has been |was |is )?(?:withdrawn|retracted)"
    r"|kein(?:e)? (?:abstract|zusammenfassung)(?: verfügbar| vorhanden)?|(?:pas de|sans) résumé|résumé non disponible"
    r"|(?:sin|no hay) resumen|resumen no disponible|sem resumo"
    r"|resumo não disponível|无|暂无|無|无摘要|暂无摘要|なし)\W*",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(
    r"\W*(?:this|the)\s+(?:paper|article|submission|manuscript|work|preprint)\s+(?:has\s+been|was|is|have been)\s+"
    r"(?:temporarily\s+|now\s+)?(?:withdrawn|retracted|removed)\b",
    re.IGNORECASE,
)


def without_notices(abstract: str) -> str:
    """`abstract`, cleaned, without copyright notices at its beginning and end. Doing it again changes nothing."""
    lower = abstract.lower()
    if not any(map(lower.__contains__, _SIGNS)):
        return abstract
    text = abstract
    while True:
        before = text
        text = _without_head(_without_tail(text))
        if text == before:
            return text


def is_no_abstract(text: str) -> bool:
    """Whether `text` only says that there is no abstract, or what kind of item it is ("Editorial")."""
    return len(text) <= 80 and _NO_ABSTRACT.fullmatch(text) is not None


def says_nothing(abstract: str) -> bool:
    """Whether it is a notice of withdrawal, which papers have in common that have nothing in common."""
    return len(abstract) <= 400 and _WITHDRAWN.match(abstract) is not None


def _without_head(text: str) -> str:
    found = _HEAD.match(text)
    return text[found.end() :] if found else text


def _without_tail(text: str) -> str:
    if (found := _last_sentence(text)) is not None:
        return text[:found].rstrip()
    for mark in _MARK.finditer(text):
        if _is_notice(text[mark.start() : mark.end()], text[mark.end() :]):
            return text[: mark.start()].rstrip(" ([-–—|")
    return text


def _last_sentence(text: str) -> int | None:
    """Where the publisher's sentence begins that ends `text`; None where there is none."""
    start = max(0, len(text) - 700)
    for found in re.finditer(r"(?:^|(?<=[.;:!?)\]]))\s*(?=\S)|\s+(?=[\[(])", text[start:]):
        if _SENTENCES.match(text, start + found.end()):
            return start + found.start()
    return None


def _is_notice(mark: str, rest: str) -> bool:
    """Whether `rest`, which follows a mark of copyright to the end, has only words of a notice."""
    words = rest.split()
    if len(words) > 40 or (not words and "©" not in mark):
        return False
    if mark.lower().strip("([ ") in ("(c)", "c)") and not re.search(r"\b(?:19|20)\d\d\b|rights reserved", rest):
        return False  # the third item of a list
    named = False
    for raw in words:
        word = raw.strip('.,;:()[]"“”')
        if word.lower() in _NOTICE_WORDS:
            continue
        if not (_NAME.fullmatch(raw.rstrip('.,;:)]"”')) or not word) or _NO_NAME.fullmatch(word):
            return False
        named = True
    return named or len(words) <= 6
