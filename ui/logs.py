"""Logs of the server: a line an event, as text or as JSON, with the request's id; no question's text, no secret."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

from rag.settings import ENV_PREFIX

Format = Literal["text", "json"]
ROOT = "abstract_qa"
# The request being served; empty outside of one.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
_SECRETS = re.compile(
    r"aqa_[A-Za-z0-9_-]{16,}|(?i:bearer)\s+[^\s'\",]+|(?<=abstract_qa_session=)[^\s;'\"]+|\bsk-[A-Za-z0-9_-]{8,}"
)
HIDDEN = "[hidden]"


def event(logger: logging.Logger, level: int, name: str, **fields: Any) -> None:
    """Log `name` with its fields; `request_id` is added where there is one."""
    if request_id := REQUEST_ID.get():
        fields.setdefault("request_id", request_id)
    logger.log(level, name, extra={"fields": fields})


def without_secrets(text: str) -> str:
    """`text` with keys, tokens and cookies hidden, whoever put them there."""
    own = os.environ.get(ENV_PREFIX + "API_KEY", "")
    return _SECRETS.sub(HIDDEN, text.replace(own, HIDDEN) if len(own) >= 8 else text)


class Formatter(logging.Formatter):
    """A record as one line."""

    def __init__(self, shape: Format) -> None:
        super().__init__()
        self._shape = shape

    def format(self, record: logging.LogRecord) -> str:
        """JSON with time, level, logger, event and the fields; or the same as text."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if self._shape == "json":
            line = {"time": when, "level": record.levelname.lower(), "logger": record.name}
            return without_secrets(json.dumps(line | {"event": record.getMessage(), **fields}, default=str))
        trace = fields.pop("traceback", "")
        said = " ".join(f"{name}={_quoted(value)}" for name, value in fields.items())
        line_text = f"{when} {record.levelname.lower()} {record.getMessage()} {said}".rstrip()
        # One line an event: what came from outside cannot begin a line of its own.
        line_text = line_text.replace("\n", "\\n").replace("\r", "\\r")
        return without_secrets(f"{line_text}\n{trace}" if trace else line_text)


def configure(shape: Format | None) -> None:
    """Write this program's events, without a shape only its warnings, and the server's warnings to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter(shape or "text"))
    for name, level in ((ROOT, logging.INFO if shape else logging.WARNING), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _quoted(value: Any) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or re.search(r"[\s\"=]", text) else text
