"""Imports point one way, heavy packages have one door each, and `--help` opens none of them."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("rag", "prompts", "ui", "eval")
# Where each heavy package may be imported. Folders stand for everything in them.
DOORS = {
    "sentence_transformers": {"rag/models/embeddings.py", "rag/models/cross_encoder.py", "eval/bench"},
    "transformers": {
        "rag/models/chat_model.py",
        "rag/models/decoding.py",
        "rag/models/convert.py",
        "rag/quiet.py",
        "eval/bench/baseline.py",
    },
    "chromadb": {"rag/store/dense.py"},
    "langchain_chroma": {"rag/store/dense.py", "eval/bench/baseline.py"},
    "tantivy": {"rag/store/lexical.py"},
    "gradio": {"ui"},
}
HEAVY = ("torch", "transformers", "sentence_transformers", "chromadb", "tantivy", "gradio", "langchain_core", "pandas")


def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST, module: str, path: Path, *, everywhere: bool) -> Iterator[str]:
    """Names of modules imported at import time, or with `everywhere` anywhere; type-only imports never count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from (name for child in node.orelse for name in imported(child, module, path, everywhere=everywhere))
        elif everywhere or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imported(node, module, path, everywhere=everywhere)


def imports_of(*, everywhere: bool) -> dict[str, set[str]]:
    return {
        module: set(imported(ast.parse(path.read_text(encoding="utf-8")), module, path, everywhere=everywhere))
        for module, path in modules().items()
    }


def test_no_module_is_imported_in_a_circle():
    known = modules()
    graph = {
        module: {name for name in names if name in known and name != module}
        for module, names in imports_of(everywhere=False).items()
    }
    # A package's own modules are imported before it, not through it.
    for module, names in graph.items():
        graph[module] = {name for name in names if not module.startswith(f"{name}.")}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' -> '.join(error.args[1])}")


def test_the_library_does_not_know_the_browser_or_the_evaluation():
    for module, names in imports_of(everywhere=True).items():
        if module.split(".")[0] in ("rag", "prompts") and not module.startswith("rag.cli"):
            outside = {name for name in names if name.split(".")[0] in ("ui", "eval")}
            assert not outside, f"{module} imports {sorted(outside)}"


def test_heavy_packages_are_imported_through_their_own_door():
    paths = modules()
    for module, names in imports_of(everywhere=True).items():
        place = paths[module].relative_to(ROOT).as_posix()
        for package in {name.split(".")[0] for name in names} & DOORS.keys():
            doors = DOORS[package]
            assert any(place == door or place.startswith(f"{door}/") for door in doors), f"{place} imports {package}"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom rag.cli import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.splitlines()[-1] == "LOADED []"


def test_modules_stay_small():
    long = {
        module: lines
        for module, path in modules().items()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not long, f"too long to hold in the head: {long}"
