"""Identifiers as files and addresses write them, brought to one form each. None where there is none."""

from __future__ import annotations

import re
from urllib.parse import unquote

_DOI = re.compile(r"\b10\.\d{4,9}(?:\.\d+)*/[^\s\"'<>{}|\\^`]+", re.IGNORECASE)
# What publishers' addresses put behind a DOI.
_PART = re.compile(r"/(?:full(?:text)?|abstract|e?pdf|meta|html|references|summary)$")
_ARXIV_NEW = r"\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}"
_ARXIV_OLD = r"[a-z][a-z-]+(?:\.[A-Z]{2})?/\d{2}(?:0[1-9]|1[0-2])\d{3}"
_ARXIV_ID = re.compile(rf"({_ARXIV_NEW}|{_ARXIV_OLD})(?:v\d+)?")
_ARXIV_IN = re.compile(
    rf"(?:arxiv\.org/(?:abs|pdf|html|format)/|arxiv[.:/]\s*|ar5iv\.(?:labs\.arxiv\.)?org/(?:abs|html)/"
    rf"|huggingface\.co/papers/|alphaxiv\.org/abs/)({_ARXIV_NEW}|{_ARXIV_OLD})(?:v\d+)?(?!\d)",
    re.IGNORECASE,
)
_OPENREVIEW_IN = re.compile(r"openreview\.net/(?:forum|pdf|attachment|references/pdf)\?(?:[^#\s]*&)?id=([\w-]{6,})")
_PMID_IN = re.compile(r"(?:pubmed\.ncbi\.nlm\.nih\.gov/|ncbi\.nlm\.nih\.gov/pubmed/|pmid:?\s*)(\d{1,8})\b", re.I)
URL = re.compile(r"https?://[^\s<>\"'{}|\\^`\]\u3000-\u303f\uff00-\uffef]+", re.IGNORECASE)


def doi_of(text: str | None) -> str | None:
    """The DOI in `text`, in lower case, without resolver address and without closing punctuation."""
    if not text or "10." not in text:
        return None
    found = _DOI.search(unquote(text) if "%2" in text else text)
    return _PART.sub("", _trim(found[0]).lower()) if found else None


def arxiv_of(text: str | None, *, bare: bool = False) -> str | None:
    """The arXiv id in an address, a DOI (10.48550/arXiv.…) or after "arXiv:", without version.

    With `bare`, `text` may also be the id alone.
    """
    if not text:
        return None
    if bare and (whole := _ARXIV_ID.fullmatch(text.strip())):
        return whole[1]
    found = _ARXIV_IN.search(text)
    return found[1] if found else None


def arxiv_year(arxiv_id: str | None) -> int | None:
    """The year an arXiv id was given out in: 2310.11772 and hep-th/9901001 tell it by two digits."""
    if not arxiv_id:
        return None
    digits = int(arxiv_id.rpartition("/")[2][:2])
    return (1900 if digits > 90 else 2000) + digits


def openreview_of(text: str | None) -> str | None:
    """The forum id in an OpenReview address."""
    found = _OPENREVIEW_IN.search(text) if text else None
    return found[1] if found else None


def pmid_of(text: str | None, *, bare: bool = False) -> str | None:
    """The PubMed id in an address or after "PMID"; with `bare`, `text` may be the number alone."""
    if not text:
        return None
    if bare and re.fullmatch(r"\s*0*[1-9]\d{0,7}\s*", text):
        return text.strip().lstrip("0")
    found = _PMID_IN.search(text)
    return found[1].lstrip("0") or None if found else None


def url_in(text: str) -> str | None:
    """The first web address in running text, without the punctuation that closes the sentence."""
    found = URL.search(text)
    return _trim(found[0]) if found else None


def _trim(text: str) -> str:
    while text and text[-1] in ".,;:!?'\"*_~。，；：":
        text = text[:-1]
    if text.endswith(")") and text.count("(") < text.count(")"):
        return _trim(text[:-1])
    if text.endswith("]") and text.count("[") < text.count("]"):
        return _trim(text[:-1])
    return text
