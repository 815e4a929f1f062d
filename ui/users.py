"""Who is asking. Without sign-in everybody on this machine is the one user `local`, who may do everything."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Identity:
    """Someone who is known. `by_key` tells a program's key from a person's session."""

    user: str
    admin: bool = False
    by_key: bool = False


EVERYBODY = Identity(LOCAL, admin=True)


def user_of(request: Any) -> str:
    """The user of a Gradio or a FastAPI request."""
    named = getattr(request, "username", None)
    if named is None:
        named = getattr(getattr(request, "state", None), "user", None)
    return named or LOCAL


def owner_of(user: str, interface: str, session: str | None = None) -> str:
    """Names one tab or connection of a user: no user's name has a `|`, so nobody can name another's."""
    return f"{user}|{interface}|{session or uuid.uuid4().hex}"


def user_in(owner: str) -> str:
    """The user whose tab or connection `owner` is."""
    return owner.split("|", 1)[0] or LOCAL


def interface_in(owner: str) -> str:
    """The interface that `owner` asks through."""
    return owner.split("|", 2)[1] if owner.count("|") > 1 else "page"
