"""The C++ client and what is built on it (Python, Node): profiles C-300, C-330, C-OLD and C-NEW.

    chunk                                 C-300, C-330, C-OLD                 C-NEW
    0, nothing open                       opens                               opens
    0, open with other entries            drops all, chunk 0 too              acks the old ones, opens anew
    0, open with this very entry          drops all, chunk 0 too              opens anew
    next                                  appends                             appends
    repeated, a new copy                  drops all                           acks the copy, goes on
    repeated, this very entry             drops all                           ignores it
    gap, or nothing open                  drops all, leaves the chunk         drops all; acks the chunk if older than E
    count of chunk 0 reached              delivers

The oldest context is evicted before a new one would be one too many. C-300 then acknowledges the incoming chunk
instead of the evicted ones (apache/pulsar-client-cpp#104), and never expires anything. The expiry counts from the
newest chunk, and looks once in E. More bytes than chunk 0 says are written past the end of the buffer. In C-300 and
C-330 the id of a chunked message knows its first and last chunk only, so that the application's acknowledgement
reaches the last one and leaves the others (#320).

Source: ConsumerImpl::processMessageChunk of apache/pulsar-client-cpp, 3.0, 4.0, and pull requests 321 and 587.
"""

from __future__ import annotations

from pulsar_backlog.chunks.clients.context import Context, Contexts, place_of
from pulsar_backlog.chunks.clients.events import NEVER, BrokenClientError, Inbox, LogEntry
from pulsar_backlog.chunks.clients.payloads import content_of, decompressed
from pulsar_backlog.chunks.clients.settings import ClientSettings
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages


class CppClient:
    """One consumer of the C++ client."""

    def __init__(self, settings: ClientSettings, inbox: Inbox) -> None:
        self._limit = settings.pending_limit
        self._auto_ack = settings.auto_ack
        self._acks_incoming = settings.profile == "C-300"
        self._acks_last_only = settings.profile in ("C-300", "C-330")
        self._expiry_ms = settings.expiry_ms
        self._expires = settings.expiry_ms > 0 and settings.profile != "C-300"
        self._new = settings.profile == "C-NEW"
        self._inbox = inbox
        self.contexts = Contexts()
        self._open = self.contexts.by_uuid
        self.next_timer_ms = NEVER

    def receive(self, entry: LogEntry, now_ms: int) -> None:
        """Take one dispatched entry."""
        if entry.checksum == "mismatch":
            self._inbox.acknowledge((entry,), "damaged")
        elif (entry.num_chunks or 0) <= 1:
            self._inbox.deliver((entry,), "right")
        elif entry.batched:
            self._inbox.deliver((entry,), "short")  # the slice, read as a batch
        else:
            self._receive_chunk(entry, entry.chunk_id or 0, now_ms)

    def pass_whole(self, messages: WholeMessages, now_ms: int) -> bool:
        """See `Client`; a client that acknowledges the last chunk only leaves holes behind."""
        full = self._limit is not None and len(self._open) >= self._limit
        if self._acks_last_only or full or not self.contexts.has_none_of(messages):
            return False
        self._start_timer(now_ms)
        self.contexts.pass_whole(messages)
        return True

    def _start_timer(self, now_ms: int) -> None:
        if self._expires and self.next_timer_ms == NEVER:
            self.next_timer_ms = now_ms + self._expiry_ms

    def _receive_chunk(self, entry: LogEntry, chunk_id: int, now_ms: int) -> None:
        self._start_timer(now_ms)
        context = self._open.get(entry.uuid)
        if chunk_id == 0:
            if context is not None and self._new:
                if not context.holds(entry):
                    self._inbox.acknowledge(context.chunks, "restarted")
                self.contexts.close(entry.uuid)
                context = None
            if context is None:
                context = self._begin(entry, now_ms)
        if context is None or chunk_id != len(context.chunks):
            self._unexpected(entry, chunk_id, context, now_ms)
            return
        context.append(entry)
        context.touched_ms = now_ms
        if context.stored_bytes > context.total_bytes:
            raise BrokenClientError(
                "process_death", entry, "more bytes than the first chunk says are written past the buffer"
            )
        if len(context.chunks) == context.num_chunks:
            self._complete(entry, context)

    def _begin(self, entry: LogEntry, now_ms: int) -> Context:
        while self._limit is not None and len(self._open) >= self._limit:
            self._evict(entry)
        return self.contexts.open(entry, now_ms)

    def _unexpected(self, entry: LogEntry, chunk_id: int, context: Context | None, now_ms: int) -> None:
        """A chunk that is not the next one."""
        if context is not None and self._new and chunk_id < len(context.chunks):
            if not context.holds(entry):
                self._inbox.acknowledge((entry,), "duplicate")
            return
        if context is not None:
            self.contexts.close(entry.uuid)
            self._inbox.leave(context.chunks, "given_up")
        if self._new and 0 < self._expiry_ms < now_ms - entry.publish_time_ms:
            self._inbox.acknowledge((entry,), "too_old")
            return
        self._inbox.leave((entry,), place_of(chunk_id, context), tracked=True)

    def _complete(self, entry: LogEntry, context: Context) -> None:
        outcome = decompressed("cpp", context.chunks)
        if outcome == "dies":
            raise BrokenClientError("process_death", entry, "the payload is larger than the metadata says")
        self.contexts.close(entry.uuid)
        if outcome == "refused":
            self._inbox.acknowledge((entry,), "undecodable")
            self._inbox.leave(context.chunks[:-1], "undecodable")
        else:
            content = content_of(context.chunks, outcome)
            self._inbox.deliver(context.chunks, content, acks_last_only=self._acks_last_only)
            if self._acks_last_only:
                self._inbox.leave(context.chunks[:-1], "delivered")

    def _evict(self, incoming: LogEntry) -> None:
        """Give up the oldest context."""
        context = self.contexts.close(next(iter(self._open)))
        if not self._auto_ack:
            self._inbox.leave(context.chunks, "evicted", tracked=True)
        elif self._acks_incoming:
            self._inbox.leave(context.chunks, "evicted")
            self._inbox.acknowledge((incoming,), "evicted")
        else:
            self._inbox.acknowledge(context.chunks, "evicted")

    def run_timers(self, now_ms: int) -> None:
        """The expiry task: once in E, from the first chunk on, oldest first, up to the first that is not due."""
        late_by = (now_ms - self.next_timer_ms) // self._expiry_ms
        if late_by < 0:
            return
        tick_ms = self.next_timer_ms + late_by * self._expiry_ms
        self.next_timer_ms = tick_ms + self._expiry_ms
        while self._open:
            uuid, context = next(iter(self._open.items()))
            if tick_ms <= context.touched_ms + self._expiry_ms:
                return
            self.contexts.close(uuid)
            self._inbox.acknowledge(context.chunks, "expired")
