"""The files in `deploy/` say what the program, its image and its documentation say."""

from __future__ import annotations

import configparser
import re
import shlex
from typing import Any

import pytest
import yaml

from rag.cli import cli
from rag.models.known import resolve
from rag.settings import ENV_ONLY, ENV_PREFIX, Settings, load_settings
from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"
DOCUMENT = ROOT / "docs" / "deployment.md"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def test_every_service_is_looked_after(services: dict[str, Any]) -> None:
    assert set(services) == {"chroma", "vllm", "bot"}
    for name, service in services.items():
        assert service["restart"] == "unless-stopped", name
    # The bot's is in its image.
    assert services["chroma"]["healthcheck"]["test"][0] == "CMD"
    assert services["vllm"]["healthcheck"]["test"][-1].endswith("/health")
    assert "HEALTHCHECK" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    waited = services["bot"]["depends_on"]
    assert {name: how["condition"] for name, how in waited.items()} == dict.fromkeys(
        ("chroma", "vllm"), "service_healthy"
    )


def test_images_are_pinned(services: dict[str, Any]) -> None:
    from importlib import metadata

    named = [service["image"] for service in services.values() if "image" in service]
    named += re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.M)
    assert len(named) == 4
    assert all(re.search(r":v?\d+\.\d+\.\d+", image) for image in named)
    # A client and a server of Chroma of one version are what was tested.
    assert services["chroma"]["image"].endswith(f":{metadata.version('chromadb')}")


def test_the_environment_is_what_the_program_knows(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    environment = services["bot"]["environment"]
    for name, value in environment.items():
        key = name.removeprefix(ENV_PREFIX)
        assert name.startswith(ENV_PREFIX)
        assert key in ENV_ONLY or key.lower() in Settings.model_fields
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert str(settings.home) == "/data"
    assert settings.answer_seconds == 60


def test_services_are_asked_where_they_listen(services: dict[str, Any]) -> None:
    environment = services["bot"]["environment"]
    # Chroma's and vLLM's own default port.
    assert environment["ABSTRACT_QA_STORE"] == "http://chroma:8000"
    model = resolve(environment["ABSTRACT_QA_LLM"], ROOT, "llm")
    assert model.url == "http://vllm:8000/v1"
    assert f"--served-model-name={model.name}" in services["vllm"]["command"]


def test_only_this_machine_reaches_the_bot_and_nothing_the_others(services: dict[str, Any]) -> None:
    assert services["bot"]["ports"] == ["127.0.0.1:7860:7860"]
    assert not [name for name, service in services.items() if name != "bot" and "ports" in service]


def test_what_must_outlive_a_container_is_in_a_volume(services: dict[str, Any]) -> None:
    places = {name: [volume.split(":")[1] for volume in service["volumes"]] for name, service in services.items()}
    assert places == {"chroma": ["/data"], "vllm": ["/root/.cache/huggingface"], "bot": ["/data"]}


def _options(command: list[str]) -> None:
    """Fails for a command line that the program does not understand; nothing of it is run."""
    parsed = cli.commands[command[0]].make_context(command[0], command[1:])
    parsed.close()


def test_commands_are_understood(services: dict[str, Any]) -> None:
    _options(services["bot"]["command"])
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "abstract-qa.service", encoding="utf-8")
    program, *command = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/abstract-qa")
    _options(command)
    name, _, _ = unit["Service"]["Environment"].partition("=")
    assert name == ENV_PREFIX + "HOME"


def test_no_secret_is_in_the_files() -> None:
    for path in DEPLOY.iterdir():
        assert not re.search(r"(?i)(api_key|token|password|secret)\s*[:=]\s*\S", path.read_text(encoding="utf-8")), path


def test_the_document_names_what_there_is() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in re.findall(rf"{ENV_PREFIX}(\w+)", text):
        assert name in ENV_ONLY or name.lower() in Settings.model_fields
    for name in re.findall(r"`(deploy/[\w.-]+)`", text):
        assert (ROOT / name).is_file()
    for line in re.findall(r"^(?:sudo -u abstract-qa )?abstract-qa (\w+)", text, re.M):
        assert line in cli.commands
