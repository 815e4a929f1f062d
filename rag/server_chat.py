"""A server that speaks OpenAI's protocol (vLLM, llama.cpp, Ollama) as a chat model, by langchain-openai."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import openai
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from rag.errors import GenerationError
from rag.settings import ENV_PREFIX, Settings

KEY_VARIABLE = ENV_PREFIX + "API_KEY"


class ServerChat(ChatOpenAI):
    """ChatOpenAI that takes this program's arguments and says in one sentence what went wrong.

    `allowed_citations` has no counterpart in the protocol: the numbers a server writes are checked afterwards.
    """

    @classmethod
    def at(cls, url: str, model: str, settings: Settings) -> ServerChat:
        """The model `model` behind the address `url`, which ends before `/chat/completions`.

        The key is `$ABSTRACT_QA_API_KEY`; servers on one's own machine need none.
        """
        return cls(
            model=model,
            base_url=url,
            api_key=SecretStr(os.environ.get(KEY_VARIABLE) or "none"),
            temperature=0,
            max_completion_tokens=settings.max_new_tokens,
            timeout=settings.answer_seconds,
            max_retries=1,
            stream_usage=True,
            # Chat completions are what every such server has; OpenAI's newer interface is not.
            use_responses_api=False,
        )

    def get_num_tokens(self, text: str) -> int:
        """A guess, four bytes a token: langchain-openai would fetch a tokenizer from the network."""
        return len(text.encode()) // 4 + 1

    def warm_up(self, system: str = "") -> None:
        """Nothing to do: the server keeps its own model warm."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        cancel: threading.Event | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        with self._errors(), closing(super()._stream(messages, stop, run_manager, **_options(kwargs))) as chunks:  # type: ignore[type-var]
            for chunk in chunks:
                if cancel is not None and cancel.is_set():
                    return
                yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        kwargs.pop("cancel", None)
        with self._errors():
            return super()._generate(messages, stop, run_manager, **_options(kwargs))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        place = self.openai_api_base
        try:
            yield
        except openai.APITimeoutError as error:
            raise GenerationError(
                f"The model server at {place} did not answer in time; ask again or raise `answer_seconds`."
            ) from error
        except openai.APIConnectionError as error:
            raise GenerationError(
                f"The model server at {place} cannot be reached; start it or name another model with --llm."
            ) from error
        except openai.AuthenticationError as error:
            raise GenerationError(f"The model server at {place} wants a key; set {KEY_VARIABLE}.") from error
        except openai.APIError as error:
            raise GenerationError(
                f"The model server at {place} refused ({error.message}); check its log or name another with --llm."
            ) from error


def _options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the protocol names them, without those it has no counterpart for."""
    options = {name: value for name, value in kwargs.items() if name != "allowed_citations"}
    if (limit := options.pop("max_new_tokens", None)) is not None:
        options["max_completion_tokens"] = limit
    return options
