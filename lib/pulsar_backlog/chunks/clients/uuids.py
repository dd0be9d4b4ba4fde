"""Queues of uuids in which complete messages stay behind, without keeping all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Container

MAX_REMEMBERED = 65_536
"""Uuids of complete messages that are kept by name. Older ones still stand in the way, but nobody knows who they
were: that matters only for a uuid that is used again after so many others."""


class UuidQueue:
    """The Java client's queue of pending uuids, oldest first; only some of them are still open."""

    def __init__(self, live: Container[str]) -> None:
        self._live = live
        self._uuids: deque[str] = deque()
        self._nameless_ahead = False

    def push(self, uuid: str) -> None:
        """Add the newest."""
        self._uuids.append(uuid)
        if len(self._uuids) > MAX_REMEMBERED and self._uuids[0] not in self._live:
            self._uuids.popleft()
            self._nameless_ahead = True

    def head_if_live(self) -> str | None:
        """The oldest, if it is open; None where a closed one stands before all others, or there is none."""
        if self._nameless_ahead or not self._uuids:
            return None
        return self._uuids[0] if self._uuids[0] in self._live else None

    def pop_head(self) -> None:
        """Take the oldest away."""
        self._uuids.popleft()

    def pop_live(self) -> str | None:
        """Take away everything up to the oldest that is open, and return that; None where none is."""
        self._nameless_ahead = False
        while self._uuids:
            uuid = self._uuids.popleft()
            if uuid in self._live:
                return uuid
        return None
