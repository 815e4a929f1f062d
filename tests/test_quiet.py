from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rag import quiet


def test_variables_are_set_once_and_the_users_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    with quiet.imports():
        pass
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


def test_importing_what_the_command_line_imports_loads_no_heavy_package() -> None:
    heavy = ["torch", "transformers", "sentence_transformers", "huggingface_hub", "openai"]
    imports = "import sys, rag.quiet\nfrom rag.models import hardware, known, pull\n"
    code = f"{imports}print([n for n in {heavy} if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
