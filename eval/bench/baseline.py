"""The plain tutorial pipeline that this program is measured against, of public packages with their defaults.

LangChain's recursive splitter (1,000 characters, 200 shared), MiniLM through sentence-transformers, Chroma, the four
nearest pieces in the prompt, and the answering model through transformers' `generate`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from eval.bench.texts import Text

CHUNK, OVERLAP = 1_000, 200
K = 4
PROMPT = """Answer the question using only the passages below. Cite the passages you use as [1], [2] and so on. \
If the passages do not contain the answer, say that you do not know.

{passages}

Question: {question}"""


class HuggingFaceEmbeddings(Embeddings):
    """What the class of this name in langchain-huggingface 1.2 does with its defaults.

    The package itself needs huggingface-hub below 2 and cannot be installed beside this program.
    """

    def __init__(self, folder: Path) -> None:
        from sentence_transformers import SentenceTransformer

        self._client = SentenceTransformer(str(folder))

    @property
    def dtype(self) -> str:
        """The precision of the weights."""
        return str(next(self._client.parameters()).dtype)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        found = self._client.encode([text.replace("\n", " ") for text in texts], show_progress_bar=False)
        vectors: list[list[float]] = found.tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def split(papers: Sequence[Text]) -> list[Document]:
    """Papers as pieces for the index."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    whole = [Document(paper.whole, metadata={"source": paper.paper_id}) for paper in papers]
    return RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=OVERLAP).split_documents(whole)


def ingest(papers: Sequence[Text], embeddings: Embeddings, folder: Path) -> Any:
    """A Chroma store in `folder` with the pieces of `papers`."""
    from langchain_chroma import Chroma

    return Chroma.from_documents(split(papers), embeddings, persist_directory=str(folder))


def opened(embeddings: Embeddings, folder: Path) -> Any:
    """The store that `ingest` left in `folder`."""
    from langchain_chroma import Chroma

    return Chroma(persist_directory=str(folder), embedding_function=embeddings)


class Baseline:
    """Answers questions from a store with a causal model."""

    def __init__(self, store: Any, model: Path, max_new_tokens: int) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._store = store
        self._most = max_new_tokens
        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(model))
        self._model: Any = AutoModelForCausalLM.from_pretrained(str(model))

    @property
    def dtype(self) -> str:
        """The precision of the weights."""
        return str(self._model.dtype)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def prompt(self, question: str, passages: Sequence[Document]) -> str:
        """The whole prompt in the model's template."""
        shown = "\n\n".join(f"[{n}] {passage.page_content}" for n, passage in enumerate(passages, start=1))
        messages = [{"role": "user", "content": PROMPT.format(passages=shown, question=question)}]
        text: str = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return text

    def answer(self, question: str, tell: Callable[[str], None]) -> dict[str, Any]:
        """The answer with its times in milliseconds; `tell` hears "first_source" and "first_token" as they happen."""
        from transformers import TextIteratorStreamer

        began = time.perf_counter()
        passages = self._store.similarity_search(question, k=K)
        first_source = (time.perf_counter() - began) * 1000
        tell("first_source")
        inputs = self._tokenizer(self.prompt(question, passages), return_tensors="pt", add_special_tokens=False)
        streamer = TextIteratorStreamer(self._tokenizer, skip_prompt=True, skip_special_tokens=True)
        asked = {**inputs, "max_new_tokens": self._most, "do_sample": False, "streamer": streamer}
        writing = Thread(target=self._model.generate, kwargs=asked)
        writing.start()
        text, first_token = "", None
        for piece in streamer:
            if piece and first_token is None:
                first_token = (time.perf_counter() - began) * 1000
                tell("first_token")
            text += piece
        writing.join()
        return {
            "answer": text.strip(),
            "first_source": first_source,
            "first_token": first_token,
            "total": (time.perf_counter() - began) * 1000,
            "tokens": self.count_tokens(text),
            "prompt_tokens": int(inputs["input_ids"].shape[1]),
        }
