"""Measure how decoding is set up: `python scripts/measure_generation.py MODEL [--home HOME --set SET.jsonl]`.

Two tables. Times as ratios in one run: every variant answers every prompt, and they take turns, so that a busy machine
troubles all of them alike. Then forward passes, which no other load changes: how many each way of prompt lookup needs
to write the same replies. Prompts are the program's own for the questions of a set that have facts to state, or,
without a set, eight evidence sentences of four papers of the sample library.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from unittest import mock

import click
import torch
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

import prompts
from rag.answering import evidence, prompting
from rag.library import Library
from rag.models import chat_model
from rag.models.chat_model import TransformersChat, load_chat_model
from rag.models.known import ensure
from rag.question.understand import understand
from rag.settings import load_settings
from rag.texts.text import split_sentences

# Tokens proposed at once by prompt lookup (None: plain greedy decoding), and whether the beginning is kept.
VARIANTS: dict[str, tuple[int | None, bool]] = {
    "plain": (None, False),
    "kept prefix": (None, True),
    "lookup 10": (10, False),
    "lookup 10, kept prefix": (10, True),
    "lookup 20, kept prefix": (20, True),
}
# Tokens proposed at once, and the longest run of tokens that is looked up.
LOOKUPS = ((5, 2), (10, 2), (10, 4), (15, 2), (20, 2), (20, 4))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a prompt, with the seconds until its first token and until its end."""

    text: str
    first: float
    total: float
    tokens_in: int
    tokens_out: int


def sample_prompts(wanted: int) -> Iterator[list[BaseMessage]]:
    """Prompts over the sample library."""
    lines = resources.files("rag").joinpath("sample/landmarks.jsonl").read_text(encoding="utf-8").splitlines()
    papers = [json.loads(line) for line in lines]
    for number in range(wanted):
        group = papers[number * 4 : number * 4 + 4]
        pieces = []
        for place, paper in enumerate(group, start=1):
            pieces.append(f"[{place}] {paper['title']} ({paper['venue']} {paper['year']})")
            pieces += [f"- {sentence.text}" for sentence in split_sentences(paper["abstract"])[:2]]
        question = f"What does {group[number % 4]['title']} propose, and with what result?"
        user = prompts.load("answer_user").render(evidence="\n".join(pieces), question=question)
        yield [SystemMessage(prompting.system("en")), HumanMessage(user)]


