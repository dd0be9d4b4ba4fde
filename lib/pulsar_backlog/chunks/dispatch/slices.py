"""A client that reads no `chunk_id`: each chunk comes to its application as a message, which is a slice of the payload.

Rust's crate `pulsar` is one. An application that acknowledges what it gets acknowledges slices.

Source: consumer/engine.rs of streamnative/pulsar-rs, 6.9.1, and runs of it in tests/data/more_clients.
"""

from __future__ import annotations

from pulsar_backlog.chunks.clients.context import Contexts
from pulsar_backlog.chunks.clients.events import NEVER, Inbox, LogEntry
from pulsar_backlog.chunks.clients.families import CLIENTS, Client
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages
from pulsar_backlog.chunks.dispatch.settings import ConsumerSettings


def buffer_of(settings: ConsumerSettings, inbox: Inbox) -> Client:
    """What puts the chunks of one consumer together, or does not."""
    buffer = settings.buffer
    return SliceReader(inbox) if buffer is None else CLIENTS[buffer.family](buffer, inbox)


class SliceReader:
    """One consumer that puts nothing together."""

    next_timer_ms = NEVER

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.contexts = Contexts()

    def receive(self, entry: LogEntry, now_ms: int) -> None:
        """Each entry goes to the application."""
        self._inbox.deliver((entry,), "short" if (entry.num_chunks or 0) > 1 else "right")

    def pass_whole(self, messages: WholeMessages, now_ms: int) -> bool:
        """Never: it does not deliver them."""
        return False

    def run_timers(self, now_ms: int) -> None:
        """There are none."""
