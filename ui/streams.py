"""The events of an answer for an asynchronous server: made in a thread, stopped when the one who asked goes away."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from rag.events import Event
from rag.types import Filters, Turn
from ui.desk import Desk
from ui.users import LOCAL, owner_of

# Seconds after which it is looked whether the one who asked is still there.
LOOK_EVERY = 0.5


async def events(
    desk: Desk,
    question: str,
    history: Sequence[Turn],
    filters: Filters,
    k: int | None,
    gone: Callable[[], Awaitable[bool]],
    owner: str | None = None,
) -> AsyncIterator[Event]:
    """Events as they come. Once `gone` answers True the model stops and the iterator ends. Raises what it raises.

    `owner` is who asks, as `ui.users.owner_of` names them; None for somebody who has not signed in.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
    asked_by = owner or owner_of(LOCAL, "http")
    left = threading.Event()

    def tell(item: Event | BaseException | None) -> None:
        # Nobody listens any more when the server is shut down while a model still writes.
        if not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        try:
            with desk.run(asked_by) as run:
                if left.is_set():
                    return
                for event in desk.stream(run, question, history, filters, k):
                    tell(event)
        except BaseException as error:  # noqa: BLE001 - raised again where the events are awaited
            tell(error)
        finally:
            tell(None)

    # Not one of the loop's own threads: there are few, and a question may wait for the model for minutes.
    within = contextvars.copy_context()  # of the request, whose id the log has
    threading.Thread(target=within.run, args=(work,), daemon=True, name="question").start()
    looked = loop.time()
    try:
        while True:
            if loop.time() - looked >= LOOK_EVERY:
                looked = loop.time()
                if await gone():
                    return
            try:
                item = await asyncio.wait_for(queue.get(), LOOK_EVERY)
            except TimeoutError:
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        desk.stop(asked_by)
