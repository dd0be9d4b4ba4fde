"""Pulsar SQL (Trino): a reader that goes over a range of the log once and acknowledges nothing. Profile SQL.

    chunk                         what it does
    0, nothing open               opens
    next                          appends
    anything else                 drops what is open, and the chunk
    its own count reached         returns the message as a row
    damaged, or not to decompress the query fails

Source: PulsarRecordCursor.processChunkedMessages of apache/pulsar, pulsar-sql, 2.9.1 (#12720).
"""

from __future__ import annotations

from pulsar_backlog.chunks.clients.context import Context, Contexts
from pulsar_backlog.chunks.clients.events import NEVER, BrokenClientError, Inbox, LogEntry
from pulsar_backlog.chunks.clients.payloads import content_of, decompressed
from pulsar_backlog.chunks.clients.settings import ClientSettings
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages


class SqlReader:
    """One query over one topic partition."""

    next_timer_ms = NEVER

    def __init__(self, settings: ClientSettings, inbox: Inbox) -> None:
        self._inbox = inbox
        self.contexts = Contexts()
        self._open = self.contexts.by_uuid

    def receive(self, entry: LogEntry, now_ms: int) -> None:
        """Take the next entry of the range."""
        if (entry.num_chunks or 0) <= 1:
            self._inbox.deliver((entry,), "right")
            return
        chunk_id = entry.chunk_id or 0
        context = self._open.get(entry.uuid)
        if chunk_id == 0 and context is None:
            context = self.contexts.open(entry, now_ms)
        if context is None or chunk_id != len(context.chunks) or chunk_id >= (entry.num_chunks or 0):
            if context is not None:
                self.contexts.close(entry.uuid)
                self._inbox.leave(context.chunks, "given_up")
            self._inbox.leave((entry,), "headless" if context is None else "gap")
            return
        context.append(entry)
        if context.stored_bytes > context.total_bytes:
            raise BrokenClientError("query_failure", entry, "more bytes than the first chunk says")
        if chunk_id + 1 == entry.num_chunks:
            self._complete(entry, context)

    def pass_whole(self, messages: WholeMessages, now_ms: int) -> bool:
        """See `Client`."""
        if not self.contexts.has_none_of(messages):
            return False
        self.contexts.pass_whole(messages)
        return True

    def _complete(self, entry: LogEntry, context: Context) -> None:
        outcome = decompressed("sql", context.chunks)
        if outcome in ("throws", "refused"):
            raise BrokenClientError("query_failure", entry, "the payload does not decompress as the metadata says")
        self.contexts.close(entry.uuid)
        self._inbox.deliver(context.chunks, content_of(context.chunks, outcome))

    def run_timers(self, now_ms: int) -> None:
        """There are none."""
