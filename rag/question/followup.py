"""A follow-up question made standalone from the conversation, by rules.

A question depends on what came before when it opens like a continuation ("and its accuracy?", "what about 2024?") or
refers by a pronoun to something that it does not name itself. Its subject is then the system or paper that
the last question or answer was about, else the topic of the last question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.question.kinds import kind_of
from rag.types import Turn

Resolve = Callable[[str], str | None]

_OPENING = re.compile(
    r"^\W*(?:and|but|so|also|then|ok(?:ay)?|what\s+about|how\s+about|what\s+else|same\s+for|那么?|还有|以及|另外)\b[\s,:]*|^那么?",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"^\W*(?:(?:and|but|so|ok(?:ay)?)[\s,]+)?(?:what|how)\s+about\s+(?P<what>.+?)\W*$|^\W*那么?(?P<zwhat>.+?)呢\W*$",
    re.IGNORECASE | re.DOTALL,
)
_THING = (
    r"(?:paper|method|model|approach|work|study|system|dataset|benchmark|framework|algorithm|technique|article|one"
    r"|authors?|results?|library|architecture|task)"
)
_OWNER = re.compile(r"\b(?:its|their|his|her)\b(?!\s+own\b)", re.IGNORECASE)
_PRONOUN = re.compile(
    rf"\b(?:this|that|the\s+(?:same|above|former|latter|first|second|said))\s+{_THING}\b|\b(?:it|they|them|he|she)\b"
    r"|(?:(?<=^)|\b(?:does|do|did|is|are|was|were|can|about|of|to|with|by)\s+)(?:this|that|these|those)\b"
    r"(?=\W*$|\s+(?:is|are|was|were|do|does|did|works?|compare|use|differ|mean|help)\b)",
    re.IGNORECASE,
)
_AUTHORS = re.compile(
    r"\bthe\s+(?:authors?|paper|method|approach|model|study|dataset|benchmark|system)\b"
    r"(?!\s+(?:on|about|of|by|for|from|that|which|with|in|to|called|named|proposed|introducing|\w+ing)\b)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"\bthe\s+(?P<which>first|second|third|fourth|fifth|last)\s+(?:one|paper|work|method|article)\b"
    r"(?!\s+(?:to|that|which|on|about)\b)",
    re.IGNORECASE,
)
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|should|will|would)\b|\w(?:es|ed)\b", re.IGNORECASE
)
_PREPOSITION = re.compile(r"^(?P<preposition>on|in|for|with|at|under|from|against|over)\s+\S", re.IGNORECASE)
# "it" that refers to nothing: "Is it possible to prune …", "what does it mean to be …".
_EMPTY_IT = re.compile(
    r"\bit(?:'s|\s+is|\s+was)?\s+(?:\w+\s+)?(?:possible|true|known|necessary|hard|easy|feasible|NP-hard|clear|useful|mean|take"
    r"|help|better|safe)\b",
    re.IGNORECASE,
)
_ZH_PRONOUN = re.compile(
    r"它们?的?|其(?!他|它|中|实|余)|作者们?"
    r"|(?:这|该|此|上述)(?:篇|个|种|项)?(?:论文|文章|方法|模型|工作|系统|数据集|框架|算法)的?"
)
_CJK = re.compile(r"[\u3400-\u9fff]")
# A name as systems have them: capitals inside, a digit, or a capitalised word away from the beginning.
_NAME = re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])(?:[A-Za-z]+[\w+]*(?:[-/][\w+]+)*)(?![\w])", re.ASCII)
_QUOTED = re.compile(r"\*\*(.+?)\*\*|“(.+?)”|\"(.+?)\"|(?<!\*)\*([^*]+)\*(?!\*)|《(.+?)》|「(.+?)」")
_YEARS = re.compile(r"(?:19|20)\d\d")
_ONLY_YEAR = re.compile(r"^\W*(?:in\s+|from\s+|of\s+|since\s+)?(?P<year>(?:19|20)\d\d)年?\W*$", re.IGNORECASE)
_ONLY_NAME = re.compile(r"^\W*(?:the\s+)?(?P<name>[A-Z][\w+/-]*(?:\s+[A-Z0-9][\w+/-]*){0,3})\W*$")
_ASKING = re.compile(
    r"^\W*(?:(?:can|could)\s+you\s+)?(?:what|which|who|how|why|when|where|is|are|does|do|did|was|were|has|have|can|tell\s+me|explain|describe)\b"
    r"(?:\s+(?:is|are|was|were|does|do|did|has|have|can|the|an?|there|about|many|much))*\s*",
    re.IGNORECASE,
)
# Capitalised words that name no system: words of asking, fields, venues, and the data sets that everyone uses.
_NO_SYSTEMS = """
AI ML NLP RL CV LLM LLMs GPU GPUs CPU API SOTA I A The What Which Who How Why When Where Is Are Does Do Did Was Were
Has Have Can Could In On At Of For And But So It Its This That These Those They Tell Explain Describe Compare List
Show By From With According Paper ICLR ICML NeurIPS ACL EMNLP CVPR AAAI ImageNet CIFAR COCO MNIST
"""
_COMMON = frozenset(_NO_SYSTEMS.split())
_BARE = re.compile(r"^(?:why|how|when|where|who|really)$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s")
_SHORT = 4  # words of a question that may leave out its verb
_LONG = 24  # words from which a text says what it is about itself
_ZH_EARLY = 12  # characters before which a Chinese pronoun stands for something said earlier


@dataclass(frozen=True, slots=True)
class Standalone:
    """The question without need of the history. `sure` is False where a rule had to guess."""

    text: str
    changed: bool
    sure: bool = True


def standalone(text: str, history: Sequence[Turn], resolve: Resolve) -> Standalone:
    """`text` made to stand alone after `history` (oldest turn first).

    `resolve` gives the name under which a paper title found in an answer is to be asked for, None for no such paper.
    """
    question: str | None = None
    answer: str | None = None
    for turn in history:
        if turn.role == "assistant":
            answer = turn.content
        elif turn.content.strip():
            # An earlier follow-up is made standalone too, so that "it" reaches back over several turns.
            question = turn.content if question is None else _rewrite(turn.content, question, answer, resolve).text
            answer = None
    return Standalone(text, False) if question is None else _rewrite(text, question, answer, resolve)


def _rewrite(text: str, last: str, answer: str | None, resolve: Resolve) -> Standalone:
    if not depends(text):
        return Standalone(text, False)
    chinese = bool(_CJK.search(text))
    about = _ABOUT.match(text)
    rest = (about["what"] or about["zwhat"]) if about else _OPENING.sub("", text)
    rest = rest.strip(" ?？.。!")
    if swapped := _swap(rest, last):
        return Standalone(swapped, True)
    subject, is_name = _ordinal(rest, answer, resolve) or _subject(last, answer, resolve)
    if subject is None or not rest or _BARE.match(rest):
        return Standalone(
            f"{last.rstrip(' ?？.。')} – {rest or text.strip()}{'？' if chinese else '?'}", True, sure=False
        )
    put = _put(rest, subject, chinese) if is_name else None
    if put is None:
        short = len(rest.split()) <= _SHORT and not _VERB.search(rest)
        if chinese:
            put = f"{subject}的{rest}"
        else:
            put = f"{rest} of {subject}" if short and is_name and about else f"{rest} ({subject})"
    put = put if chinese else put[:1].upper() + put[1:]
    return Standalone(put + ("？" if chinese else "?"), True, sure=is_name)


def depends(text: str) -> bool:
    """Whether `text` refers to something said before it."""
    if _OPENING.match(text) or _ABOUT.match(text):
        return True
    if _CJK.search(text):
        found = _ZH_PRONOUN.search(text)
        return found is not None and not _names(text[: found.start()]) and found.start() < _ZH_EARLY
    if len(text.split()) > _LONG:
        return False
    plain = _EMPTY_IT.sub(" ", text)
    for pattern in (_ORDINAL, _PRONOUN, _OWNER, _AUTHORS):
        # The subject may be named in the sentence itself, before the pronoun.
        if (found := pattern.search(plain)) and not _has_subject(plain[: found.start()]):
            return True
    elliptic = len(text.split()) <= _SHORT and not _VERB.search(text) and not _names(text)
    return elliptic and bool(re.match(r"^\W*(?:why|how|when|where|who|which|what|really|on|in)\b", text, re.IGNORECASE))


def _has_subject(before: str) -> bool:
    """Whether the words before a pronoun hold something that it could stand for."""
    if _names(before):
        return True
    content = [word for word in _ASKING.sub("", before).split() if len(word) > _SHORT - 1]
    return len(content) >= _SHORT or bool(content and re.search(r"[:–—-]\W*\w+\W*$|--", before))


def _names(text: str) -> list[str]:
    """Names of systems in `text`, in order; the first word counts only when it looks like no ordinary word."""
    found = []
    for match in _NAME.finditer(text):
        name = match[0]
        first = not text[: match.start()].strip(" \t\n*\"'“(")
        if name not in _COMMON and (_is_system(name) or not first):
            found.append(name)
    return found


def _subject(last: str, answer: str | None, resolve: Resolve) -> tuple[str | None, bool]:
    """What the last exchange was about, and whether that is a name: of a system or paper, else the question's topic.

    A question for a paper is about the paper that the answer names.
    """
    named = _name_phrase(last)
    if named and _is_system(named) and kind_of(last)[0] not in ("which", "list"):
        return named, True
    for title in _titles(answer or ""):
        if name := resolve(title):
            return name, True
    if answer and (phrase := _name_phrase(_SENTENCE_END.split(answer.strip(), maxsplit=1)[0])) and _is_system(phrase):
        return phrase, True
    if named:
        return named, True
    topic = last.strip(" ?？.。!") if _CJK.search(last) else _ASKING.sub("", last).strip(" ?？.。!")
    return (topic, False) if topic and len(topic.split()) <= _LONG else (None, False)


def _ordinal(text: str, answer: str | None, resolve: Resolve) -> tuple[str, bool] | None:
    """The paper meant by "the second one": by its place in the answer."""
    found = _ORDINAL.search(text)
    titles = [name for title in _titles(answer or "") if (name := resolve(title))]
    if found is None or not titles:
        return None
    place = _ORDINALS[found["which"].lower()]
    return (titles[place], True) if place < len(titles) else None


def _titles(answer: str) -> list[str]:
    """What an answer puts in quotation marks, italics or bold."""
    return [next(group for group in found.groups() if group) for found in _QUOTED.finditer(answer)]


def _is_system(name: str) -> bool:
    """Whether a name looks like no ordinary word: capitals or digits inside, a hyphen, several words."""
    return " " in name or "-" in name or any(char.isupper() or char.isdigit() for char in name[1:])


def _name_phrase(text: str) -> str | None:
    """The first name in `text`, with the capitalised words that follow it ("Optimal Brain Apoptosis")."""
    names = _names(text)
    if not names:
        return None
    best = next((name for name in names if _is_system(name)), names[0])
    start = text.index(best)
    run = re.match(re.escape(best) + r"(?:\s+[A-Z][\w+-]*)*", text[start:])
    return run[0] if run else best


def _swap(what: str, last: str) -> str | None:
    """`last` with its year or its system replaced by the one that `what` consists of, as in "and in 2024?"."""
    if year := _ONLY_YEAR.match(what):
        if _YEARS.search(last):
            return _YEARS.sub(year["year"], last)
        kept = last.rstrip(" ?？.。")
        return f"{kept} {year['year']}年？" if _CJK.search(last) else f"{kept} in {year['year']}?"
    if preposition := _PREPOSITION.match(what):
        same = re.compile(rf"\s{preposition['preposition']}\s+[^,?]+(?=[?.]?\s*$)", re.IGNORECASE)
        kept = same.sub("", last).rstrip(" ?.")
        return f"{kept} {what}?"
    name = _ONLY_NAME.match(what)
    old = _name_phrase(last)
    if name and old and name["name"] not in last:
        return last.replace(old, name["name"])
    return None


def _put(text: str, subject: str, chinese: bool) -> str | None:
    """`text` with its first pronoun replaced by `subject`; None where it has none."""
    if chinese:
        put, times = _ZH_PRONOUN.subn(
            lambda said: subject + ("的" if said[0].endswith("的") or said[0] == "其" else ""), text, count=1
        )
        return put if times else None
    if found := _ORDINAL.search(text):
        return f"{text[: found.start()]}{subject}{text[found.end() :]}"
    empty = _EMPTY_IT.search(text)
    owner = _OWNER.search(text)
    found = _PRONOUN.search(text)
    if found and empty and empty.start() == found.start():
        found = None
    if owner and (found is None or owner.start() < found.start()):
        ending = "'" if subject.endswith("s") else "'s"
        return f"{text[: owner.start()]}{subject}{ending}{text[owner.end() :]}"
    if found:
        return f"{text[: found.start()]}{subject}{text[found.end() :]}"
    if authors := _AUTHORS.search(text):
        return f"{text[: authors.end()]} of {subject}{text[authors.end() :]}"
    return None
