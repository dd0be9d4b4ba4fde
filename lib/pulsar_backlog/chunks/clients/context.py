"""Chunked messages that a client is putting together."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.events import HoleReason, LogEntry
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages


class Context:
    """The chunks of one uuid so far.

    Attributes:
        num_chunks: as chunk 0 says.
        total_bytes: as chunk 0 says; what the client sets aside.
        chunks: in order of their ids from 0, which is the order of arrival.
        stored_bytes: sum of their slices.
        touched_ms: when the expiry counts from: the first chunk (Java, Go) or the newest (C++).
        overflow: the chunk that did not fit, where the client noted its id and not its bytes (Java).
    """

    __slots__ = ("chunks", "num_chunks", "overflow", "stored_bytes", "total_bytes", "touched_ms")

    def __init__(self, head: LogEntry, now_ms: int) -> None:
        self.num_chunks = head.num_chunks or 0
        self.total_bytes = head.total_bytes
        self.chunks: list[LogEntry] = []
        self.stored_bytes = 0
        self.touched_ms = now_ms
        self.overflow: LogEntry | None = None

    @property
    def log_entries(self) -> list[LogEntry]:
        """All whose ids are noted: what the client acknowledges when it ends the message itself."""
        return self.chunks if self.overflow is None else [*self.chunks, self.overflow]

    def holds(self, entry: LogEntry) -> bool:
        """Whether this very entry was taken before: it is a redelivery."""
        return entry in self.chunks or entry == self.overflow

    def append(self, entry: LogEntry) -> None:
        """Take the next chunk."""
        self.chunks.append(entry)
        self.stored_bytes += entry.slice_bytes


class Contexts:
    """All that one client has open, by uuid, in order of their beginning.

    Attributes:
        by_uuid: the open ones.
        buffered_bytes: what they claim together.
        peak_open: most that were open at one time.
        peak_buffered_bytes: most they claimed at one time.
    """

    __slots__ = ("buffered_bytes", "by_uuid", "peak_buffered_bytes", "peak_open")

    def __init__(self) -> None:
        self.by_uuid: dict[str, Context] = {}
        self.buffered_bytes = 0
        self.peak_open = 0
        self.peak_buffered_bytes = 0

    def open(self, head: LogEntry, now_ms: int) -> Context:
        """Begin a message under a uuid that is not open; nothing is taken yet."""
        context = self.by_uuid[head.uuid] = Context(head, now_ms)
        self.buffered_bytes += head.total_bytes
        self.peak_buffered_bytes = max(self.peak_buffered_bytes, self.buffered_bytes)
        self.peak_open = max(self.peak_open, len(self.by_uuid))
        return context

    def pass_whole(self, messages: WholeMessages) -> None:
        """Each was opened and closed, with no other opened in between."""
        self.peak_buffered_bytes = max(self.peak_buffered_bytes, self.buffered_bytes + messages.largest_bytes)
        self.peak_open = max(self.peak_open, len(self.by_uuid) + 1)

    def has_none_of(self, messages: WholeMessages) -> bool:
        """Whether no uuid of theirs is open."""
        return not self.by_uuid or self.by_uuid.keys().isdisjoint(messages.uuids)

    def keep_peaks(self, earlier: Contexts) -> None:
        """Go on from the peaks of an earlier client."""
        self.peak_open = max(self.peak_open, earlier.peak_open)
        self.peak_buffered_bytes = max(self.peak_buffered_bytes, earlier.peak_buffered_bytes)

    def close(self, uuid: str) -> Context:
        """End a message, complete or not."""
        context = self.by_uuid.pop(uuid)
        self.buffered_bytes -= context.total_bytes
        return context


def place_of(chunk_id: int, context: Context | None) -> HoleReason:
    """Why a chunk is not the next one of its context."""
    if context is None:
        return "headless"
    return "gap" if chunk_id > len(context.chunks) else "out_of_place"
