"""Measure how decoding is set up: `python scripts/measure_generation.py MODEL [THREADS]`, figures as ratios in one run.

Prompts are like those of the program: eight evidence sentences of four papers of the sample library. Every variant
answers every prompt; they take turns, so that a busy machine troubles all of them alike.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from importlib import resources
from unittest import mock

import click
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

import prompts
from rag import chat_model
from rag.chat_model import TransformersChat, load_chat_model
from rag.models import ensure
from rag.settings import load_settings
from rag.text import split_sentences

PROMPTS = 3
# Tokens proposed at once by prompt lookup (None: plain greedy decoding), and whether the beginning is kept.
VARIANTS: dict[str, tuple[int | None, bool]] = {
    "plain": (None, False),
    "kept prefix": (None, True),
    "lookup 5, kept prefix": (5, True),
    "lookup 10, kept prefix": (10, True),
    "lookup 10": (10, False),
    "lookup 20, kept prefix": (20, True),
}


def conversations() -> list[list[BaseMessage]]:
    """The prompts."""
    lines = resources.files("rag").joinpath("sample/landmarks.jsonl").read_text(encoding="utf-8").splitlines()
    papers = [json.loads(line) for line in lines]
    system = prompts.load("answer_system").render(language="English")
    found = []
    for number in range(PROMPTS):
        group = papers[number * 4 : number * 4 + 4]
        evidence = []
        for place, paper in enumerate(group, start=1):
            evidence.append(f"[{place}] {paper['title']} ({paper['venue']} {paper['year']})")
            evidence += [f"- {sentence.text}" for sentence in split_sentences(paper["abstract"])[:2]]
        question = f"What does {group[number % 4]['title']} propose, and with what result?"
        user = prompts.load("answer_user").render(evidence="\n".join(evidence), question=question)
        found.append([SystemMessage(system), HumanMessage(user)])
    return found


def main(model: str, threads: int) -> None:
    """Print a Markdown table."""
    settings = load_settings(llm=model, threads=threads)
    chat = load_chat_model(ensure(model, settings.home, "llm"), settings)
    if not isinstance(chat, TransformersChat):
        raise SystemExit("Name a model of transformers.")
    first: dict[str, list[float]] = {name: [] for name in VARIANTS}
    total: dict[str, list[float]] = {name: [] for name in VARIANTS}
    texts: dict[str, list[str]] = {name: [] for name in VARIANTS}
    lengths: list[tuple[int, int]] = []
    talks = conversations()
    list(chat.stream(talks[0], max_new_tokens=4))  # the first reply of a process is slower than any other
    for talk in talks:
        for name, (lookup, kept) in VARIANTS.items():
            fixed = chat._template.fixed if kept else (lambda *_: 0)
            with (
                mock.patch.object(chat_model, "LOOKUP_TOKENS", lookup),
                mock.patch.object(chat._template, "fixed", fixed),
            ):
                if kept:
                    chat.warm_up(str(talk[0].text))
                began = time.perf_counter()
                chunks: list[AIMessageChunk] = []
                for chunk in chat.stream(talk, allowed_citations=4, max_new_tokens=80):
                    if not chunks:
                        first[name].append(time.perf_counter() - began)
                    chunks.append(chunk)
                total[name].append(time.perf_counter() - began)
            texts[name].append("".join(str(chunk.text) for chunk in chunks))
            usage = chunks[-1].usage_metadata
            if usage:
                lengths.append((usage["input_tokens"], usage["output_tokens"]))
    base_first, base_total = statistics.median(first["plain"]), statistics.median(total["plain"])
    medians = [round(statistics.median(column)) for column in zip(*lengths, strict=True)]
    click.echo(f"{model}: {PROMPTS} prompts, median {medians[0]} tokens in, {medians[1]} out\n")
    click.echo("| variant | first token | whole reply | same text as plain |\n| --- | --- | --- | --- |")
    for name in VARIANTS:
        same = sum(one == other for one, other in zip(texts[name], texts["plain"], strict=True))
        click.echo(
            f"| {name} | {statistics.median(first[name]) / base_first:.2f} | "
            f"{statistics.median(total[name]) / base_total:.2f} | {same} of {PROMPTS} |"
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
