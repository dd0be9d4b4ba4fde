"""Which ledgers a topic has, and up to which entry, found by readers: no admin address tells the ledgers of segments.

A reader that is placed behind an entry is sent the next one that consumers get. So the first entry of each ledger is
found by placing a reader behind the last one of the ledger before, and the last one by halving. Entries of aborted
transactions at the end of a ledger, and what stands behind an open transaction, are not found: no reader gets them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection
from pulsar_backlog.protocol.reader import Reader
from pulsar_backlog.terms import Position

MAX_READERS = 4096
"""For one topic: about two hundred ledgers."""
QUIET_SECONDS = 2.0
"""So long nothing comes where something could, nothing more is expected."""
_FIRST_STEP = 64
_BEGIN = (-1, -1)


@dataclass(frozen=True)
class Extent:
    """A ledger, and how many entries it has up to the last one that a reader gets."""

    ledger_id: int
    entries: int


def extents_of(connect: Callable[[], Connection], topic: str) -> tuple[Extent, ...]:
    """The ledgers of a topic in their order; none where no reader gets anything.

    Args:
        connect: a connection to the broker that serves it.
        topic: full name; it is never made.

    Raises:
        ClientError: the broker does not let it read, or there are more ledgers than are looked for.
    """
    return tuple(_Search(connect, topic).ledgers())


class _Search:
    def __init__(self, connect: Callable[[], Connection], topic: str) -> None:
        self._connect, self._topic, self._readers = connect, topic, 0
        self._end: Position = _BEGIN

    def ledgers(self) -> list[Extent]:
        self._end = self._last()
        at, found = self._next(_BEGIN), list[Extent]()
        while at is not None:
            last, at = self._end_of(at)
            found.append(Extent(last[0], last[1] + 1))
        return found

    def _end_of(self, first: Position) -> tuple[Position, Position | None]:
        """The last entry of a ledger whose first one is given, and the first one of the next."""
        if first[0] >= self._end[0]:
            return max(first, self._end), None
        inside, behind, step, following = first, None, _FIRST_STEP, None
        while behind is None:
            at = self._next((first[0], inside[1] + step))
            if at is not None and at[0] == first[0]:
                inside, step = at, step * 4
            else:
                behind, following = inside[1] + step, at
        while inside[1] < behind:
            middle = (inside[1] + behind) // 2
            at = self._next((first[0], middle))
            if at is not None and at[0] == first[0]:
                inside = at
            else:
                behind, following = middle, at
        return inside, following

    def _last(self) -> Position:
        with closing(self._connect()) as connection:
            return Reader(connection, self._topic, _BEGIN, 1).last()

    def _next(self, after: Position) -> Position | None:
        """The first entry behind a position that a reader gets; None behind the last one."""
        if after >= self._end:
            return None
        self._readers += 1
        if self._readers > MAX_READERS:
            raise ClientError(self._topic, "failed", f"it has more ledgers than {MAX_READERS} readers can find")
        with closing(self._connect()) as connection:
            # It may be sent the entry itself, too: a client would skip the messages of its batch that it has.
            reader = Reader(connection, self._topic, after, 2)
            while got := reader.positions_within(QUIET_SECONDS):
                if max(got) > after:
                    return min(one for one in got if one > after)
        return None
