"""Whose turn it is: one holder at a time, first come first served among those who ask, in rotation between owners.

One who asks ten things gets one of them done, then everybody else who waits gets one, then comes the next of the ten.
"""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import Self

from rag.errors import Busy

# Places in the line of one model, beside the one whose turn it is.
MOST_WAITING = 64


class Turns:
    """The line before something that serves one at a time; safe to use from several threads.

    `name` is what is waited for, for the error.
    """

    def __init__(self, name: str, most: int = MOST_WAITING) -> None:
        self._name = name
        self._most = most
        self._changed = threading.Condition()
        # Owners in the order in which they come to their turn, each with what they wait for.
        self._lines: dict[str, deque[Place]] = {}
        self._holder: Place | None = None

    def line_up(self, owner: str = "") -> Place:
        """A place at the end of `owner`'s line; leave it, or use it as a context manager. Raises Busy when full."""
        with self._changed:
            if sum(map(len, self._lines.values())) >= self._most:
                raise Busy(f"{self._most} questions are waiting for {self._name} already; ask again in a minute.")
            place = Place(self, owner)
            self._lines.setdefault(owner, deque()).append(place)
            self._call_next()
            return place

    def _wait(self, place: Place, timeout: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._holder is place, timeout)

    def _ahead(self, place: Place) -> int:
        with self._changed:
            own = self._lines.get(place.owner)
            if own is None or place not in own:
                return 0
            before = own.index(place)
            order = self._rotation()
            at = order.index(place.owner)
            others = sum(
                min(len(self._lines[owner]), before + (other < at))
                for other, owner in enumerate(order)
                if owner != place.owner
            )
            return before + others + (self._holder is not None)

    def _leave(self, place: Place) -> None:
        with self._changed:
            if self._holder is place:
                self._holder = None
                # Whoever was served comes after all who wait now.
                if (own := self._lines.pop(place.owner, None)) is not None:
                    self._lines[place.owner] = own
            elif (line := self._lines.get(place.owner)) is not None and place in line:
                line.remove(place)
                if not line:
                    del self._lines[place.owner]
            self._call_next()

    def _rotation(self) -> list[str]:
        """Owners in the order of their turns; the one being served is last."""
        served = None if self._holder is None else self._holder.owner
        return sorted(self._lines, key=lambda owner: owner == served)

    def _call_next(self) -> None:
        if self._holder is None and self._lines:
            owner = next(iter(self._lines))
            line = self._lines[owner]
            self._holder = line.popleft()
            if not line:
                del self._lines[owner]
        self._changed.notify_all()


class Place:
    """A place in the line, held until it is left, whether its turn has come or not."""

    def __init__(self, turns: Turns, owner: str) -> None:
        self.owner = owner
        self._turns = turns

    def wait(self, timeout: float | None = None) -> bool:
        """Whether the turn came within `timeout` seconds (None: wait for it)."""
        return self._turns._wait(self, timeout)

    @property
    def ahead(self) -> int:
        """How many are served before this one as things stand, the one being served included; 0 at its turn.

        It may grow by those who have not had a turn while this owner had.
        """
        return self._turns._ahead(self)

    def leave(self) -> None:
        """Give the place up, or end the turn; may be called more than once."""
        self._turns._leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
