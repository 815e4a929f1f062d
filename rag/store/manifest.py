"""What a library says of itself: layout, embedder, chunking, and how often it has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.errors import EmbedderMismatch
from rag.ingest.chunking import CHUNKING

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder
    from rag.store.records import Records


@dataclass(frozen=True, slots=True)
class Manifest:
    """`embedder` and what follows it are empty or 0 for a library that never held a paper.

    `library` tells libraries apart, `generation` grows with every change.
    """

    library: str
    schema: str
    embedder: str
    fingerprint: str
    dimension: int
    max_tokens: int
    chunking: str
    generation: int


def read_manifest(records: Records) -> Manifest:
    """The manifest as it is now."""
    found = records.manifest()
    return Manifest(
        library=found["library"],
        schema=found["schema"],
        embedder=found.get("embedder", ""),
        fingerprint=found.get("fingerprint", ""),
        dimension=int(found.get("dimension", 0)),
        max_tokens=int(found.get("max_tokens", 0)),
        chunking=found.get("chunking", ""),
        generation=int(found.get("generation", 0)),
    )


def made_by(encoder: Encoder) -> dict[str, str | int]:
    """The part of the manifest that says what made the vectors."""
    return {
        "embedder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "dimension": encoder.dimension,
        "max_tokens": encoder.max_tokens,
        "chunking": CHUNKING,
    }


def fits(manifest: Manifest, encoder: Encoder) -> bool:
    """Whether vectors of `encoder` go with those of the library. One that is not loaded goes by its fingerprint."""
    if not encoder.loaded:
        return (manifest.fingerprint, manifest.chunking) == (encoder.fingerprint, CHUNKING)
    wanted = made_by(encoder)
    # The name is only for people: the same weights may be known by several.
    return all(getattr(manifest, key) == value for key, value in wanted.items() if key != "embedder")


def mismatch(manifest: Manifest, encoder: Encoder, home: str) -> EmbedderMismatch:
    """The error for a library and an encoder that do not fit."""
    if manifest.fingerprint != encoder.fingerprint or manifest.dimension != encoder.dimension:
        what = (
            f"was built with the embedder {manifest.embedder} ({manifest.dimension} dimensions,"
            f" {manifest.fingerprint}),"
            f" not with {encoder.name} ({encoder.dimension} dimensions, {encoder.fingerprint})"
        )
    else:
        what = (
            f"was cut into chunks in another way ({manifest.chunking}, {manifest.max_tokens} tokens), not as now"
            f" ({CHUNKING}, {encoder.max_tokens} tokens)"
        )
    return EmbedderMismatch(
        f"The library in {home} {what}; run `abstract-qa reindex` to embed it anew, or set the embedder back."
    )
