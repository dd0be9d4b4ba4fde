"""A cursor of a topic in which entries are counted from 0: what is acknowledged, and what is read next."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.events import LogEntry


class Topic:
    """The entries of one topic, and the cursor of its subscription.

    Attributes:
        entries: in order of storing.
        labels: their messages.
        hashes: their sticky key hashes.
        mark_delete: last entry before which, itself included, all is acknowledged; -1 when nothing is.
        read_position: next entry of a normal read.
        read_batch: what one read takes at most.
    """

    def __init__(self, read_batch: int) -> None:
        self.read_batch = read_batch
        self.entries: list[LogEntry] = []
        self.labels: list[str] = []
        self.hashes: list[int] = []
        self.mark_delete = -1
        self.read_position = 0
        self._acked: set[int] = set()

    def is_acknowledged(self, at: int) -> bool:
        """Whether an entry is acknowledged."""
        return at <= self.mark_delete or at in self._acked

    def acknowledge(self, at: int) -> None:
        """One entry."""
        if at > self.mark_delete:
            self._acked.add(at)
            self._advance()

    def acknowledge_through(self, at: int) -> None:
        """All up to an entry."""
        if at > self.mark_delete:
            self.mark_delete = at
            self._acked = {other for other in self._acked if other > at}
            self._advance()
            self.read_position = max(self.read_position, self.mark_delete + 1)

    def _advance(self) -> None:
        while self.mark_delete + 1 in self._acked:
            self.mark_delete += 1
            self._acked.discard(self.mark_delete)

    def skip(self, count: int) -> None:
        """Acknowledge the first so many unacknowledged entries."""
        last = self.mark_delete
        for at in range(self.mark_delete + 1, len(self.entries)):
            if count == 0:
                break
            if not self.is_acknowledged(at):
                count -= 1
                last = at
        self.acknowledge_through(last)

    def reset(self, at: int) -> None:
        """Begin again at an entry."""
        self.mark_delete = at - 1
        self._acked.clear()
        self._rewind()

    def _rewind(self) -> None:
        self.read_position = self.mark_delete + 1

    def rewind(self) -> None:
        """Read from the first unacknowledged entry again."""
        self._rewind()

    def read(self, most: int) -> list[int]:
        """The next unacknowledged entries."""
        batch: list[int] = []
        while len(batch) < most and self.read_position < len(self.entries):
            if not self.is_acknowledged(self.read_position):
                batch.append(self.read_position)
            self.read_position += 1
        return batch

    def deleted_ranges(self) -> tuple[tuple[int, int], ...]:
        """Acknowledged ranges beyond the mark-delete position: before the first, and the last."""
        ranges: list[tuple[int, int]] = []
        for at in sorted(self._acked):
            if ranges and ranges[-1][1] == at - 1:
                ranges[-1] = (ranges[-1][0], at)
            else:
                ranges.append((at - 1, at))
        return tuple(ranges)

    @property
    def backlog(self) -> int:
        """Entries that are not acknowledged."""
        return len(self.entries) - 1 - self.mark_delete - len(self._acked)
