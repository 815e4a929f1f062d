"""What a model puts around a statement: bullets, emphasis, citation marks, "According to [1], …", "Yes, …"."""

from __future__ import annotations

import re

CITATION = re.compile(r"\s*[\[【]\s*(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\s*[\]】]")
_SUBJECT = re.compile(
    r"^(?:The\s+)?(?:paper|study|work|evidence|article|source)?\s*[\[【]\s*\d{1,3}\s*[\]】]\s+(?=[a-z]+s\b|ha[sd]\b|"
    r"is\b|was\b)",
    re.I,
)
_REFERRING = re.compile(
    r"(?:,?\s*(?:\(|\b)(?:according to|as (?:stated|mentioned|described|shown|reported|noted|given|seen) (?:in|by)|"
    r"based on|see|from|in|by|source:?|cf\.)\s+(?:the\s+)?(?:paper|evidence|study|abstract|source|article|work|"
    r"sentence)?s?"
    r"\s*[\[【]\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*[\]】]\)?,?)",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\d{1,2}[.)]|#{1,6}|>)\s+")
_EMPHASIS = re.compile(r"(\*\*|__|(?<![\w*])\*(?=\S)|(?<![\w`])`)(?P<inner>[^*`\n]+?)(?:\*\*|__|\*|`)")
_NOUN = (
    r"(?:paper|papers|study|studies|work|authors?|abstract|abstracts|article|evidence|research|researchers|source|text|"
    r"passage|context|results?|findings)"
)
_SAYS = (
    r"(?:states?|shows?|says?|reports?|finds?|found|claims?|demonstrates?|indicates?|mentions?|suggests?|concludes?|"
    r"explains?|notes?|argues?|describes?|reveals?|stated|showed|reported|concluded|demonstrated|suggested|observed?)"
)
_LEADS = re.compile(
    r"^(?:"
    r"(?:yes|no|sure|indeed|certainly|overall|therefore|thus|hence|so|in (?:summary|short|conclusion|particular|"
    r"other words)|"
    r"to summari[sz]e|answer|specifically|additionally|moreover|furthermore|finally|also|however|for example|"
    r"for instance|first(?:ly)?|second(?:ly)?|third(?:ly)?)\s*[,:]\s*"
    r"|(?:according to|based on|as (?:stated|mentioned|described|shown|reported) (?:in|by)|from|in)\s+"
    rf"(?:the|this|these|that)\s+(?:\w+\s+){{0,2}}{_NOUN}(?:\s+(?:provided|above|given))?\s*,\s*"
    rf"|(?:the|this|these)\s+(?:\w+\s+){{0,1}}{_NOUN}\s+(?:also\s+|clearly\s+)?{_SAYS}\s+that\s+"
    rf"|it\s+(?:is|was)\s+(?:stated|shown|reported|mentioned|found|noted|suggested|concluded)\s+that\s+"
    r"|(?:是的?|不是|根据(?:论文|摘要|证据|文献|该论文|上述\w*)|综上(?:所述)?|因此|所以|论文(?:指出|表明|提到))\s*[，,:：]\s*"
    r")",
    re.I,
)
_SPACES = re.compile(r"[ \t]{2,}")
_BEFORE_MARK = re.compile(r"\s+([.,;:!?。，；：！？])")
_NOTHING = re.compile(r"[\W\d_]*")
_FRAGMENT = re.compile(
    r"(?:[-–—:;,(]|\b(?:and|or|the|a|an|of|to|in|by|with|that|which|such as|e\.g|including))\s*[.。]?\s*$", re.I
)


def hints(sentence: str) -> tuple[int, ...]:
    """The citation numbers a model wrote, in order of first use; a hint and nothing more."""
    found: dict[int, None] = {}
    for match in CITATION.finditer(sentence):
        for part in re.split(r"[,;]", match[1]):
            low, _, high = (piece.strip() for piece in re.sub("–", "-", part).partition("-"))
            last = int(high) if high else int(low)
            found.update(dict.fromkeys(range(int(low), min(last, int(low) + 20) + 1)))
    return tuple(found)


def shown(sentence: str) -> str:
    """The sentence as it is shown: without bullet, emphasis and citation marks, and whole without them."""
    text = _BULLET.sub("", sentence).strip()
    text = _EMPHASIS.sub(lambda match: match["inner"], text)
    text = _SUBJECT.sub("The paper ", text, count=1)
    text = CITATION.sub("", _REFERRING.sub("", text))
    text = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text)).strip()
    text = re.sub(r"^[,;:]\s*", "", text)
    return text[:1].upper() + text[1:] if sentence[:1].isupper() and text[:1].islower() else text


def statement(sentence: str) -> str:
    """What is stated: the sentence as shown without the words that only lead up to it."""
    text = shown(sentence)
    while match := _LEADS.match(text):
        rest = text[match.end() :].strip()
        if not rest:
            break
        text = rest
    return text.strip("“”\"'‘’ ")


def clean_answer(text: str) -> str:
    """`text` as an answer: empty for bare citation marks or punctuation, and without a dangling end."""
    stripped = shown(text)
    if _NOTHING.fullmatch(stripped) and not re.search(r"\d", stripped):
        return ""
    return "" if _FRAGMENT.search(stripped) and len(stripped) < 200 else stripped
