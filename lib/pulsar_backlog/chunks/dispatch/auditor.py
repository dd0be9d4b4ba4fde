"""An auditor that knows only the promises of a subscription, and nothing of how a broker keeps them.

    an application gets no message whose entries were not all dispatched to its consumer since it connected
    nothing is acknowledged that was never dispatched, but by an administrator
    permits of a consumer are never negative
    what a consumer that left did not acknowledge comes again, is pinned, waits for replay, or was sent into the void

It counts what clients acknowledge without delivering it: allowed, and a loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class BrokenPromiseError(Exception):
    """A promise that the play broke."""


class Auditor:
    """Watches one play.

    Attributes:
        eaten: entries acknowledged though no message of theirs was delivered to anyone.
    """

    def __init__(self) -> None:
        self._dispatched: set[int] = set()
        self._delivered: set[int] = set()
        self._acknowledged: set[int] = set()

    def dispatched(self, at: int, *, connected: bool) -> None:
        """The broker sent an entry, to a consumer that is there or into the void."""
        if connected:
            self._dispatched.add(at)

    def reset(self, first: int) -> None:
        """An administrator moved the cursor back."""
        self._acknowledged = {at for at in self._acknowledged if at < first}

    def delivered(self, consumer: str, entries: Iterable[int]) -> None:
        """An application got a message."""
        for at in entries:
            if at not in self._dispatched:
                raise BrokenPromiseError(f"{consumer} delivered entry {at}, which was never dispatched")
            self._delivered.add(at)

    def acknowledged(self, consumer: str, entries: Sequence[int]) -> None:
        """A client acknowledged entries."""
        for at in entries:
            if at not in self._dispatched:
                raise BrokenPromiseError(f"{consumer} acknowledged entry {at}, which was never dispatched")
            self._acknowledged.add(at)

    def permits(self, consumer: str, permits: int) -> None:
        """The permits of a consumer after a dispatch."""
        if permits < 0:
            raise BrokenPromiseError(f"{consumer} has {permits} permits")

    @property
    def eaten(self) -> tuple[int, ...]:
        """Acknowledged and never delivered."""
        return tuple(sorted(self._acknowledged - self._delivered))

    def departed(self, pending: Iterable[int], accounted: Iterable[int]) -> None:
        """Consumers are gone: all that they had must be accounted for."""
        lost = set(pending) - set(accounted) - self._acknowledged
        if lost:
            raise BrokenPromiseError(f"entries {sorted(lost)} of consumers that left are nowhere")
