"""Asks a server that speaks OpenAI's protocol which model it serves."""

from __future__ import annotations

import hashlib
import os
from urllib.parse import urldefrag, urlsplit

import httpx

from rag.errors import ModelError, ModelUnreachable
from rag.models.known import ResolvedModel
from rag.settings import ENV_PREFIX

_TIMEOUT_S = 5.0


def ask_server(reference: str) -> ResolvedModel:
    """The model behind an address `http(s)://HOST[:PORT][/v1][#MODEL]`; without MODEL, the first the server names.

    Raises ModelUnreachable when it does not answer and ModelError when it answers with something else.
    """
    address, model = urldefrag(reference.strip())
    url = address.rstrip("/")
    if not urlsplit(url).path:
        url += "/v1"
    model = model or _first_model(url)
    return ResolvedModel(model, hashlib.sha256(f"{url}#{model}".encode()).hexdigest()[:12], url=url)


def _first_model(url: str) -> str:
    key = os.environ.get(ENV_PREFIX + "API_KEY")
    try:
        answer = httpx.get(
            f"{url}/models", timeout=_TIMEOUT_S, headers={"Authorization": f"Bearer {key}"} if key else {}
        )
        answer.raise_for_status()
        found = answer.json()["data"][0]["id"]
    except httpx.HTTPStatusError as error:
        raise ModelError(
            f"{url}/models answered with status {error.response.status_code}; check the address and "
            f"{ENV_PREFIX}API_KEY, or name the model after a '#'."
        ) from None
    except httpx.HTTPError as error:
        raise ModelUnreachable(f"The model server at {url} cannot be reached ({error}); start it first.") from None
    except (ValueError, LookupError, TypeError):
        raise ModelError(
            f"{url}/models names no model; is it a server that speaks OpenAI's protocol? Name the model after a '#'."
        ) from None
    return str(found)
