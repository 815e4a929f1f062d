"""Who is asking. Without sign-in everybody on this machine is the one user `local`."""

from __future__ import annotations

from typing import Any

LOCAL = "local"


def user_of(request: Any) -> str:
    """The signed-in user of a Gradio or a FastAPI request."""
    named = getattr(request, "username", None)
    if named is None:
        named = getattr(getattr(request, "state", None), "user", None)
    return named or LOCAL
