"""Tiny real models, made in seconds: an embedder, and a language model that learned a handful of replies by heart."""

from __future__ import annotations

import json
from pathlib import Path

from rag import quiet

with quiet.imports():
    import transformers  # noqa: F401 - what it reads is set before

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

# What the language model answers to each user message, as long as the system message is SYSTEM or there is none.
SYSTEM = "Say it."
REPLIES = {
    "cite": "See [7] and [12], also [3].",
    "loop": "na na na na na na na na na na na na na na na na na na na na na na na na",
    "count": "one two three four five six seven eight nine ten eleven twelve",
    "yes?": "Yes",
    "no?": "No",
}
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def chat_folder(folder: Path) -> Path:
    """A causal language model that knows REPLIES, with a tokenizer of single bytes, saved in `folder`."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: place for place, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(7)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=512,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    rows, labels = [], []
    for user, reply in REPLIES.items():
        for system in ([{"role": "system", "content": SYSTEM}], []):
            prompt = tokenizer.apply_chat_template(
                [*system, {"role": "user", "content": user}], add_generation_prompt=True, return_dict=True
            )["input_ids"]
            answer = [*tokenizer(reply)["input_ids"], tokenizer.eos_token_id]
            rows.append(torch.tensor(prompt + answer))
            labels.append(torch.tensor([-100] * len(prompt) + answer))
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=int(tokenizer.pad_token_id or 0))
    wanted = torch.nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=-100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(400):
        loss = model(ids, labels=wanted).loss
        if loss.item() < 0.003:
            break
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


WORDS = ("a", "the", "of", "in", "we", "for", "with", "model", "graph", "token", "memory", "data", "set", "train")


def encoder_folder(folder: Path, max_tokens: int = 32) -> Path:
    """A sentence-transformers model with random weights: BERT, mean pooling, normalised; saved in `folder`."""
    BertModel(_bert(folder, max_tokens)).save_pretrained(folder)
    modules = ["Transformer", "Pooling", "Normalize"]
    listed = [
        {
            "idx": place,
            "name": str(place),
            "path": f"{place}_{name}" if place else "",
            "type": f"sentence_transformers.models.{name}",
        }
        for place, name in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": max_tokens, "do_lower_case": False})
    )
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {"word_embedding_dimension": 48, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    (folder / "2_Normalize").mkdir(exist_ok=True)
    return folder


def cross_encoder_folder(folder: Path) -> Path:
    """A cross-encoder with random weights, one score a pair, saved in `folder`."""
    config = _bert(folder, 128)
    config.num_labels = 1
    config.initializer_range = 0.5  # with less the scores of all pairs are one
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def _bert(folder: Path, max_tokens: int) -> BertConfig:
    """The configuration of a small BERT whose tokenizer is saved in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(33, 127)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(dict.fromkeys(pieces)), encoding="utf-8")
    BertTokenizerFast(vocab=str(vocabulary), model_max_length=max_tokens).save_pretrained(folder)
    torch.manual_seed(7)
    return BertConfig(
        vocab_size=len(set(pieces)),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=512,
    )
