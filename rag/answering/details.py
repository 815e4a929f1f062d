"""What a question asks for that abstracts seldom give, and whether a paper gives it.

Settings, hardware, money, licences, people, places, scores, parts of the full text: where a question asks for one of
them, the abstract must speak of it, and with a number where the thing is one. "How many" wants a number by what is
counted, a question for a dataset or a tool a name. The words are those of papers in general, not of one library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.answering.claims import names, numbers
from rag.answering.evidence import asks_number
from rag.texts.terms import Word, stem, words
from rag.texts.text import split_sentences
from rag.types import Paper

# How far from the thing its number may stand, in words before and after it.
_BEFORE, _AFTER = 6, 9


@dataclass(frozen=True, slots=True)
class _Detail:
    """`asked` in a question wants `told` in the abstract; with `value`, a number beside it."""

    asked: re.Pattern[str]
    told: re.Pattern[str]
    value: bool = False


def _detail(asked: str, told: str | None = None, *, value: bool = False) -> _Detail:
    return _Detail(re.compile(rf"\b(?:{asked})", re.I), re.compile(rf"\b(?:{told or asked})", re.I), value)


_MANY = r"(?:how many|number of) (?:\w+ )?"
_DETAILS = (
    # Settings of training and of models.
    _detail(r"batch sizes?", value=True),
    _detail(r"(?:what|which) (?:\w+ ){0,2}learning rates?", r"learning rates?", value=True),
    _detail(r"drop-?out (?:rate|prob)", r"drop-?out", value=True),
    _detail(r"weight decay", value=True),
    _detail(r"momentum (?:coefficient|value|parameter)", r"momentum", value=True),
    _detail(r"random seeds?", r"seeds?", value=True),
    _detail(r"step sizes?", value=True),
    _detail(r"discount factors?", r"discount", value=True),
    _detail(r"(?:what|which) (?:\w+ )?temperature|temperature (?:value|parameter|setting)", r"temperature", value=True),
    _detail(r"loss weights?", value=True),
    _detail(r"hidden (?:size|dimension)", r"hidden|dimension", value=True),
    _detail(r"hyper-?parameter (?:value|setting)", r"hyper-?parameter", value=True),
    _detail(r"context (?:length|window)", r"context (?:length|window|size)|tokens?\b", value=True),
    _detail(rf"{_MANY}(?:epochs?|iterations?|steps?)", r"epochs?|iterations?|steps?", value=True),
    _detail(
        rf"{_MANY}(?:layers|heads|neurons|hidden units|parameters)",
        r"layers?|heads?|neurons?|units|parameters?",
        value=True,
    ),
    # What it ran on, and how long.
    _detail(r"GPUs?\b|TPUs?\b|hardware\b|VRAM|FLOPs?\b", r"GPUs?\b|TPUs?\b|hardware|CPUs?\b|memory|FLOPs?\b"),
    _detail(r"memory (?:footprint|usage|consumption)", r"memory"),
    _detail(
        r"wall[- ]?clock|training time|run-?times?\b|latency|frame rates?|frames per second|fps\b|milliseconds|"
        r"how long (?:did|does|do|was|were)\b.*\b(?:tak|train|run|last)",
        r"(?:milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms\b|real[- ]time|run-?time|wall[- ]?clock|"
        r"latenc|fps|frame rate|frames per second|faster|time\b",
    ),
    _detail(r"(?:energy|power) consum|carbon|electricity", r"energy|power|carbon|electric"),
    _detail(
        r"(?:what|which) (?:\w+ )?resolution|resolution (?:of|is|was|do|did|does)", r"resolution|pixels?", value=True
    ),
    _detail(r"sampling (?:rate|frequency)", r"sampling|hz\b", value=True),
    # Money, law, people and places.
    _detail(
        r"wages?\b|salar|paid\b|price\b|dollars?\b|hourly|(?:what|how much) (?:does|did|do|is) .*\bcosts?\b",
        r"wage|salar|paid|pay\b|price|dollars?|USD|euro|costs?",
    ),
    _detail(r"licen[cs]e|copyright|patent|terms of use", r"licen[cs]|copyright|patent|terms of use|open[- ]source"),
    _detail(r"who (?:fund|sponsor|financ)|funded|funding|grants?\b|sponsor", r"fund|grant|sponsor|financ"),
    _detail(
        r"universit|affiliat|hospitals?\b|manufacturer|vendor|"
        r"(?:which|what) (?:brand|lab|company|clinic|city|country)\b",
        r"universit|affiliat|hospital|manufactur|vendor|brand|laborator|compan|clinics?\b|cit(?:y|ies)\b|countr|"
        r"institut",
    ),
    _detail(r"how old|gender\b", r"ages?\b|aged\b|years? old|older|young|gender|male|female|men\b|women\b|sex\b"),
    _detail(
        r"programming language|lines of code|(?:written|implemented) in\b|operating system|(?:which|what) version",
        r"programming|python|pytorch|java|julia|lines of code|version",
    ),
    _detail(r"e-?mail|contact (?:address|author)", r"e-?mail|contact"),
    _detail(r"(?:how many|number of) (?:citations|reviewers)|review(?:er)? scores?", r"citations|review"),
    # Parts of the full text.
    _detail(
        r"(?:table|figure|section|appendix|equation|page) ?\d+|appendix\b|supplement(?:ary)? material",
        r"appendix|supplement",
    ),
    _detail(r"limitations? (?:do|does|did|are|is|of)\b.*\b(?:paper|authors|study|work)|future work", r"limit|future"),
    _detail(r"ablation", r"ablat"),
    _detail(
        r"where (?:can|do|could) (?:I|we|one) (?:find|get|download)|(?:url|link|address) (?:of|to|for)|"
        r"github (?:repo|link|page)",
        r"https?:|www\.|github|available|code\b|website|project page",
    ),
    # Where the record of the paper does not say it (see `record`), the abstract hardly does.
    _detail(
        r"when (?:was|is|did|were)\b[^?]*\b(?:published|presented|written)\b|(?:which|what) year\b[^?]*\bpublished\b",
        r"\b(?:19|20)\d\d\b",
    ),
    _detail(
        r"where (?:was|is|did|were)\b[^?]*\b(?:published|presented)\b|(?:which|what) (?:venue|conference|journal)\b",
        r"\b(?:published (?:in|at|by)|proceedings|conference|journal|accepted)\b",
    ),
)
# A score is told where the abstract has the same one with a number.
_SCORE = re.compile(
    r"\b(?P<score>accuracy|f1|auroc|auc|miou|iou|viou|psnr|ssim|bleu|rouge|fid|elo|perplexity|word error rate|wer|mse|"
    r"rmse|success rate|precision|recall|sensitivity|specificity|error rate)\b(?: \w+){0,2}? "
    r"(?:does|do|did|is|was|of|on|reached|obtained|score)",
    re.I,
)
_WHO = re.compile(r"^\W*who\b(?!.*\bauthors?\b)", re.I)
_SOMEBODY = re.compile(
    r"\bet al\b|[A-Z][a-z]+ (?:&|and) [A-Z][a-z]+|\(\d{4}|\b(?:experts?|raters?|annotators?|clinicians?|volunteers?|"
    r"patients?|participants?|students?|physicians?|nurses?|workers?|researchers?|practitioners?|users?)\b"
)
_WHO_WROTE = re.compile(
    r"\bwho (?:is|are|was|were) the (?:\w+ )?authors?\b|\bwho wrote\b|\bnames? of the authors?\b", re.I
)
_ASKED = re.compile(
    r"\b(?:what|which|whose|how (?:many|much))\b(?:\s+(?:is|are|was|were)\b)?(?:\s+(?:the|of the)\b)?", re.I
)
# Questions that any number may answer: what changed has not the name of what is asked for beside it.
_ANY_NUMBER = re.compile(
    r"\b(?:how (?:much|large|big|long|fast|often|high|low|accurate|few|old|deep|wide|well)|by (?:how many|what factor)|"
    r"improv|gain|increas|reduc|decreas|share|percent|proportion|factor|speed-?up|margin)",
    re.I,
)
# Words for the same sort of thing.
_DATA = frozenset(stem(word) for word in ("dataset", "benchmark", "corpus", "corpora", "data"))
_NAMED = re.compile(
    r"\b(?:which|what|names? of)\W+(?:is the |are the |were the |the )?"
    r"(?:(?!(?:of|in|on|for|from|to|is|are|was|does|do|did|has)\b)\w+[ -]){0,3}?"
    r"(?P<noun>datasets?|benchmarks?|corpora|corpus|llms?|language models?|backbones?|optimi[sz]ers?|solvers?|"
    r"tokeni[sz]ers?|baselines?|librar(?:y|ies)|websites?|sites?|simulators?|languages)\b",
    re.I,
)


def untold(text: str, paper: Paper) -> str | None:
    """The words of the question `text` that ask for a detail of which the abstract of `paper` does not speak."""
    spans = [span.text for span in split_sentences(paper.abstract)]
    for detail in _DETAILS:
        found = detail.asked.search(text)
        if found is not None and not _told(detail, spans):
            return found.group()
    written = _WHO_WROTE.search(text)
    if written is not None:
        return None if paper.authors else written.group()
    who = _WHO.search(text)
    if who is not None and not _SOMEBODY.search(paper.abstract):
        return who.group()
    score = _SCORE.search(text)
    if score is not None and not _told(_detail(re.escape(score["score"]), value=True), spans):
        return score["score"]
    if (
        asks_number(text)
        and "complexity" not in text
        and not _has_number(spans, () if _ANY_NUMBER.search(text) else asked_for(text))
    ):
        return _number_asked(text)
    return _no_name(text, spans)


def _told(detail: _Detail, sentences: Sequence[str]) -> bool:
    for sentence in sentences:
        for found in detail.told.finditer(sentence):
            if not detail.value or numbers(_around(sentence, found.start(), found.end())):
                return True
    return False


def _around(sentence: str, start: int, end: int) -> str:
    """The words about `sentence[start:end]`, itself included."""
    found = words(sentence)
    before = [word.start for word in found if word.end <= start][-_BEFORE:]
    after = [word.end for word in found if word.start >= end][:_AFTER]
    return sentence[min(before, default=start) : max(after, default=end)]


def asked_for(text: str) -> tuple[str, ...]:
    """Stems of what is asked for: the words after "which", "what" or "how many", up to the next function word."""
    return tuple(word.stem for word in _asked_words(text))


def _asked_words(text: str) -> list[Word]:
    found = _ASKED.search(text)
    taken: list[Word] = []
    for word in words(text):
        if found is None or word.start < found.end():
            continue
        if (word.weight == 0 and taken) or len(taken) == 3:
            break
        if word.weight:
            taken.append(word)
    return taken


def _number_asked(text: str) -> str:
    """The words that ask for a number, for the user."""
    found, taken = _ASKED.search(text), _asked_words(text)
    return text[found.start() : taken[-1].end] if found and taken else text


def _has_number(sentences: Sequence[str], counted: Sequence[str]) -> bool:
    """Whether a sentence has a number, and near one of the words `counted` where there are any."""
    for sentence in sentences:
        for number in numbers(sentence):
            after = [word.stem for word in words(sentence) if word.start >= number.start][:9]
            before = [word.stem for word in words(sentence) if word.end <= number.start][-4:]
            if not counted or set(counted) & {*after, *before}:
                return True
    return False


def _no_name(text: str, sentences: Sequence[str]) -> str | None:
    """What `text` asks for by name (a dataset, a tool), where no sentence that speaks of one has a name.

    A name that the question has already does not count.
    """
    found = _NAMED.search(text)
    if found is None:
        return None
    wanted = {word.stem for word in words(found["noun"])}
    if wanted & _DATA:
        wanted |= _DATA
    known = {name.key for name in names(text)}
    told = any(
        name.key not in known
        for sentence in sentences
        if wanted & {word.stem for word in words(sentence)}
        for name in names(sentence)
    )
    return None if told else found["noun"]
