"""Sentences that pose what is to be found out, or leave it open: an aim, a hypothesis, a gap in what is known.

They have the words of a question for yes or no and neither answer, so a claim such as "Yes, music influences stress"
finds its own words in "we explored the influence of music on stress". Written on abstracts of trials and of machine
learning.
"""

from __future__ import annotations

import re

YES_NO = re.compile(
    r"(?:^|[:;])\W*(?:is|are|was|were|does|do|did|can|could|has|have|had|will|would|should|may)\b|吗[？?]?\s*$", re.I
)
_SEEK = (
    r"(?:investigat|examin|explor|assess|evaluat|determin|test|compar|stud(?:y|ied|ies)|identif|analy[sz]|describ|review|"
    r"estimat|establish|clarif|quantif|ascertain|verif|report|understand|find out|measur|characteri[sz])\w*"
)
_WE = (
    r"(?:we|authors?|investigators?|(?:this|our|the|present|current) (?:\w+ )?"
    r"(?:study|paper|work|trial|review|analysis))"
)
_OBJECT = (
    r"(?:whether|if|how|the (?:\w+ )?(?:influence|effects?|impacts?|associations?|relation(?:ship)?s?|role|extent|"
    r"hypothes[ei]s|possibility|effectiveness|efficacy|usefulness|utility|prevalence|accuracy|feasibility|value))\b"
)
_POSED = re.compile(
    rf"^\W*to (?:\w+ly )?{_SEEK}\b(?![^.]*,\s*(?:we|one|our|this|these|an?|the|patients|data)\b)"
    r"|\b(?:aims?|objectives?|purpose)\s*:\s*to\b"
    r"|\b(?:aims?|objectives?|purpose|goal)\b[^.;]{0,60}\b(?:is|was|were|are)\b[^.;]{0,30}\bto\b"
    rf"|\b{_WE}\s+(?:\w+ ){{0,2}}(?:sought|aim(?:s|ed)?|set out|intend(?:s|ed)?|wish(?:es|ed)?|want(?:s|ed)?) to\b"
    rf"|\b{_WE}\s+(?:\w+ ){{0,2}}{_SEEK}\s+{_OBJECT}"
    r"|\b(?:hypothes[ei]s(?:ed)?|hypothesi[sz]ed?|speculated?)\s+that\b"
    rf"|\b{_SEEK}\s+(?:whether|if)\b"
    r"|\b(?:is|are|was|were|remains?|remained)\s+(?:\w+\s+){0,2}(?:unknown|unclear|uncertain|controversial|debated)\b"
    r"|\b(?:not|poorly|little|incompletely) (?:\w+ ){0,2}(?:known|understood|established|investigated|studied)\b"
    r"|\b(?:may|might)\b",
    re.I,
)
_FOUND = re.compile(
    r"\bp\s*[<=>≤]|\b(?:significant(?:ly)?|odds ratio|confidence interval|CI|correlat\w+|no (?:\w+ )?"
    r"(?:difference|effect|association|change|improvement)s?|higher|lower|better|worse|poor|improve[sd]?|increase[sd]?|"
    r"reduce[sd]?|decrease[sd]?|differ(?:s|ed)?|predict(?:s|ed)|we (?:found|conclude)|"
    r"results? (?:show|suggest|indicat)\w*|overall)\b",
    re.I,
)

_NOTHING_FOUND = re.compile(
    r"\bno (?:\w+ ){0,2}(?:difference|effect|association|change|improvement|correlation|evidence|influence|"
    r"relation\w*)s?\b"
    r"|\b(?:did|does|do|was|were|is|are) not\b",
    re.I,
)


def denies(sentence: str) -> bool:
    """Whether a sentence says that something was not so, or that nothing was found."""
    return _NOTHING_FOUND.search(sentence) is not None


def is_posed(sentence: str) -> bool:
    """Whether a sentence asks, supposes or leaves open rather than says what was found."""
    return _POSED.search(sentence) is not None


def reports(sentence: str) -> bool:
    """Whether a sentence says what came out."""
    return _FOUND.search(sentence) is not None and not is_posed(sentence)
