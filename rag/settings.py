"""One typed `Settings`: defaults, then `settings.toml` in the home, then `ABSTRACT_QA_*` variables, then flags.

An unknown key is an error, and so is a value out of range. Importing this module does nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from rag.errors import SettingsError

ENV_PREFIX = "ABSTRACT_QA_"
# Variables with the prefix that are no settings: where the home is, where models are, whether to use the network, and
# the key of a model server, which must not stand in a file.
ENV_ONLY = frozenset({"HOME", "MODELS", "OFFLINE", "API_KEY"})

# Settings that cannot change an answer.
_NOT_OF_ANSWERS = frozenset(
    {"home", "threads", "language", "store", "answer_seconds", "questions_per_minute", "session_hours"}
    | {"ingest_folders", "allowed_hosts", "trusted_proxy"}
)


class Settings(BaseModel):
    """Everything that can be set. `fingerprint` covers the fields that can change an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    home: Path = Field(exclude=True)
    embedder: str = "all-minilm-l6-v2"
    llm: str = Field("auto", description="known name, folder, GGUF file, hub id, http(s) address, auto, or none")
    store: str = Field("", description="address of a Chroma server; empty for the embedded one")
    k: int = Field(5, ge=1, le=50, description="papers given to the model")
    reranker: str = Field("", description="folder of a cross-encoder that orders the first papers anew; empty for none")
    candidates: int = Field(200, ge=10, le=2000, description="papers each index proposes")
    evidence_sentences: int = Field(8, ge=1, le=40, description="sentences given to the model")
    evidence_tokens: int = Field(600, ge=50, le=20_000, description="most tokens of evidence in a prompt")
    max_new_tokens: int = Field(220, ge=16, le=2048)
    answer_seconds: float = Field(120.0, gt=0, description="longest time one answer may be written for")
    dtype: Literal["auto", "bf16", "fp32"] = "auto"
    threads: int = Field(0, ge=0, description="processor threads for models; 0 leaves it to torch")
    language: Literal["en", "zh"] = Field("en", description="language of the browser's interface")
    questions_per_minute: int = Field(30, ge=0, description="most questions of one signed-in user; 0 for no limit")
    session_hours: float = Field(72.0, gt=0, description="how long a sign-in holds")
    ingest_folders: tuple[Path, ...] = Field((), description="folders a server with sign-in may read files from")
    allowed_hosts: tuple[str, ...] = Field((), description="further names the server answers to; * for all")
    trusted_proxy: str = Field("", description="address of a proxy whose X-Forwarded-For and -Proto are believed")

    @field_validator("ingest_folders", "allowed_hosts", mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        """A variable holds such a list with commas between."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change when a setting changes that can change an answer."""
        data = self.model_dump(exclude=set(_NOT_OF_ANSWERS), mode="json")
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def default_home() -> Path:
    """`$ABSTRACT_QA_HOME`, else the platform's data directory for this program. Nothing is created."""
    named = os.environ.get(ENV_PREFIX + "HOME")
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("abstract-qa", appauthor=False))


def load_settings(home: Path | None = None, **flags: Any) -> Settings:
    """Settings for `home` (None: the default one). A flag of None counts as not given.

    Raises SettingsError naming the file or variable, the key and what is allowed.
    """
    home = (home or default_home()).expanduser().absolute()
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    path = home / "settings.toml"
    if path.exists():
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} is not valid TOML ({error}); mend or remove it.") from None
        except OSError as error:
            raise SettingsError(f"{path} cannot be read ({error.strerror}); mend or remove it.") from None
        values.update(found)
        origin.update(dict.fromkeys(found, str(path)))
    for variable, text in os.environ.items():
        key = variable.removeprefix(ENV_PREFIX)
        if variable.startswith(ENV_PREFIX) and key not in ENV_ONLY:
            values[key.lower()] = text
            origin[key.lower()] = variable
    for key, value in flags.items():
        if value is not None:
            values[key] = value
            origin[key] = f"--{key.replace('_', '-')}"
    values["home"] = home
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        known = ", ".join(sorted(set(Settings.model_fields) - {"home"}))
        if first["type"] == "extra_forbidden":
            raise SettingsError(f"{origin.get(key, key)}: unknown setting {key!r}; known are {known}.") from None
        raise SettingsError(f"{origin.get(key, key)}: {key} = {first['input']!r}: {first['msg']}.") from None
