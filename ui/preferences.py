"""What each user has chosen for the page, in `home/preferences.json`; the answering model, in `home/settings.toml`."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tomlkit.exceptions import TOMLKitError

from rag.errors import SettingsError, StorageError
from rag.types import Filters
from ui.text import Language

Theme = Literal["auto", "light", "dark"]
MOST_SOURCES = 20
_LOCK = threading.Lock()


class Preferences(BaseModel):
    """Choices of one user; None is no choice. `k`, venue and years are what a new question's filters begin with."""

    model_config = ConfigDict(frozen=True)

    k: int | None = Field(None, ge=1, le=MOST_SOURCES)
    venue: str | None = Field(None, max_length=200)
    year_from: int | None = Field(None, ge=1, le=9999)
    year_to: int | None = Field(None, ge=1, le=9999)
    theme: Theme | None = None
    language: Language | None = None

    @property
    def filters(self) -> Filters:
        """The default filters."""
        return Filters(self.venue, self.year_from, self.year_to)


class Preferred:
    """The preferences of all users of one home. Safe to use from several threads."""

    def __init__(self, home: Path) -> None:
        self._path = home / "preferences.json"

    def of(self, user: str) -> Preferences:
        """The user's choices; none where nothing was kept or what was kept cannot be read."""
        try:
            return Preferences.model_validate(self._all().get(user, {}))
        except ValidationError:
            return Preferences()

    def keep(self, user: str, **changes: Any) -> Preferences:
        """The user's choices with `changes` (fields of Preferences), kept. Raises StorageError."""
        with _LOCK:
            kept = self._all()
            chosen = Preferences.model_validate({**self.of(user).model_dump(), **changes})
            kept[user] = chosen.model_dump(exclude_none=True)
            _write(self._path, json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True))
        return chosen

    def _all(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def keep_model(home: Path, llm: str) -> None:
    """Make `llm` the answering model of `home/settings.toml`, all else in it as it was. Raises SettingsError."""
    path = home / "settings.toml"
    with _LOCK:
        try:
            document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.is_file() else tomlkit.document()
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} is not valid TOML ({error}); mend or remove it.") from None
        document["llm"] = llm
        _write(path, tomlkit.dumps(document))


def _write(path: Path, text: str) -> None:
    """Replace the file at once, so that a kill leaves the old one or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StorageError(f"{path} could not be written ({error.strerror}); free some space or rights.") from None
