"""Conversations as token ids, in a model's own chat template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.errors import GenerationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Two user messages without a common beginning.
_DIFFERENT = ("a", "7")


class ChatTemplate:
    """The template of one tokenizer; `name` is the model's, for errors."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
        self._tokenizer: Any = tokenizer
        self._name = name

    def render(self, messages: list[dict[str, Any]]) -> list[int]:
        """Token ids of the prompt, in the model's own template where it has one."""
        if self._tokenizer.chat_template is None:
            text = "\n\n".join(str(message["content"]) for message in messages) + "\n\n"
            return list(self._tokenizer(text)["input_ids"])
        from jinja2 import TemplateError

        try:
            found = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
        except TemplateError as error:
            if len(messages) > 1 and messages[0]["role"] == "system":  # some templates know no system message
                merged = f"{messages[0]['content']}\n\n{messages[1]['content']}"
                return self.render([{**messages[1], "content": merged}, *messages[2:]])
            raise GenerationError(f"{self._name}'s template refuses this conversation ({error}).") from error
        return list(found["input_ids"])

    def fixed(self, system: list[dict[str, Any]], ids: list[int]) -> int:
        """How many of `ids` come before anything but the system message; 0 without one."""
        if not system:
            return 0
        others = [self.render([*system, {"role": "user", "content": text}]) for text in _DIFFERENT]
        for place, tokens in enumerate(zip(ids, *others, strict=False)):
            if len(set(tokens)) > 1:
                return place
        return 0
