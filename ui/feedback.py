"""What users thought of answers, kept in `home/feedback.jsonl`: one JSON object a line, the whole answer in it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from rag.answer_json import filters_json, to_json
from rag.errors import StorageError
from rag.types import Answer, Filters, Turn
from ui.exchange import Exchange, Rating

if TYPE_CHECKING:
    from eval.make import Rated

LONGEST_REASON = 2000
_LOCK = threading.Lock()
_ANSWER = TypeAdapter(Answer)
_HISTORY = TypeAdapter(tuple[Turn, ...])
_FILTERS = TypeAdapter(Filters)


def note(
    home: Path,
    user: str,
    conversation_id: str,
    exchange: Exchange,
    history: Sequence[Turn],
    rating: Rating,
    reason: str,
) -> None:
    """Add a rating of a complete exchange. A later line about the same `exchange` replaces an earlier one.

    `answer` is the object that `ask --json` prints; `stored` holds it with all that is known of its papers.
    """
    if exchange.answer is None:
        return
    line = {
        "id": uuid.uuid4().hex,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": user,
        "conversation": conversation_id,
        "exchange": exchange.exchange_id,
        "rating": rating,
        "reason": reason[:LONGEST_REASON],
        "filters": filters_json(exchange.filters),
        "history": _HISTORY.dump_python(tuple(history), mode="json"),
        "answer": to_json(exchange.answer),
        "stored": _ANSWER.dump_python(exchange.answer, mode="json"),
    }
    try:
        with _LOCK, (home / "feedback.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StorageError(f"The feedback could not be written ({error.strerror}); free some space.") from None


def rated(home: Path, user: str | None = None, unread: list[int] | None = None) -> Iterator[Rated]:
    """The answers rated by `user` (None: by anyone), the last rating of each.

    A line that cannot be read, whoever's it is, is left out; its number, from 1, is added to `unread`.
    """
    from eval.make import Rated

    path = home / "feedback.jsonl"
    if not path.is_file():
        return
    last: dict[str, Rated] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                entry = json.loads(line)
                if user is not None and entry["user"] != user:
                    continue
                last[entry["exchange"]] = Rated(
                    entry["id"],
                    _ANSWER.validate_python(entry["stored"]),
                    entry["rating"],
                    _HISTORY.validate_python(entry["history"]),
                    _FILTERS.validate_python(entry["filters"]),
                )
            except (ValueError, KeyError, TypeError, ValidationError):
                if unread is not None:
                    unread.append(number)
    yield from last.values()
