"""The state machines by client family, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pulsar_backlog.chunks.clients.context import Contexts
from pulsar_backlog.chunks.clients.cpp import CppClient
from pulsar_backlog.chunks.clients.events import Inbox, LogEntry
from pulsar_backlog.chunks.clients.golang import GoClient
from pulsar_backlog.chunks.clients.java import JavaClient
from pulsar_backlog.chunks.clients.settings import ClientSettings, Family
from pulsar_backlog.chunks.clients.sql import SqlReader
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages


class Client(Protocol):
    """A consumer's side of the wire: one of the state machines."""

    contexts: Contexts

    @property
    def next_timer_ms(self) -> int:
        """When its next timer is due; `NEVER` while there is none."""

    def receive(self, entry: LogEntry, now_ms: int) -> None:
        """Take one dispatched entry.

        Raises:
            BrokenClientError: the entry breaks the client.
        """

    def pass_whole(self, messages: WholeMessages, now_ms: int) -> bool:
        """Deliver all of them at once, with what that leaves behind.

        False, and nothing done, where it would matter what else is open.
        """

    def run_timers(self, now_ms: int) -> None:
        """Do what is due up to now."""


CLIENTS: dict[Family, Callable[[ClientSettings, Inbox], Client]] = {
    "java": JavaClient,
    "cpp": CppClient,
    "go": GoClient,
    "sql": SqlReader,
}
"""How each of them is made."""
