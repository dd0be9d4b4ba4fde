"""Virtual time: events in order, delays from a seed, links that keep the order of frames."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import count

PACES_MS = (1.0, 25.0, 0.3, 9.0, 40.0, 3.0, 16.0)
"""Mean delay of a read or a frame: quiet and busy machines. One seed has one of them."""

MAX_DELAY_MS = 150.0
"""No delay is longer: settings wait longer than that between their steps."""


class Clock:
    """Events of one play.

    Attributes:
        now_ms: virtual time.
        random: the only source of chance.
        last_frame_ms: when a frame was last on the wire.
        steps: events run so far.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a play, not a secret
        self.now_ms = 0.0
        self.last_frame_ms = 0.0
        self.steps = 0
        self._mean_ms = PACES_MS[seed % len(PACES_MS)]
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def after(self, ms: float, action: Callable[[], None]) -> None:
        """Run an action later."""
        heapq.heappush(self._events, (self.now_ms + ms, next(self._order), action))

    def soon(self, action: Callable[[], None], scale: float = 1.0) -> None:
        """Run an action after a short delay that nobody knows."""
        self.after(self.delay_ms(scale), action)

    def delay_ms(self, scale: float = 1.0) -> float:
        """A short delay: mostly below the mean, now and then much longer."""
        return min(self.random.expovariate(1.0) * self._mean_ms * scale, MAX_DELAY_MS)

    def run_until_quiet(self, quiet_ms: float, most_ms: float) -> None:
        """Run until no frame was on the wire for so long."""
        began, self.last_frame_ms = self.now_ms, max(self.now_ms, self.last_frame_ms)
        while self.now_ms < began + most_ms:
            end = min(self.last_frame_ms + quiet_ms, began + most_ms)
            if not self._events or self._events[0][0] > end:
                self.now_ms = end
                return
            self._run_next()

    def run_for(self, ms: float) -> None:
        """Run so long."""
        end = self.now_ms + ms
        while self._events and self._events[0][0] <= end:
            self._run_next()
        self.now_ms = end

    def _run_next(self) -> None:
        self.now_ms, _order, action = heapq.heappop(self._events)
        self.steps += 1
        action()


class Link:
    """One direction of a connection: frames arrive in order, or not at all once it is down."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_ms = 0.0
        self.up = True

    def send(self, action: Callable[[], None]) -> None:
        """A frame: the action is what its arrival does."""
        self._clock.last_frame_ms = self._clock.now_ms
        self._last_ms = max(self._last_ms, self._clock.now_ms + self._clock.delay_ms(0.15))
        self._clock.after(self._last_ms - self._clock.now_ms, lambda: action() if self.up else None)