def set_prompts(home: Path, path: Path, wanted: int, sentences: int | None) -> Iterator[list[BaseMessage]]:
    """The program's prompts for questions spread over a set, from the library under `home`."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row.get("facts")]
    with Library.open(home, llm="none") as library:
        settings = library.settings
        for row in rows[:: max(1, len(rows) // wanted)][:wanted]:
            asked = understand(row["question"], (), library.index)
            ranked = library.searcher.search(asked, settings.k, asked.filters)
            found = evidence.select(asked, ranked, library.index, sentences or settings.evidence_sentences)
            papers = {hit.paper.paper_id: hit.paper for hit in ranked}
            prompt = prompting.build(
                asked, found, papers, budget=settings.evidence_tokens, count_tokens=evidence.tokens
            )
            yield [SystemMessage(prompt.system), HumanMessage(prompt.user)]


def reply(chat: TransformersChat, talk: list[BaseMessage], most: int) -> Reply:
    """The reply to one prompt."""
    began = time.perf_counter()
    first = 0.0
    chunks: list[AIMessageChunk] = []
    for chunk in chat.stream(talk, allowed_citations=4, max_new_tokens=most):
        first = first or time.perf_counter() - began
        chunks.append(chunk)
    usage = chunks[-1].usage_metadata or {"input_tokens": 0, "output_tokens": 0}
    text = "".join(str(chunk.text) for chunk in chunks)
    return Reply(text, first, time.perf_counter() - began, usage["input_tokens"], usage["output_tokens"])


def passes(prompt: list[int], written: list[int], lookup: tuple[int, int] | None) -> int:
    """Forward passes for `written` after `prompt`: each confirms what was rightly proposed, and adds a token."""
    from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

    place = made = 0
    while place < len(written):
        right = 0
        if lookup is not None:
            finder = PromptLookupCandidateGenerator(
                num_output_tokens=lookup[0], max_matching_ngram_size=lookup[1], max_length=1 << 30
            )
            so_far = torch.LongTensor([prompt + written[:place]])
            proposed = finder.get_candidates(so_far)[0][0, so_far.shape[1] :].tolist()
            for one, other in zip(proposed, written[place:], strict=False):
                if one != other:
                    break
                right += 1
        place += right + 1
        made += 1
    return made


def in_turns(chat: TransformersChat, talks: list[list[BaseMessage]], most: int) -> dict[str, list[Reply]]:
    """The replies of every variant."""
    found: dict[str, list[Reply]] = {name: [] for name in VARIANTS}
    for talk in talks:
        for name, (lookup, kept) in VARIANTS.items():
            fixed = chat._template.fixed if kept else (lambda *_: 0)
            with (
                mock.patch.object(chat_model, "LOOKUP_TOKENS", lookup),
                mock.patch.object(chat._template, "fixed", fixed),
            ):
                if kept:
                    chat.warm_up(str(talk[0].text))
                found[name].append(reply(chat, talk, most))
    return found


@click.command()
@click.argument("model")
@click.option("--home", type=click.Path(path_type=Path), help="Library that the questions of the set are about.")
@click.option("--set", "path", type=click.Path(exists=True, path_type=Path), help="Question set.")
@click.option("--prompts", "wanted", type=int, default=3, show_default=True, help="How many prompts.")
@click.option("--sentences", type=int, default=None, help="Evidence sentences in a prompt (default: as set).")
@click.option("--most", type=int, default=80, show_default=True, help="Tokens of a reply at most.")
@click.option("--threads", type=int, default=0, help="Processor threads; 0 leaves it to torch.")
@click.option("--passes-only", is_flag=True, help="Only the table of forward passes; one reply a prompt.")
def main(
    model: str, home: Path | None, path: Path | None, wanted: int, sentences: int | None, most: int, threads: int,
    passes_only: bool,
) -> None:  # fmt: skip
    """Print Markdown tables."""
    settings = load_settings(home, llm=model, threads=threads)
    chat = load_chat_model(ensure(model, settings.home, "llm"), settings)
    if not isinstance(chat, TransformersChat):
        raise SystemExit("Name a model of transformers.")
    talks = list(set_prompts(settings.home, path, wanted, sentences) if path else sample_prompts(wanted))
    chat.warm_up(str(talks[0][0].text))  # the first reply of a process is slower than any other
    replies = {"plain": [reply(chat, talk, most) for talk in talks]} if passes_only else in_turns(chat, talks, most)
    plain = replies["plain"]
    click.echo(
        f"{model}: {len(talks)} prompts, median {statistics.median(one.tokens_in for one in plain):.0f} tokens in, "
        f"{statistics.median(one.tokens_out for one in plain):.0f} out\n"
    )
    if not passes_only:
        click.echo("| variant | first token | whole reply | same text as plain |\n| --- | --- | --- | --- |")
        for name, column in replies.items():
            first = statistics.median(one.first / base.first for one, base in zip(column, plain, strict=True))
            total = statistics.median(one.total / base.total for one, base in zip(column, plain, strict=True))
            same = sum(one.text == base.text for one, base in zip(column, plain, strict=True))
            click.echo(f"| {name} | {first:.2f} | {total:.2f} | {same} of {len(talks)} |")
        click.echo("")
    click.echo("| tokens proposed | looked up by | forward passes |\n| --- | --- | --- |")
    encode = chat._tokenizer
    pairs = [
        (chat._template.render([{"role": one.type.replace("human", "user"), "content": one.text} for one in talk]),
         [*encode(each.text, add_special_tokens=False)["input_ids"], encode.eos_token_id])
        for talk, each in zip(talks, plain, strict=True)
    ]  # fmt: skip
    click.echo(f"| none | | {sum(passes(*pair, None) for pair in pairs)} |")
    for lookup in LOOKUPS:
        click.echo(f"| {lookup[0]} | {lookup[1]} | {sum(passes(*pair, lookup) for pair in pairs)} |")


if __name__ == "__main__":
    main()
