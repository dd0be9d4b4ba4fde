"""The Java client: profiles J-OLD and J-NEW.

    chunk                                 J-OLD                               J-NEW
    0, nothing open                       opens                               opens
    0, open with other entries            drops all, chunk 0 too              acks the old ones, opens anew
    0, open with this very entry          drops all, chunk 0 too              opens anew
    next                                  appends                             appends
    repeated, a new copy                  drops all                           acks the copy, goes on
    repeated, this very entry             drops all                           ignores it
    gap, or nothing open                  drops all; acks the chunk if it is older than E
    its own count reached                 delivers, with the chunks so far

The number of pending messages is a counter that goes up with every chunk 0 and does not come down where a context is
dropped or begun anew, so that messages are evicted too early in time (apache/pulsar#26688). Uuids of complete messages
stay in the queue and keep what comes after them from expiring (#26676). A dropped last chunk keeps its permit in J-NEW
(#26675). An exception on the way closes the connection, and everything comes again. The id of a chunk that does not
fit is noted before that, so it is acknowledged with the others when the message is evicted, expires or begins anew.

Source: ConsumerImpl.messageReceived and processMessageChunk of apache/pulsar, 4.0 and 2.10.
"""

from __future__ import annotations

from pulsar_backlog.chunks.clients.context import Context, Contexts
from pulsar_backlog.chunks.clients.events import NEVER, BrokenClientError, Inbox, LogEntry
from pulsar_backlog.chunks.clients.payloads import content_of, decompressed
from pulsar_backlog.chunks.clients.settings import ClientSettings
from pulsar_backlog.chunks.clients.uuids import UuidQueue
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages


