"""What sort of question it is, and the sides of a comparison. Rules over the question's words, English and Chinese.

A question about one paper's content is "fact" ("How many parameters has BERT?", "Which model is the fastest?"); one
that looks for a single paper is "which"; those for many papers are "list", "count" or "overview"; one between two
things is "compare".
"""

from __future__ import annotations

import re

from rag.types import Kind

_PAPERS = (
    r"(?:papers|works|articles|abstracts|studies|publications|preprints|entries|manuscripts|submissions"
    r"|approaches\ are\ there|methods\ are\ there)"
)
_PAPER = r"(?:paper|work|article|abstract|study|publication|preprint|manuscript|submission|research)"
# Up to four words between; not over another word for a paper, where "studies" would be a verb.
_GAP = rf"(?:(?!{_PAPER}\b)[\w\u2019'&/.\-]+\s+){{0,4}}?"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


_COUNT = _rule(
    rf"""\bhow\s+many\s+(?:of\s+(?:the|these|those|my)\s+)?{_GAP}{_PAPERS}\b
    |\b(?:what\s+is\s+the|give\s+me\s+the|the)\s+number\s+of\s+{_GAP}{_PAPERS}\b
    |\bcount\s+(?:the|all|of)?\s*{_GAP}{_PAPERS}\b
    |(?:多少|几)\s*(?:篇|个)?\s*(?:论文|文章|工作|研究|摘要|文献)|(?:多少|几)篇|(?:论文|文章|文献)\S{{0,6}}(?:有|共)?(?:多少|几)篇"""
)
_LIST = _rule(
    rf"""\b(?:which|what)\s+(?:of\s+(?:the|these|those|my)\s+)?{_GAP}{_PAPERS}\b(?!\s+(?:does|do|did|is|was)\s+it)
    |\b(?:list|show|name|give|find|enumerate|collect|gather|get|print|recommend|suggest)\s+(?:me\s+|us\s+)?
      (?:all\b|every\b|the\b|any\b|some\b|a\s+list\s+of\b)?\s*(?:of\s+)?(?:the\s+)?{_GAP}{_PAPERS}\b
    |\bare\s+there\s+(?:any|some|other|more)?\s*{_GAP}{_PAPERS}\b
    |^\W*(?:all\s+|the\s+)?{_GAP}{_PAPERS}\s+(?:on|about|that|which|using|with|from|in|at|of|for|by|dealing|related
      |published|since|before|after|between)\b
    |^\W*list\b
    |(?:哪些|哪几篇|有什么|列出|列举|找出所有|所有)[^，。？]{{0,30}}?(?:论文|文章|工作|研究|文献|摘要)|哪几篇
    |(?:论文|文章|工作|文献)\S{{0,2}}(?:有哪些|有什么)"""
)
_OVERVIEW = _rule(
    rf"""^\W*what\s+(?:is|are|do\s+(?:we|you|i)\s+have)\s+(?:there|here)\s+(?:on|about)\b
    |^\W*what\s+do\s+(?:we|you|i)\s+have\s+(?:on|about)\b
    |\bwhat\s+(?:{_PAPERS}|research|literature|work)\s+(?:is|are)\s+there\b
    |^\W*(?:(?:please\s+)?(?:give|write|provide|show)\s+(?:me\s+|us\s+)?)?(?:an?\s+|the\s+)?
      (?:short\s+|brief\s+)?(?:overview|survey|summary)\s+(?:of|on)\s
    |\bsummari[sz]e\s+(?:all\s+|the\s+|these\s+|recent\s+)*{_GAP}(?:{_PAPERS}|literature|research|work|field)\b
    |^\W*what\s+(?:topics|themes|areas|subjects|fields)\b|^\W*what\s+(?:are|is)\s+the\s+{_GAP}(?:trends?|state\s+of\s+the\s+art)
      \s+(?:in|of|on|for)\b
    |\bwhat\s+(?:has|have)\s+been\s+(?:done|published|written|said|proposed)\b
    |(?:综述|概述|概览|总结)一?下?\S{{0,10}}(?:论文|研究|工作|进展|领域|方向)|有何研究|有哪些(?:方向|主题|进展)"""
)
_WHICH = _rule(
    rf"""\b(?:which|what|whose)\s+{_GAP}{_PAPER}\b
    |\b(?:is|was)\s+there\s+(?:an?|any|some)?\s*{_GAP}(?:{_PAPER}|dataset|benchmark|model|tool|method)\b
    |\b(?:find|name|give|show|recommend|suggest|provide|identify)\s+(?:me\s+|us\s+)?
      (?:an?|the|one|any)\s+{_GAP}(?:example\s+of\s+an?\s+)?{_PAPER}\b
    |哪一?(?:篇|个工作|项(?:工作|研究))|有没有\S{{0,20}}(?:论文|文章|工作|研究)"""
)
# A comparison is asked for at the beginning; deeper in the text these words describe what a paper does.
_PLEASE = r"^\W*(?:please\s+|can\s+you\s+|could\s+you\s+)*"
_COMPARE = (
    _rule(
        _PLEASE
        + r"""(?:compare|comparison\s+(?:of|between))\s+(?P<a>.+?)\s*
        (?:\bwith\b|\bto\b|\band\b|\bagainst\b|\bvs\.?|\bversus\b|,)\s*(?P<b>.+)"""
    ),
    _rule(
        _PLEASE
        + r"""(?:what\s+(?:is|are)\s+|explain\s+)(?:the\s+)?(?:main\s+|key\s+)?
        (?:differences?|similarit(?:y|ies)|distinction)\s+between\s+(?P<a>.+?)\s+and\s+(?P<b>.+)"""
    ),
    _rule(_PLEASE + r"""what\s+(?:do|have)\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)\s+(?:have\s+)?in\s+common\b"""),
    _rule(
        _PLEASE
        + r"""how\s+(?:do|does|did|is|are)\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)
        \s+(?:differ|compare|relate)\b(?!\s+(?:with|to|from))"""
    ),
    _rule(
        _PLEASE
        + r"""how\s+(?:do|does|is|are)\s+(?P<a>.+?)\s+(?:differ(?:ent)?|compared?)\s+(?:from|to|with)\s+
        (?P<b>[^,]+)$"""
    ),
    _rule(r"""^(?P<a>[^,:]+?)\s+(?:vs\.?|versus)\s+(?P<b>[^,:]+)$"""),
    _rule(
        r"""^\W*(?:which|what)\s+(?:is|of\s+the\s+two\s+is|one\s+is|performs?)\s+\w+\s*[,:]\s*(?P<a>.+?)\s+or\s+(?P<b>.+)"""
    ),
    _rule(r"""^\W*(?:请)?(?:比较|对比)(?:一下)?\s*(?P<a>[^，。]+?)\s*(?:和|与|跟|同)\s*(?P<b>[^，。]+)"""),
    _rule(
        r"""^(?P<a>[^，。？]+?)\s*(?:和|与|跟)\s*(?P<b>[^，。？]+?)\s*(?:之间)?(?:的|有什么|有何|有哪些)\s*(?:主要)?
        (?:区别|不同|差异|差别|异同)[^，。]{0,4}$"""
    ),
)
# "Which method works on graphs" asks for no works.
_WORKS_VERB = re.compile(
    r"(?<=\w )works(?=\s*(?:$|[?.!]|\s(?:best|well|better|worst|poorly|fastest|under|when|if|without)\b))"
    r"|(?P<subject>\b(?:method|model|approach|algorithm|optimi[sz]er|technique|network|system|strategy|loss) )works\b",
    re.IGNORECASE,
)
_SIDE_WORDS = 8
_SIDE_CHARACTERS = 90
_TAIL = re.compile(
    r"\s+(?:differ(?:s|ent)?|compare[sd]?|in\s+terms\s+of\b.*|with\s+respect\s+to\b.*|regarding\b.*)\s*$"
    r"|(?:的|有什么|有何)?(?:区别|不同|差异|异同)\S*$",
    re.IGNORECASE,
)
_SHARED = re.compile(
    r"\s+(?:for|on|in\s+terms\s+of|with\s+respect\s+to|regarding|at|in)\s+(?P<aspect>[^,?]+)$", re.IGNORECASE
)
_EDGE = " \t\n?？。.!！,，:;\"'“”「」《》"


