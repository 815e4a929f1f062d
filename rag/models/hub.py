"""Downloads files of a hub repository: `python -m rag.models.hub REPOSITORY FOLDER PATTERN...`.

A process of its own, because Hugging Face's library decides when it is imported whether the network may be used.
"""

from __future__ import annotations

import sys


def download(repository: str, folder: str, patterns: list[str]) -> None:
    """Files that match `patterns` into `folder`; a part of a file that is there already is not fetched again."""
    from huggingface_hub import snapshot_download

    snapshot_download(repository, local_dir=folder, allow_patterns=patterns)


if __name__ == "__main__":
    download(sys.argv[1], sys.argv[2], sys.argv[3:])
