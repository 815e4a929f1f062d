"""A server that speaks OpenAI's protocol (vLLM, llama.cpp, Ollama) as a chat model, by langchain-openai."""

from __future__ import annotations

import asyncio
import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import openai
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from rag.errors import GenerationError
from rag.settings import ENV_PREFIX, Settings

KEY_VARIABLE = ENV_PREFIX + "API_KEY"
_CONNECT_S = 10.0
_POLL_S = 0.1
_Put = Callable[[ChatGenerationChunk | Exception | None], None]


class ServerChat(ChatOpenAI):
    """ChatOpenAI that takes this program's arguments, keeps to a time limit and says in one sentence what went wrong.

    `allowed_citations` has no counterpart in the protocol: the numbers a server writes are checked afterwards. Replies
    do not wait for each other here; such servers see to that themselves. When a reply is stopped, by `cancel`, by
    closing the stream or by `answer_seconds`, the connection is closed, which is how a server hears of it. Raises
    GenerationError.
    """

    answer_seconds: float = 120.0

    @classmethod
    def at(cls, url: str, model: str, settings: Settings) -> ServerChat:
        """The model `model` behind the address `url`, which ends before `/chat/completions`.

        The key is `$ABSTRACT_QA_API_KEY`; servers on one's own machine need none.
        """
        timeout = httpx.Timeout(settings.answer_seconds, connect=_CONNECT_S)
        return cls(
            model=model,
            base_url=url,
            api_key=SecretStr(os.environ.get(KEY_VARIABLE) or "none"),
            temperature=0,
            max_completion_tokens=settings.max_new_tokens,
            timeout=timeout,
            stream_chunk_timeout=None,
            answer_seconds=settings.answer_seconds,
            max_retries=1,
            stream_usage=True,
            # Chat completions are what every such server has; OpenAI's newer interface is not.
            use_responses_api=False,
            # A connection kept open would belong to one event loop and be reused in another.
            http_async_client=httpx.AsyncClient(timeout=timeout, limits=httpx.Limits(max_keepalive_connections=0)),
        )

    def get_num_tokens(self, text: str) -> int:
        """A guess, four bytes a token: langchain-openai would fetch a tokenizer from the network."""
        return len(text.encode()) // 4 + 1

    def warm_up(self, system: str = "") -> None:
        """Nothing to do: the server keeps its own model warm."""

    def _get_request_payload(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """The body of a request, with the most tokens under both names that servers know them by.

        OpenAI's own newer models refuse the older name, which is the only one that some other servers know.
        """
        body: dict[str, Any] = super()._get_request_payload(*arguments, **options)
        most = body.get("max_completion_tokens")
        if most is not None and httpx.URL(str(self.openai_api_base)).host != "api.openai.com":
            body["max_tokens"] = most
        return body

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - LangChain's `stream` reports tokens
        *,
        cancel: threading.Event | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        # Only a task can be stopped while it waits for a server that says nothing; a thread that reads cannot.
        events: queue.SimpleQueue[ChatGenerationChunk | Exception | None] = queue.SimpleQueue()
        deadline = time.monotonic() + self.answer_seconds
        task = asyncio.run_coroutine_threadsafe(self._read(messages, stop, _options(kwargs), events.put), _loop())
        begun = False
        try:
            while cancel is None or not cancel.is_set():
                if (left := deadline - time.monotonic()) <= 0:
                    if not begun:
                        raise self._late()
                    info = {"finish_reason": "time_limit", "model_name": self.model_name}
                    last = AIMessageChunk(content="", response_metadata=info, chunk_position="last")
                    yield ChatGenerationChunk(message=last)
                    return
                try:
                    event = events.get(timeout=min(_POLL_S, left))
                except queue.Empty:
                    continue
                if event is None:
                    if not begun:
                        raise GenerationError(
                            f"The model server at {self.openai_api_base} sent no answer; check that the address is one "
                            "of OpenAI's protocol, often ending in /v1."
                        )
                    return
                if isinstance(event, Exception):
                    with self._errors(begun):
                        raise event
                begun = True
                yield event
        finally:
            task.cancel()

    async def _read(self, messages: list[BaseMessage], stop: list[str] | None, options: Any, put: _Put) -> None:
        """Put every chunk, then None or the exception."""
        try:
            async for chunk in self._astream(messages, stop, **options):
                put(chunk)
            put(None)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that reads `put`
            put(error)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _late(self) -> GenerationError:
        return GenerationError(
            f"The model server at {self.openai_api_base} did not answer within {self.answer_seconds:g} s; ask again or "
            "raise `answer_seconds`."
        )

    @contextmanager
    def _errors(self, begun: bool) -> Iterator[None]:
        place = f"The model server at {self.openai_api_base}"
        try:
            yield
        except openai.APITimeoutError as error:
            raise self._late() from error
        except (openai.APIConnectionError, httpx.HTTPError) as error:
            if begun:
                cause = error.__cause__ or error
                raise GenerationError(f"{place} broke off in the middle of its answer ({cause}); ask again.") from error
            raise GenerationError(f"{place} cannot be reached; start it or name another model with --llm.") from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            wrong = f"refuses the key in {KEY_VARIABLE}" if os.environ.get(KEY_VARIABLE) else "wants a key"
            raise GenerationError(f"{place} {wrong} ({_said(error)}); set {KEY_VARIABLE} to one it takes.") from error
        except openai.NotFoundError as error:
            raise GenerationError(
                f"{place} has no model {self.model_name!r} ({_said(error)}); name one it has after a '#' in --llm, and "
                "check the address."
            ) from error
        except openai.RateLimitError as error:
            raise GenerationError(f"{place} takes no more questions now ({_said(error)}); ask again later.") from error
        except openai.APIError as error:
            raise GenerationError(
                f"{place} refused ({_said(error)}); check its log or name another with --llm."
            ) from error


def _said(error: openai.APIError) -> str:
    """What the server said, without the protocol around it."""
    body = error.body
    said = body.get("message") or body.get("detail") if isinstance(body, dict) else None
    return str(said or error.message)


def _options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the protocol names them, without those it has no counterpart for."""
    options = {name: value for name, value in kwargs.items() if name not in ("allowed_citations", "cancel")}
    if (limit := options.pop("max_new_tokens", None)) is not None:
        options["max_completion_tokens"] = limit
    return options


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that all servers are read in, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="model servers").start()
    return loop
