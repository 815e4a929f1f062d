"""What the README says of commands is so."""

import re
from pathlib import Path

import click

from rag.cli import cli

ROOT = Path(__file__).parent.parent
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(group: click.Group, prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {}
    for name, command in group.commands.items():
        found[(*prefix, name)] = command
        if isinstance(command, click.Group):
            found |= commands(command, (*prefix, name))
    return found


def test_every_command_is_in_the_documents():
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS)
    missing = [" ".join(name) for name in commands(cli) if f"abstract-qa {' '.join(name)}" not in text]
    assert not missing


def test_every_command_in_the_documents_exists_with_its_options():
    known = commands(cli)
    for path in DOCS:
        for line in re.findall(r"abstract-qa ([a-z][^`\n|]*)", path.read_text(encoding="utf-8")):
            words = line.split()
            name = next((tuple(words[:n]) for n in (2, 1) if tuple(words[:n]) in known), None)
            if name is None:
                assert words[0] not in {group[0] for group in known}, f"{path.name}: abstract-qa {line}"
                continue
            options = {flag for option in known[name].params for flag in (*option.opts, *option.secondary_opts)}
            used = re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", line.split("#")[0])
            assert set(used) <= options | {"--help"}, f"{path.name}: abstract-qa {line}"


def test_links_to_files_lead_somewhere():
    for path in DOCS:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
