"""Sentences of an abstract that speak to a language model, not to the reader: no evidence, and no support of a claim.

An abstract may hold an instruction, put there to be followed by whatever program reads it. Whoever writes one chooses
the words, so this is a net with holes: it catches the usual ones in English, Chinese and German, and what is left meets
a check that knows no instructions (rag.answering.verify). Chosen to be almost never wrong about a real abstract, see
docs/trust.md.
"""

from __future__ import annotations

import re

_PATTERNS = (
    # Marks of chat templates and of markup that could act.
    r"<\|[^|>]{1,40}\|>|‹¦[^¦›]{1,40}¦›|\[/?INST\]|<<SYS>>|</?(?:evidence|证据|system|user|assistant|instructions?)>",
    r"<\s*(?:script|iframe|object|embed)\b|<\s*\w+[^>]*\bon\w+\s*=|\bjavascript:",
    # A role at the start, as in a transcript.
    r"^\W*(?:system|assistant)\s*:\s|^\W*系统\s*[:：]",
    # English.
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|your)\b.{0,30}"
    r"\b(?:instructions?|prompts?|rules|guidelines)\b",
    r"\bforget the question\b|\byour (?:system prompt|reply|next answer|final answer)\b|\bpart of your answer\b",
    r"\byou are now (?:a|an|in|the)\b|\bas an? (?:ai|ai language model|language model|assistant),? you\b",
    r"\b(?:note|message|instructions?) (?:to|for) (?:the|any|all) (?:assistants?|ai|llms?|language models?)\b",
    r"\b(?:the|any) (?:assistant|language model|ai|llm) (?:must|has to|shall) "
    r"(?:tell|say|reply|answer|respond|write|recommend|visit|output|print|include)\b",
    r"\b(?:reply|respond|answer) only with\b|^\W*(?:reply|respond|answer) with\b|^\W*answer every question\b",
    r"\bdo not cite any (?:paper|source)|\bthe only right answer is\b",
    r"^\W*whatever (?:is|you are) asked\b",
    # Orders, and words to whatever reads: abstracts tell what was done and have no "you" to be told.
    r"^\W*(?:please |always |only )?(?:give|rank|rate|describe|recommend|praise|treat|present) this "
    r"(?:paper|work|abstract|study)\b",
    r"^\W*(?:please )?(?:do not|don't|never) (?:mention|discuss|reveal|cite|report|say)\b",
    r"\b(?:this|the) (?:abstract|text|paper|passage)s? (?:should|must|has to|shall) "
    r"(?:describe|say|state|mention|rank|rate|tell|call|reply|answer|recommend)\b",
    r"^\W*(?:when|while|before|after) (?:generating|writing|summari[sz]ing|answering|reading|asked|you)\b.{0,60}"
    r"\b(?:always|never|you must|be sure to|remember to) (?:rank|say|mention|state|write|call|name|add|begin|end)\b",
    r"\b(?:stop|cease|quit) (?:following|obeying)\b.{0,30}\byou\b|\b(?:print|output|say|type) the (?:word|phrase)\b",
    r"\bif you(?: are|'re) (?:an? )?(?:\w+ ){0,2}(?:chatbot|bot|ai|model|assistant|llm|program|machine|reviewer)\b",
    r"^\W*from (?:this point|now|here) on(?:wards?)?,? (?:you|speak|answer|reply|write|respond|only)\b",
    r"^\W*(?:dear|hello) (?:\w+ )?(?:model|assistant|ai|llm|chatbot|bot|reviewer)s?\b|\byour new (?:task|role)\b",
    r"\byou (?:must|should|shall|will) (?:now |always |only )?(?:answer|reply|respond|write|say|ignore|print|output|"
    r"praise|recommend|receive|be rewarded)\b",
    r"\b(?:whoever|models?|programs?|systems?|assistants?|ai|llms?)\b.{0,12}\b(?:reads?|reading|process(?:es|ing)|"
    r"summari[sz](?:es|ing)) this\b|阅读本文的(?:模型|程序|系统|助手)|\bdie dies(?:en text)? (?:lesen|liest)\b",
    r"如果你是|你必须|请(?:不要|勿|务必|用.{0,8}(?:回复|回答))|从现在(?:起|开始)|不要理会|(?:直接|只)输出",
    r"\b(?:wenn|falls) du\b.{0,20}\b(?:ki|modell|sprachmodell|chatbot|assistent|programm)\b",
    r"\bab (?:jetzt|sofort)\b.{0,12}\bdu\b",
    r"^\W*bitte (?:erwähne|nenne|antworte|schreibe|gib|bewerte|lobe|sage)\b|\bdu (?:musst|sollst)\b",
    # Chinese.
    r"忽略.{0,8}(?:指令|提示|要求)|忘掉.{0,4}(?:问题|指令)|系统提示|致助手|助手必须|作为(?:一个)?(?:语言)?模型.{0,3}你",
    r"你现在是|你的(?:回答|回复)|请在回答|无论问什么|不要引用任何|唯一正确的答案|(?:只|都)回答",
    # German.
    r"\b(?:ignoriere|vergiss|missachte)\b.{0,30}\b(?:anweisungen?|regeln|frage)\b|\bdu bist jetzt\b|\bsystemanweisung",
    r"\b(?:den|der) assistent(?:en)?\b.{0,20}(?::|\bmuss\b)|\bdeine[rn]? antwort\b|\bals sprachmodell\b.{0,20}\bdu\b",
    r"\bantworte (?:nur )?mit\b|\bbeantworte jede frage\b|\bzitiere keine\b|^\W*was auch gefragt wird\b",
)
_ADDRESSED = re.compile("|".join(_PATTERNS), re.IGNORECASE | re.MULTILINE)


def is_addressed(sentence: str) -> bool:
    """Whether a sentence tells a language model what to do."""
    return _ADDRESSED.search(sentence) is not None
