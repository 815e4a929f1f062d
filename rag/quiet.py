"""Libraries kept off the network, off the user's terminal and out of the user's own folders, in one place.

They read these variables when they are imported, so every function that imports transformers or sentence-transformers
does it `with quiet.imports()`. A variable the user has set stays as it is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Whether the user forbade the hub, before this program does so for its own process.
HUB_FORBIDDEN = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}

VARIABLES = {
    "HF_HUB_OFFLINE": "1",  # models are folders on this machine; the hub is asked only by `hub`, in its own process
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TOKENIZERS_PARALLELISM": "true",  # unset, it warns when the process starts another
}


# transformers makes its parts when they are first asked for; two threads that do so at once can find it half made.
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def imports() -> Iterator[None]:
    """Around the imports: what the libraries read is set before, what has no variable is switched off after."""
    with _ONE_AT_A_TIME:
        for name, value in VARIABLES.items():
            os.environ.setdefault(name, value)
        yield
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def keep_under(home: Path) -> None:
    """Have matplotlib, which Gradio and the reports import, keep its list of fonts under the home."""
    os.environ.setdefault("MPLCONFIGDIR", str(home / "matplotlib"))
