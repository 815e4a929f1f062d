"""Converts a GGUF file to a folder of bf16 safetensors with its tokenizer: `python -m rag.models.convert FILE FOLDER`.

A process of its own, so that the memory it takes is given back.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rag import quiet


def convert(source: Path, folder: Path) -> None:
    """Read `source`, dequantise it once, and save model and tokenizer in `folder`, which is made."""
    with quiet.imports():
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place = str(source.parent)
    model = AutoModelForCausalLM.from_pretrained(
        place,
        gguf_file=source.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
        trust_remote_code=False,
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(place, gguf_file=source.name, trust_remote_code=False).save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
