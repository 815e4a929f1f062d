"""Keeps users apart in Gradio, which knows no users: sessions, queued events and uploads are each made somebody's.

Gradio finds a tab by a number that the tab chooses and an event or a file by a name that it gives out; whoever has the
number or the name has what is behind it. So the tab's number is put behind the user's name before Gradio sees it, and
events and files are given only to those they belong to. Routes of Gradio that the page does not need are not there.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.types import Scope

from ui.rights import may
from ui.users import Identity, owner_of, user_in

if TYPE_CHECKING:
    import gradio as gr

PAGE = "page"
_READ, _SEND = ("GET", "HEAD"), ("POST",)
_HASH = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Name, methods, path within the page. What is not here does not exist.
ROUTES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (name, methods, re.compile(path))
    for name, methods, path in (
        ("page", _READ, r"/"),
        ("config", _READ, r"/config/?"),
        ("asset", _READ, r"/(?:assets|static|svelte)/.+|(?:/gradio_api)?/theme\.css|/favicon\.ico|/robots\.txt"),
        ("asset", _READ, r"/manifest\.json|/pwa_icon(?:/[\w.]+)?"),
        ("info", _READ, r"/gradio_api/(?:info/?|app_id/?|startup-events|queue/status|openapi\.json|login_check/?)"),
        ("join", _SEND, r"/gradio_api/queue/join"),
        ("events", _READ, r"/gradio_api/queue/data"),
        ("heartbeat", _READ, r"/gradio_api/heartbeat/(?P<session>[^/]+)"),
        ("direct", _SEND, r"/gradio_api/(?:run|api)/(?P<function>[^/]+)/?"),
        ("call", _SEND, r"/gradio_api/call/(?P<function>[^/]+)/?"),
        ("called", _READ, r"/gradio_api/call/[^/]+/(?P<event>[^/]+)"),
        ("cancel", _SEND, r"/gradio_api/cancel"),
        ("reset", _SEND, r"/gradio_api/reset/?"),
        ("upload", _SEND, r"/gradio_api/upload"),
        ("uploading", _READ, r"/gradio_api/upload_progress"),
        ("file", _READ, r"/gradio_api/file=(?P<file>.+)"),
        ("mcp", ("GET", "HEAD", "POST", "DELETE"), r"/gradio_api/mcp/?"),
        ("mcp", _READ, r"/gradio_api/mcp/schema"),
    )
)


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """A request that is not answered, with the status and a sentence."""

    status: int
    message: str


_NOTHING = Refused(404, "There is nothing at this address.")


def route_of(method: str, path: str) -> tuple[str, Mapping[str, str]]:
    """Name and parts of the route of Gradio's that a request is for. Raises Refused where the page has none."""
    for name, methods, pattern in ROUTES:
        found = pattern.fullmatch(path)
        if found:
            if method not in methods:
                raise Refused(405, f"{method} is not answered here.")
            return name, found.groupdict()
    raise _NOTHING


