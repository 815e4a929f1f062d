"""The main job once, for real: `python -m eval.smoke`. Exit status 0 when it went well or the seed lists are absent.

Reads the three seed lists into a home of its own with the default models, through the command line as a user would,
asks three questions and checks that the right paper is cited and the right number stated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click

from rag.settings import default_home

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT.parent / "shared" / "data" / "seeds"


@dataclass(frozen=True, slots=True)
class Check:
    """A question, the paper that must be cited, and the ways in which its number may be written."""

    question: str
    locator: str
    stated: tuple[str, ...]


CHECKS = (
    Check(
        "By how much does WardropNet beat pure learning on time-invariant predictions?",
        "000_e11386b52a4f73c6.txt#4",
        ("72%", "72 %", "72\\%"),
    ),
    Check(
        "How much accuracy can JPEG-DL gain on fine-grained image classification?",
        "002_efe6d85e60ee12dc.txt#18",
        ("20.9%", "20.9 %", "20.9\\%"),
    ),
    Check(
        "By what share does HEAL cut the number of trained parameters when three agent types are added?",
        "004_1fdddc219a4ade79.txt#19",
        ("91.5%", "91.5 %", "91.5\\%"),
    ),
)


def problems(answer: dict[str, object], check: Check) -> list[str]:
    """What is wrong with an answer object; empty when nothing is."""
    found = []
    citations = answer["citations"]
    cited = [citation["locator"] for citation in citations] if isinstance(citations, list) else []
    if answer["status"] != "answered":
        found.append(f"status is {answer['status']}")
    if check.locator not in cited:
        found.append(f"{check.locator} is not cited, but {', '.join(map(str, cited)) or 'nothing'}")
    if not any(form in str(answer["answer"]) for form in check.stated):
        found.append(f"{check.stated[0]} is not stated")
    return found


def _run(home: Path, *arguments: str) -> str:
    """Standard output of `abstract-qa`; its standard error goes to ours."""
    command = [str(Path(sys.executable).with_name("abstract-qa")), *arguments, "--home", str(home)]
    began = time.monotonic()
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    click.echo(f"  {arguments[0]}: {time.monotonic() - began:.1f} s")
    return found.stdout


def main() -> int:
    """Run it; returns the exit status."""
    if not SEEDS.is_dir():
        click.echo(f"smoke: skipped, the seed lists are not at {SEEDS}")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        # Models are large: they stay where they are, for this home as for any other.
        os.environ.setdefault("ABSTRACT_QA_MODELS", str(default_home() / "models"))
        click.echo("smoke: default models, the three seed lists, three questions")
        _run(home, "models", "pull", "--default")
        report = json.loads(_run(home, "ingest", *map(str, sorted(SEEDS.glob("*.txt"))), "--json"))
        click.echo(f"  {report['papers']} papers, {len(report['rejected'])} rejected")
        if report["papers"] != 57 or report["rejected"]:
            click.echo("  FAILED: 57 papers and no rejected entry are expected")
            failed += 1
        for check in CHECKS:
            answer = json.loads(_run(home, "ask", check.question, "--json"))
            wrong = problems(answer, check)
            failed += bool(wrong)
            click.echo(f"  {'FAILED' if wrong else 'ok'}: {check.question}\n    {answer['answer']}")
            for problem in wrong:
                click.echo(f"    {problem}")
    click.echo(f"smoke: {'FAILED' if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
