"""A cursor that remembers everything: for one log at hand, in a REPL or a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pulsar_backlog.chunks.clients.events import AckReason, Content, HoleReason, LogEntry
from pulsar_backlog.terms import Position


@dataclass(frozen=True)
class Delivery:
    """One message as the application got it.

    Attributes:
        positions: the entries it was made of.
        content: whether it is what was sent.
    """

    positions: tuple[Position, ...]
    content: Content


class Journal:
    """Everything that happened on a subscription.

    Attributes:
        deliveries: in order.
        acknowledged: position -> why, or `delivered`.
        holes: position -> why the client left it; overridden by a later acknowledgement.
        permits_kept: entries whose permits the client kept.
        is_doubtful: whether what happened last depends on what nobody knows of the broker.
    """

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.acknowledged: dict[Position, AckReason | str] = {}
        self.holes: dict[Position, HoleReason | str] = {}
        self.permits_kept: list[Position] = []
        self.is_doubtful = False
        self._dispatched: dict[Position, LogEntry] = {}

    @property
    def acknowledgements(self) -> int:
        """How many entries are acknowledged."""
        return len(self.acknowledged)

    def dispatch(self, entry: LogEntry) -> None:
        """See `Cursor`."""
        self._dispatched[entry.position] = entry
        self.holes[entry.position] = "dispatched"

    def block(self, entry: LogEntry) -> None:
        """See `Cursor`."""
        self.holes[entry.position] = "blocked"

    def unacknowledged(self) -> list[LogEntry]:
        """See `Cursor`."""
        return [self._dispatched[at] for at in sorted(self._dispatched)]

    def is_unacknowledged(self, entry: LogEntry) -> bool:
        """See `Cursor`."""
        return entry.position in self._dispatched

    def deliver(self, entries: Sequence[LogEntry], content: Content, *, acks_last_only: bool = False) -> None:
        """See `Inbox`."""
        self.deliveries.append(Delivery(tuple(entry.position for entry in entries), content))
        self._close(entries[-1:] if acks_last_only else entries, "delivered")

    def acknowledge(self, entries: Sequence[LogEntry], reason: AckReason) -> None:
        """See `Inbox`."""
        self._close(entries, reason)

    def leave(self, entries: Sequence[LogEntry], reason: HoleReason, *, tracked: bool = False) -> None:
        """See `Inbox`."""
        for entry in entries:
            if entry.position in self._dispatched:
                self.holes[entry.position] = reason

    def keep_permit(self, entry: LogEntry) -> None:
        """See `Inbox`."""
        self.permits_kept.append(entry.position)

    def doubt(self) -> None:
        """See `Cursor`."""
        self.is_doubtful = True

    def _close(self, entries: Sequence[LogEntry], reason: str) -> None:
        for entry in entries:
            self.acknowledged.setdefault(entry.position, reason)
            self.holes.pop(entry.position, None)
            self._dispatched.pop(entry.position, None)
