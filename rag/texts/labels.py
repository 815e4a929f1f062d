"""A readable label for an abstract that came without a title."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.texts.sentences import split_sentences

_LONGEST = 110
_OPENING = 90
_WINDOW = 170  # characters after the verb in which the introduced name stands
# A name as systems have it: a capital or mixed case, perhaps with digits, hyphens, superscripts.
_NAME = r"(?:[A-Z][\w+@*-]*(?:\$[^$]{1,20}\$)?|[a-z]{1,3}[A-Z][\w-]*|\$[^$]{1,20}\$[-\w]+)(?:\sv?\d[\w.]*)?"
_SUBJECT = (
    r"\b(?:[Ww]e|[Tt]his (?:paper|work|study|article|survey|report)|[Oo]ur (?:work|paper|study)|[Hh]ere)\b"
    r"[^.;:]{0,90}?\b"
)
_STRONG = re.compile(rf"{_SUBJECT}(?:propos|present|introduc)(?:e|es|ed|ing|s)?\b")
_WEAK = re.compile(
    rf"{_SUBJECT}(?:develop|design|devise|build|construct|create|releas|formulat|establish|contribut|offer|provid|unveil|"
    r"put forward|curat|collect|suggest|describ|term|call|nam|dub)(?:e|es|ed|ing|s)?\b"
)
_FULL = re.compile(rf"((?:[\w’'+/-]+\s+){{1,9}})\(({_NAME})\)")
_SHORT_FIRST = re.compile(rf"({_NAME})\s+\(([A-Za-z][^()]{{6,90}})\)")
_CALLED = re.compile(
    r"(?:called|named|termed|dubbed|coined|denoted(?: as| by)?|abbreviated as|referred to as|namely|i\.e\.,"
    rf"|\bwe (?:call|name|term|dub)(?: (?:it|this|our|the)(?: \w+){{0,3}})?)\s+(?:as\s+|the\s+)?[\"“'‘`]*({_NAME})"
)
_DIRECT = re.compile(
    r"\s*(?:here\s+)?(?:(?:an?|the|our|novel|new|first|simple|unified|efficient|general|method|model|framework)[\s,]+){0,4}"
    r"(?:(?!of|on|in|to|for|that|how)[a-z-]+\s+)?"
    rf"((?:[A-Z][\w-]+\s+){{0,4}}{_NAME})"
)
_EXPLAINS = re.compile(
    r"\s*(?:,|:|[–—-]\s)?\s*(?:(?:which|that) )?(?:is |are |as )?(?:an?|the)\s+"
    r"(?:(?:new|novel|first|simple|general)(?:\s+and\s+|[,\s]+))*([^,.;:()]{8,200})"
)
_EXPLAINED_BEFORE = re.compile(
    r"\s*(?:an?|the)\s+(?:(?:new|novel|first|simple|general)(?:\s+and\s+|[,\s]+))*([^,;:()]{8,80}?),?\s*$"
)
_SAYS = (
    re.compile(
        rf"{_SUBJECT}(?:propose|present|introduce|develop|design|establish|prove|show|demonstrate|formalize)s?"
        r"\s+([^;:(]+)"
    ),
    re.compile(
        rf"{_SUBJECT}(?:stud(?:y|ies)|investigate|explore|analy[sz]e|tackle|consider|examine|revisit|extend|give|"
        r"initiate|characteri[sz]e|identify|generali[sz]e|leverage|employ|focus on|argue|bridge|address|aim to|start by"
        r")"
        r"(?:e?s)?\s+([^;:(]+)"
    ),
    re.compile(r"(?:提出|设计|构建|介绍|研究|探讨|分析|开发)(?:了|并实现了|出)?([^，。；]{4,60})"),
)
_PRONOUN = re.compile(
    r"(?:this|these|it|them|that (?:this|these|it|our)|such|both|our (?:method|approach|model))\b", re.I
)
_LEADING = re.compile(r"^(?:that|whether|how to|to|an?|the|our|novel|new)\s+", re.IGNORECASE)
_GENERIC_WORDS = """
    the this these those that we our in it to for on with by and or as at an from first second both here there code
    also however moreover specifically ai ml nlp dl dnn cnn gnn nn mlp rnn lstm llm vlm mllm plm lm rl ssl ode sde pde
    vit mdp
    pomdp lda pca svm sgd kl gan vae bert gpt clip transformer theorem algorithm markov gaussian bayesian large deep
    neural graph np-hard np-hardness lora mcmc nerf infonce
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())


