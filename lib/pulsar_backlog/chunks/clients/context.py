"""A chunked message that a client is putting together."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.events import LogEntry


class Context:
    """The chunks of one uuid so far.

    Attributes:
        num_chunks: as chunk 0 says.
        total_bytes: as chunk 0 says; what the client sets aside.
        chunks: in order of their ids from 0, which is the order of arrival.
        stored_bytes: sum of their slices.
        touched_ms: when the expiry counts from: the first chunk (Java, Go) or the newest (C++).
    """

    __slots__ = ("chunks", "num_chunks", "stored_bytes", "total_bytes", "touched_ms")

    def __init__(self, head: LogEntry, now_ms: int) -> None:
        self.num_chunks = head.num_chunks or 0
        self.total_bytes = head.total_bytes
        self.chunks: list[LogEntry] = []
        self.stored_bytes = 0
        self.touched_ms = now_ms

    def holds(self, entry: LogEntry) -> bool:
        """Whether this very entry was taken before: it is a redelivery."""
        return entry in self.chunks

    def append(self, entry: LogEntry) -> None:
        """Take the next chunk."""
        self.chunks.append(entry)
        self.stored_bytes += entry.slice_bytes
