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
