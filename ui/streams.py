"""The events of an answer for an asynchronous server: made in a thread, stopped when the one who asked goes away."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from rag.events import Event
from rag.types import Filters, Turn
from ui.desk import Desk

LOOK_EVERY = 0.5


async def events(
    desk: Desk,
    question: str,
    history: Sequence[Turn],
    filters: Filters,
    k: int | None,
    gone: Callable[[], Awaitable[bool]],
) -> AsyncIterator[Event]:
    """Events as they come. Once `gone` answers True the model stops and the iterator ends. Raises what it raises."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
    owner = uuid.uuid4().hex

    def tell(item: Event | BaseException | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        try:
            with desk.run(owner) as run:
                for event in desk.stream(run, question, history, filters, k):
                    tell(event)
        except BaseException as error:  # noqa: BLE001 - raised again where the events are awaited
            tell(error)
        finally:
            tell(None)

    working = loop.run_in_executor(None, work)
    try:
        while True:
            try:
                item = await asyncio.wait_for(queue.get(), LOOK_EVERY)
            except TimeoutError:
                if await gone():
                    return
                continue
            if item is None:
                break
            if isinstance(item, BaseException):
                raise item
            yield item
        await working
    finally:
        desk.stop(owner)
