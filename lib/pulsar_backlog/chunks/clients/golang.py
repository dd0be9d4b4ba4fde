"""The Go client: profiles G-OLD and G-NEW.

    chunk                                 G-OLD                               G-NEW
    0, nothing open                       opens                               opens
    0, open with other entries            drops all, chunk 0 too              acks the old ones, opens anew
    0, open with this very entry          drops all, chunk 0 too              opens anew
    next                                  appends                             appends
    repeated, a new copy                  drops all                           acks the copy, goes on
    repeated, this very entry             drops all                           ignores it
    gap, or nothing open                  drops all, leaves the chunk         drops all; acks the chunk with auto-ack
    its own count reached                 delivers

Eviction takes the context at the head of the queue but leaves its uuid there, so that nothing more is evicted while it
stands there: in G-OLD until a chunk of it comes, in G-NEW until it was begun again and is whole, dropped or expired.
Every context has a timer of its own that finds it by uuid and so may hit a later one. A dropped last chunk keeps its
permit in G-NEW. Entries without a checksum are refused. Batch counts on chunks are not seen until the whole is read. A
negative total size panics.

Source: partitionConsumer.MessageReceived, processMessageChunk and chunkedMsgCtxMap of apache/pulsar-client-go, 0.14;
pull request 1464 (0.19).
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from pulsar_backlog.chunks.clients.context import Context, Contexts, place_of
from pulsar_backlog.chunks.clients.events import NEVER, BrokenClientError, Inbox, LogEntry
from pulsar_backlog.chunks.clients.payloads import content_of, decompressed
from pulsar_backlog.chunks.clients.settings import ClientSettings
from pulsar_backlog.chunks.clients.uuids import MAX_REMEMBERED
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages


class GoClient:
    """One consumer of the Go client."""

    def __init__(self, settings: ClientSettings, inbox: Inbox) -> None:
        self._limit = settings.pending_limit
        self._auto_ack = settings.auto_ack
        self._expiry_ms = settings.expiry_ms
        self._old = settings.profile == "G-OLD"
        self._inbox = inbox
        self.contexts = Contexts()
        self._open = self.contexts.by_uuid
        self._queue: deque[str] = deque()  # an evicted uuid stays, and may be there twice
        self._timers: deque[tuple[int, str]] = deque()

    @property
    def next_timer_ms(self) -> int:
        """When the first of the contexts' timers is due."""
        return self._timers[0][0] if self._timers else NEVER

    def receive(self, entry: LogEntry, now_ms: int) -> None:
        """Take one dispatched entry."""
        if entry.checksum != "valid":
            self._inbox.acknowledge((entry,), "damaged")
        elif (entry.num_chunks or 0) <= 1:
            self._inbox.deliver((entry,), "right")
        elif entry.chunk_id:
            self._append(entry, entry.chunk_id, self._open.get(entry.uuid))
        else:
            self._receive_first(entry, now_ms)

    def pass_whole(self, messages: WholeMessages, now_ms: int) -> bool:
        """See `Client`: each goes through the queue and leaves its timer."""
        if not self.contexts.has_none_of(messages) or not set(self._queue).isdisjoint(messages.uuids):
            return False
        if self._limit is not None and len(self._queue) >= self._limit:
            return False
        self.contexts.pass_whole(messages)
        for uuid in messages.uuids:
            self._add_timer(uuid, now_ms)
        return True

    def _add_timer(self, uuid: str, now_ms: int) -> None:
        self._timers.append((now_ms + self._expiry_ms, uuid))
        if len(self._timers) > MAX_REMEMBERED and self._timers[0][1] not in self._open:
            self._timers.popleft()

    def _receive_first(self, entry: LogEntry, now_ms: int) -> None:
        """Chunk 0; what is one too many by then goes when it was taken, for a goroutine of its own evicts."""
        context = self._open.get(entry.uuid)
        if context is not None and not self._old:
            if not context.holds(entry):
                self._inbox.acknowledge(context.chunks, "restarted")
            self._forget(entry.uuid)
            context = None
        if context is None:
            context = self._begin(entry, now_ms)
        too_many = self._limit is not None and len(self._queue) > self._limit
        self._append(entry, 0, context)
        if too_many:
            self._evict()

    def _append(self, entry: LogEntry, chunk_id: int, context: Context | None) -> None:
        """A chunk, if it is the next one of its context."""
        if context is None or chunk_id != len(context.chunks):
            self._unexpected(entry, chunk_id, context)
            return
        if chunk_id >= context.num_chunks:
            raise BrokenClientError("panic", entry, "more chunks than the first one says")
        context.append(entry)
        if chunk_id + 1 == entry.num_chunks:
            self._complete(entry, context)

    def _begin(self, entry: LogEntry, now_ms: int) -> Context:
        if entry.total_bytes < 0:
            raise BrokenClientError("panic", entry, "no buffer has a negative size")
        context = self.contexts.open(entry, now_ms)
        self._queue.append(entry.uuid)
        self._add_timer(entry.uuid, now_ms)
        return context

    def _forget(self, uuid: str) -> None:
        if uuid in self._open:
            self.contexts.close(uuid)
        with suppress(ValueError):
            self._queue.remove(uuid)

    def _unexpected(self, entry: LogEntry, chunk_id: int, context: Context | None) -> None:
        """A chunk that is not the next one."""
        if not self._old and chunk_id + 1 == entry.num_chunks:
            self._inbox.keep_permit(entry)
        if context is not None and not self._old and chunk_id < len(context.chunks):
            if not context.holds(entry):
                self._inbox.acknowledge((entry,), "duplicate")
            return
        if self._old or context is not None:
            self._forget(entry.uuid)
        if context is not None:
            self._inbox.leave(context.chunks, "given_up")
        if self._auto_ack and not self._old:
            self._inbox.acknowledge((entry,), "headless" if context is None else "incomplete")
        else:
            self._inbox.leave((entry,), place_of(chunk_id, context))

    def _complete(self, entry: LogEntry, context: Context) -> None:
        outcome = decompressed("go", context.chunks)
        if outcome == "refused" or entry.batched:
            self._inbox.acknowledge((entry,), "undecodable")
            return  # the context stays until its timer
        if context.num_chunks > len(context.chunks):
            raise BrokenClientError("panic", entry, "fewer chunks than the first one says")
        self._forget(entry.uuid)
        self._inbox.deliver(context.chunks, content_of(context.chunks, outcome))

    def _evict(self) -> None:
        """Give up the context at the head of the queue, if it has one, and leave its uuid there."""
        if self._queue[0] not in self._open:
            return
        context = self.contexts.close(self._queue[0])
        if self._auto_ack:
            self._inbox.acknowledge(context.chunks, "evicted")
        else:
            self._inbox.leave(context.chunks, "evicted")

    def run_timers(self, now_ms: int) -> None:
        """Every context's own timer: it acknowledges whatever is open under the uuid by then."""
        while self._timers and self._timers[0][0] <= now_ms:
            _due, uuid = self._timers.popleft()
            context = self._open.get(uuid)
            if context is not None:
                self._forget(uuid)
                self._inbox.acknowledge(context.chunks, "expired")