def kind_of(text: str) -> tuple[Kind, tuple[str, ...]]:
    """The kind of the question `text`, and the sides where it is a comparison (else empty)."""
    if sides := _sides(text):
        return "compare", sides
    text = _WORKS_VERB.sub(lambda found: f"{found['subject'] or ''}operates", text)
    rules: tuple[tuple[Kind, re.Pattern[str]], ...] = (
        ("count", _COUNT),
        ("overview", _OVERVIEW),
        ("list", _LIST),
        ("which", _WHICH),
    )
    for kind, rule in rules:
        if rule.search(text):
            return kind, ()
    return "fact", ()


def _sides(text: str) -> tuple[str, ...]:
    """The two things compared, each as its own search text with the aspect they share; empty for no comparison."""
    for pattern in _COMPARE:
        if found := pattern.search(text.strip()):
            a = _TAIL.sub("", found["a"].strip(_EDGE)).strip(_EDGE)
            b = _TAIL.sub("", found["b"].strip(_EDGE)).strip(_EDGE)
            if (
                not a
                or not b
                or any(
                    len(side) > _SIDE_CHARACTERS or len(side.split()) > _SIDE_WORDS for side in (a, _SHARED.sub("", b))
                )
            ):
                continue
            shared = _SHARED.search(b)
            if shared and len(b[: shared.start()].split()) <= 4:
                aspect = shared["aspect"].strip(_EDGE)
                b = b[: shared.start()].strip(_EDGE)
                return (f"{a} {aspect}", f"{b} {aspect}")
            return (a, b)
    return ()
