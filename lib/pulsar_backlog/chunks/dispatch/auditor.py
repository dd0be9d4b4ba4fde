"""An auditor that knows only the promises of a subscription, and nothing of how a broker keeps them.

    an application gets no message whose entries were not all dispatched to its consumer since it connected
    nothing is acknowledged that was never dispatched, but by an administrator
    permits of a consumer are never negative
    what a consumer that left or gave back did not acknowledge waits for replay; of the last one, it is read again
    what is read and not acknowledged is with a consumer, was sent into the void, waits for replay or is on its way

It counts what clients acknowledge without delivering it: allowed, and a loss.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence


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
        self._through = -1
        self._out: dict[int, Hashable | None] = {}  # who has it
        self._owed: set[int] = set()

    def dispatched(self, at: int, *, connected: bool, to: Hashable | None = None) -> None:
        """The broker sent an entry, to a consumer that is there or into the void."""
        self._out[at] = to
        if connected:
            self._dispatched.add(at)

    def moved(self, mark_delete: int) -> None:
        """An administrator moved the cursor, or somebody acknowledged all up to an entry."""
        if mark_delete < self._through:
            self._acknowledged = {at for at in self._acknowledged if at <= mark_delete}
        self._through = mark_delete
        self._out = {at: holder for at, holder in self._out.items() if at > mark_delete}

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
            self._out.pop(at, None)

    def permits(self, consumer: str, permits: int) -> None:
        """The permits of a consumer after a dispatch."""
        if permits < 0:
            raise BrokenPromiseError(f"{consumer} has {permits} permits")

    @property
    def eaten(self) -> tuple[int, ...]:
        """Acknowledged and never delivered."""
        return tuple(sorted(self._acknowledged - self._delivered))

    def _open(self, entries: Iterable[int]) -> set[int]:
        return {at for at in entries if at > self._through and at not in self._acknowledged}

    def departed(self, consumer: Hashable, waiting: Collection[int] | None) -> None:
        """A consumer left: what it had waits for replay; None: it was the last, and all is read again."""
        pending = [at for at, holder in self._out.items() if holder is consumer]
        if waiting is None:
            self._owed.update(pending)
            waiting = pending
        self.given_back(pending, waiting)

    def given_back(self, entries: Iterable[int], waiting: Collection[int]) -> None:
        """Entries that a consumer had wait for replay."""
        entries = list(entries)
        for at in entries:
            self._out.pop(at, None)
        lost = self._open(entries) - set(waiting)
        if lost:
            raise BrokenPromiseError(f"entries {sorted(lost)} of a consumer that left or gave back are nowhere")

    def rewound(self, read_position: int) -> None:
        """The broker reads again from here."""
        lost = {at for at in self._open(self._owed) if at < read_position}
        if lost:
            raise BrokenPromiseError(f"entries {sorted(lost)} are not read again, though the last consumer left them")
        self._owed.clear()
        self._out.clear()

    def settled(self, read: Iterable[int], waiting: Collection[int]) -> None:
        """The end: entries that were read, and those that wait for replay or are on their way."""
        lost = self._open(read) - set(waiting) - self._out.keys() - self._owed
        if lost:
            raise BrokenPromiseError(f"entries {sorted(lost)} were read and are nowhere")