def label_from(abstract: str) -> str:
    """The name introduced, with a few explaining words; else what the authors say they do; else its opening.

    "Optimal Brain Apoptosis (OBA)"; "SC-OmniGS: self-calibrating omnidirectional Gaussian splatting system".
    """
    sentences = [span.text for span in split_sentences(abstract)]
    for verb in (_STRONG, _WEAK):
        for sentence in sentences:
            if label := next(_introduced(sentence, verb), None):
                return _cut(label[0].upper() + label[1:] if " (" in label else label, _LONGEST)
    for pattern in _SAYS:
        for sentence in sentences:
            found = pattern.search(re.sub(r"\s*\([^()]*\)", "", sentence))
            if found and not _PRONOUN.match(found[1]) and not re.search(r"\b(?:this|these)\b", found[1][:40]):
                said = _bare(found[1])
                if len(said) > (12 if said.isascii() else 4):
                    return _cut(said[0].upper() + said[1:], _OPENING)
    return _cut(sentences[0] if sentences else abstract.strip(), _OPENING)


def _introduced(sentence: str, verb: re.Pattern[str]) -> Iterator[str]:
    """Labels from names that `sentence` introduces after `verb`."""
    for said in verb.finditer(sentence):
        after = sentence[said.end() : said.end() + _WINDOW]
        for found in _FULL.finditer(after):
            words = _initialled(found[1].split(), found[2])
            if words and _is_name(found[2]):
                yield f"{' '.join(words)} ({found[2]})"
        for found in _SHORT_FIRST.finditer(after):
            if _is_name(found[1]) and _initialled(found[2].split(), found[1]):
                yield f"{found[2]} ({found[1]})"
        direct = _DIRECT.match(after)
        for named in filter(None, (direct, *_CALLED.finditer(after))):
            name = named[1].rstrip("-")
            if _is_name(name):
                explained = _EXPLAINS.match(after[named.end(1) :]) or _EXPLAINED_BEFORE.match(after[: named.start()])
                yield f"{name}: {explained[1].strip()}" if explained else name


def _is_name(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    if len(letters) < 2 or {text.lower(), text.lower().removesuffix("s")} & _GENERIC:
        return False
    capitals = sum(char.isupper() for char in letters)
    return (capitals >= 2 and not text.isupper()) or capitals >= 3 or any(map(str.isdigit, text)) or "-" in text[1:-1]


def _initialled(words: list[str], short: str) -> list[str]:
    """The fewest last of `words` whose letters, in order, give `short`; empty where none do."""
    letters = [char.lower() for char in short if char.isalnum()]
    for count in range(1, len(words) + 1):
        tail = words[-count:]
        if tail[0][0].lower() == letters[0] and _holds(" ".join(tail).lower(), letters) and count * 4 >= len(letters):
            return tail
    return []


def _holds(text: str, letters: list[str]) -> bool:
    at = -1
    for letter in letters:
        at = text.find(letter, at + 1)
        if at < 0:
            return False
    return True


def _bare(text: str) -> str:
    text = re.split(r",\s*(?:i\.e\.|e\.g\.|which|where|that)\b", text)[0].strip(" ,.")
    while shorter := _LEADING.sub("", text):
        if shorter == text:
            break
        text = shorter
    return text


def _cut(text: str, longest: int) -> str:
    """`text` within `longest` characters, cut between words."""
    text = text.strip(" ,;:.")
    if len(text) <= longest:
        return text
    head = text[:longest]
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(" ,;:.") + "…"