class Private:
    """What Gradio's routes may be asked by whom. `blocks` are the pages by the path they are at."""

    def __init__(self, blocks: Mapping[str, gr.Blocks], uploads: Path) -> None:
        self._blocks = blocks
        self._uploads = uploads
        self._owners: dict[str, set[str]] = {}

    def admit(self, who: Identity, mount: str, name: str, parts: Mapping[str, str], scope: Scope, body: bytes) -> bytes:
        """Change `scope` and give the body so that they are about what is the user's. Raises Refused for all else."""
        match name:
            case "join" | "direct" | "call":
                return self._event(who, mount, name, parts, body)
            case "cancel":
                return self._cancelled(who, mount, body)
            case "reset":  # does nothing in Gradio today
                return self._own_event(who, mount, _object(body))
            case "events":
                _query(scope, "session_hash", who.user)
            case "upload" | "uploading":
                _query(scope, "upload_id", who.user, needed=name == "uploading")
            case "heartbeat":
                session = owner_of(who.user, PAGE, _session(parts["session"]))
                scope["path"] = scope["path"].removesuffix(parts["session"]) + session
                scope.pop("raw_path", None)
            case "called":
                if self._owner(mount, parts["event"]) != who.user:
                    raise _NOTHING
            case "file":
                self._file(who, parts["file"])
            case _:
                pass
        return body

    def told(self, user: str, name: str, text: bytes) -> None:
        """Note the files that are named to `user` in an answer, or in an event of one: these may be fetched by them.

        Only Gradio's own values count, so that a path which somebody has typed and sees again does not become theirs.
        """
        for line in text.split(b"\n"):
            try:
                value = json.loads(line.removeprefix(b"data: "))
            except (ValueError, RecursionError):
                continue
            paths = value if name == "upload" and isinstance(value, list) else _files(value)
            for path in paths:
                self._owners.setdefault(_real(str(path)), set()).add(user)

    def _event(self, who: Identity, mount: str, name: str, parts: Mapping[str, str], body: bytes) -> bytes:
        said = _object(body)
        function = self._function(mount, said.get("fn_index"), parts.get("function"))
        if not may(who.admin, function):
            raise Refused(403, "Only an admin of this server may do that.")
        for text in _texts(said.get("data")):
            owners = self._owners.get(_real(text)) if "/" in text else None
            if owners is not None and who.user not in owners:
                raise Refused(403, "This file was uploaded by somebody else.")
        if said.get("session_hash") is not None:
            said["session_hash"] = owner_of(who.user, PAGE, _session(said["session_hash"]))
        elif name == "call":
            said["session_hash"] = owner_of(who.user, PAGE, uuid.uuid4().hex)
        said.pop("event_id", None)
        return json.dumps(said).encode()

    def _cancelled(self, who: Identity, mount: str, body: bytes) -> bytes:
        said = _object(body)
        said["session_hash"] = owner_of(who.user, PAGE, _session(said.get("session_hash")))
        return self._own_event(who, mount, said)

    def _own_event(self, who: Identity, mount: str, said: dict[str, Any]) -> bytes:
        """The body with an event of nobody's in the place of one that is over already, or another's."""
        if self._owner(mount, str(said.get("event_id"))) != who.user:
            said["event_id"] = uuid.uuid4().hex
        return json.dumps(said).encode()

    def _function(self, mount: str, index: Any, name: str | None) -> str:
        """Qualified name of the function that an event runs; Gradio takes the number before the name."""
        functions = self._blocks[mount].fns
        if isinstance(index, int) and not isinstance(index, bool):
            found = functions.get(index)
        elif index is None:
            found = next((one for one in functions.values() if one.api_name == name), None)
        else:
            raise Refused(422, "fn_index has to be a whole number.")
        if found is None:
            raise _NOTHING
        return getattr(found.fn, "__qualname__", "")

    def _owner(self, mount: str, event_id: str) -> str | None:
        """The user whose queued or just finished event it is; None where there is none of that id."""
        queue = self._blocks[mount]._queue
        event = queue.event_ids_to_events.get(event_id)
        if event is not None:
            return user_in(event.session_hash)
        pending = queue.pending_event_ids_session.items()
        return next((user_in(session) for session, events in pending if event_id in events), None)

    def _file(self, who: Identity, text: str) -> None:
        """A file is there for those it was named to: its uploader, and who had it exported."""
        path = _real(text)
        if not Path(path).is_relative_to(self._uploads) or who.user not in self._owners.get(path, ()):
            raise _NOTHING


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON.") from None
    if not isinstance(said, dict):
        raise Refused(422, "The body has to be a JSON object.")
    return said


def _session(value: Any) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise Refused(422, "session_hash has to be up to 64 letters and digits.")
    return value


def _query(scope: Scope, name: str, user: str, *, needed: bool = True) -> None:
    """Put the value of one parameter behind the user's name, every time it is given."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if needed and not any(key == name for key, _ in pairs):
        raise Refused(422, f"{name} is missing.")
    kept = [(key, owner_of(user, PAGE, _session(value)) if key == name else value) for key, value in pairs]
    scope["query_string"] = urlencode(kept).encode()


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, however deep."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            rest.extend((*one.keys(), *one.values()))
        elif isinstance(one, list):
            rest.extend(one)


def _files(value: Any) -> Iterator[str]:
    """Paths of the files that are in a value of Gradio's, however deep."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            meta = one.get("meta")
            if isinstance(meta, dict) and meta.get("_type") == "gradio.FileData" and isinstance(one.get("path"), str):
                yield one["path"]
            rest.extend(one.values())
        elif isinstance(one, list):
            rest.extend(one)


def _real(text: str) -> str:
    """The path a text names, links followed; the text itself where it can be none."""
    text = text.rsplit("/gradio_api/file=", 1)[-1]
    try:
        return str(Path(text).resolve())
    except (OSError, ValueError, RuntimeError):
        return text
