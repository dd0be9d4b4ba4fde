"""Virtual time: events in order, delays from a seed, links that keep the order of frames."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Mapping
from itertools import count
from typing import Literal

Part = Literal["broker", "network", "application"]

PACES_MS = (1.0, 25.0, 0.3, 9.0, 40.0, 3.0, 16.0)
"""Mean delay of a read or a frame: quiet and busy machines. One seed has one of them."""

UNEVEN_SEED = 700
"""From this seed on broker, network and applications each have a pace of their own, which shows what is rare."""
UNEVEN: Mapping[Part, tuple[float, ...]] = {
    "broker": (0.1, 1.0, 10.0), "network": (0.2, 1.0, 5.0), "application": (0.2, 1.0, 5.0),
}  # fmt: skip

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
        mean_ms = PACES_MS[seed % len(PACES_MS)]
        uneven = seed >= UNEVEN_SEED
        self._mean_ms = {part: mean_ms * (self.random.choice(paces) if uneven else 1) for part, paces in UNEVEN.items()}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def after(self, ms: float, action: Callable[[], None]) -> None:
        """Run an action later."""
        heapq.heappush(self._events, (self.now_ms + ms, next(self._order), action))

    def soon(self, action: Callable[[], None], scale: float = 1.0, part: Part = "broker") -> None:
        """Run an action after a short delay that nobody knows."""
        self.after(self.delay_ms(scale, part), action)

    def delay_ms(self, scale: float = 1.0, part: Part = "broker") -> float:
        """A short delay of one of the parts: mostly below the mean, now and then much longer."""
        return min(self.random.expovariate(1.0) * self._mean_ms[part] * scale, MAX_DELAY_MS)

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
        self._last_ms = max(self._last_ms, self._clock.now_ms + self._clock.delay_ms(0.15, "network"))
        self._clock.after(self._last_ms - self._clock.now_ms, lambda: action() if self.up else None)
