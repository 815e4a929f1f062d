"""How often somebody may do something: so many times in the last so many seconds."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from rag.errors import Busy

MOST_NAMES = 10_000


class TooMany(Busy):
    """Somebody asks more often than they may; `wait` says after how many seconds they may again."""

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


class Limit:
    """At most `times` in `seconds` for each name; 0 times is no limit. Safe to use from several threads."""

    def __init__(self, times: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.times = times
        self._seconds = seconds
        self._clock = clock
        self._when: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str) -> int:
        """Seconds until `name` may again; 0 when they may now. Counts nothing."""
        with self._lock:
            return self._wait(name)

    def take(self, name: str) -> int:
        """Count one for `name` and give 0, or, where they may not, give the seconds they have to wait."""
        with self._lock:
            wait = self._wait(name)
            if not wait and self.times:
                self._when.setdefault(name, deque()).append(self._clock())
                self._when.move_to_end(name)
                # Names are made up by whoever tries; those not heard of for longest are forgotten first.
                while len(self._when) > MOST_NAMES:
                    self._when.popitem(last=False)
            return wait

    def _wait(self, name: str) -> int:
        when = self._when.get(name)
        if not self.times or not when:
            return 0
        now = self._clock()
        while when and when[0] <= now - self._seconds:
            when.popleft()
        if len(when) < self.times:
            return 0
        return max(1, math.ceil(when[0] + self._seconds - now))


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, or the /64 that one IPv6 customer has."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)