class JavaClient:
    """One consumer of the Java client."""

    def __init__(self, settings: ClientSettings, inbox: Inbox) -> None:
        self._limit = settings.pending_limit
        self._auto_ack = settings.auto_ack
        self._expiry_ms = settings.expiry_ms
        self._old = settings.profile == "J-OLD"
        self._inbox = inbox
        self.contexts = Contexts()
        self._open = self.contexts.by_uuid
        self._queue = UuidQueue(self._open)
        self._counter = 0
        self.next_timer_ms = NEVER

    def receive(self, entry: LogEntry, now_ms: int) -> None:
        """Take one dispatched entry."""
        if entry.checksum == "mismatch":
            self._inbox.acknowledge((entry,), "damaged")
        elif (entry.num_chunks or 0) <= 1:
            self._inbox.deliver((entry,), "right")
        elif entry.batched:
            raise BrokenClientError("reconnect_loop", entry, "a slice is read as a batch and is none")
        elif entry.chunk_id is None or not entry.uuid:
            raise BrokenClientError("reconnect_loop", entry, "a chunk without id or uuid")
        else:
            self._start_timer(now_ms)
            context = self._open.get(entry.uuid)
            if entry.chunk_id == 0:
                context = self._begin_old(entry, context, now_ms) if self._old else self._begin(entry, context, now_ms)
            if context is None or entry.chunk_id != len(context.chunks):
                self._unexpected(entry, entry.chunk_id, context, now_ms)
            else:
                self._append(entry, entry.chunk_id, context)

    def pass_whole(self, messages: WholeMessages, now_ms: int) -> bool:
        """See `Client`: each goes through the counter and stays in the queue."""
        if not self.contexts.has_none_of(messages) or (self._limit is not None and self._counter >= self._limit):
            return False
        self._start_timer(now_ms)
        self.contexts.pass_whole(messages)
        for uuid in messages.uuids:
            self._queue.push(uuid)
        return True

    def _start_timer(self, now_ms: int) -> None:
        if self.next_timer_ms == NEVER and self._expiry_ms > 0:
            self.next_timer_ms = now_ms + self._expiry_ms

    def _append(self, entry: LogEntry, chunk_id: int, context: Context) -> None:
        """The next chunk of its context."""
        if chunk_id >= context.num_chunks:
            raise BrokenClientError("reconnect_loop", entry, "more chunks than the first one says")
        if context.stored_bytes + entry.slice_bytes > context.total_bytes:
            context.overflow = entry  # its id is noted before its bytes are written
            raise BrokenClientError("reconnect_loop", entry, "more bytes than the first chunk says")
        context.append(entry)
        if chunk_id + 1 == entry.num_chunks:
            self._complete(entry, context)

    def _begin(self, entry: LogEntry, context: Context | None, now_ms: int) -> Context:
        """J-NEW: a new chunk 0 replaces what was there, and may push out the oldest."""
        if context is not None:
            if not context.holds(entry):
                self._inbox.acknowledge(context.log_entries, "restarted")
            self.contexts.close(entry.uuid)
        self._counter += 1
        if self._limit is not None and self._counter > self._limit:
            self._evict()
        self._queue.push(entry.uuid)
        return self.contexts.open(entry, now_ms)

    def _begin_old(self, entry: LogEntry, context: Context | None, now_ms: int) -> Context | None:
        """J-OLD: chunk 0 of what is open already does not fit, and eviction comes after the opening."""
        if context is None:
            self.contexts.open(entry, now_ms)
        self._counter += 1
        if self._limit is not None and self._counter > self._limit:
            self._evict()
        self._queue.push(entry.uuid)
        return self._open.get(entry.uuid)

    def _unexpected(self, entry: LogEntry, chunk_id: int, context: Context | None, now_ms: int) -> None:
        """A chunk that is not the next one."""
        if not self._old and chunk_id + 1 == entry.num_chunks:
            self._inbox.keep_permit(entry)
        if context is not None:
            if not self._old and chunk_id < len(context.chunks):
                if not context.holds(entry):
                    self._inbox.acknowledge((entry,), "duplicate")
                return
            self.contexts.close(entry.uuid)
            self._inbox.leave(context.chunks, "given_up")
        if 0 < self._expiry_ms < now_ms - entry.publish_time_ms:
            self._inbox.acknowledge((entry,), "too_old")
        else:
            self._inbox.leave((entry,), "headless" if context is None else "gap", tracked=True)

    def _complete(self, entry: LogEntry, context: Context) -> None:
        outcome = decompressed("java", context.chunks)
        if outcome == "throws":
            raise BrokenClientError("reconnect_loop", entry, "the payload does not decompress as the metadata says")
        if outcome == "refused":
            self._inbox.acknowledge((entry,), "undecodable")
            return  # the context stays until it is evicted, expires, is dropped or begins anew
        self.contexts.close(entry.uuid)
        if context.num_chunks > len(context.chunks):
            raise BrokenClientError("reconnect_loop", entry, "fewer chunks than the first one says")
        self._counter -= 1
        self._inbox.deliver(context.chunks, content_of(context.chunks, outcome))

    def _evict(self) -> None:
        """Give up the oldest context; if there is none, only the queue gets shorter."""
        uuid = self._queue.pop_live()
        if uuid is None:
            return
        context = self.contexts.close(uuid)
        self._counter -= 1
        if self._auto_ack:
            self._inbox.acknowledge(context.log_entries, "evicted")
        else:
            self._inbox.leave(context.log_entries, "evicted", tracked=True)

    def run_timers(self, now_ms: int) -> None:
        """The expiry task: once in E, from the first chunk on, and only as far as the head of the queue is open."""
        late_by = (now_ms - self.next_timer_ms) // self._expiry_ms
        if late_by >= 0:
            self._expire(self.next_timer_ms + late_by * self._expiry_ms)
            self.next_timer_ms += (late_by + 1) * self._expiry_ms

    def _expire(self, now_ms: int) -> None:
        while (uuid := self._queue.head_if_live()) is not None:
            context = self._open[uuid]
            if now_ms <= context.touched_ms + self._expiry_ms:
                return
            self._queue.pop_head()
            self.contexts.close(uuid)
            self._counter -= 1
            self._inbox.acknowledge(context.log_entries, "expired")
