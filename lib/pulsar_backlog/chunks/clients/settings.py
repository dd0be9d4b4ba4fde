"""Whose behaviour is modelled, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.terms import Position

Profile = Literal["J-OLD", "J-NEW", "C-300", "C-330", "C-OLD", "C-NEW", "G-OLD", "G-NEW", "SQL"]
Family = Literal["java", "cpp", "go", "sql"]
SubscriptionType = Literal["Exclusive", "Shared"]

BUILDS: dict[Profile, str] = {
    "J-OLD": "Java 2.6 to 2.10.5, 2.11.0 to 2.11.2, 3.0.0 and 3.0.1",
    "J-NEW": "Java 2.10.6 and later 2.10, 2.11.3, 3.0.2 and later",
    "C-300": "C++ 3.0",
    "C-330": "C++ 3.1 to 3.3 and every build on it: Python client 3.0 to 3.3, Node client 1.9",
    "C-OLD": "C++ 3.4 to 4.2 and every build on it: Python client 3.4 to 3.13, Node client 1.10 and later",
    "C-NEW": "C++ after pull requests 587 and 604 (2026), in no release yet",
    "G-OLD": "Go 0.10 to 0.18",
    "G-NEW": "Go 0.19 and later",
    "SQL": "Pulsar SQL (Trino) 2.9.1 and later",
}
"""Releases that behave like each profile."""

FAMILIES: dict[Profile, Family] = {
    "J-OLD": "java", "J-NEW": "java", "C-300": "cpp", "C-330": "cpp", "C-OLD": "cpp",
    "C-NEW": "cpp", "G-OLD": "go", "G-NEW": "go", "SQL": "sql",
}  # fmt: skip

DEFAULT_MAX_PENDING: dict[Family, int] = {"java": 10, "cpp": 10, "go": 100, "sql": 0}
"""`maxPendingChunkedMessage`: chunked messages a client puts together at one time; 0 is no limit."""
DEFAULT_EXPIRY_MS = 60_000
"""`expireTimeOfIncompleteChunkedMessage` of all clients."""
DEFAULT_QUEUE = 1000
"""`receiverQueueSize` of all clients, and `maxPendingMessages` of C++ and older Java producers."""
DEFAULT_READ_BATCH = 100
"""`dispatcherMaxReadBatchSize` of brokers before 5.0."""


@dataclass(frozen=True)
class ClientSettings:
    """One client under one set of settings, as its documentation names them.

    Attributes:
        profile: releases whose behaviour is modelled.
        max_pending: `maxPendingChunkedMessage`; None is the client's default. 0 is no limit in Java and C++ and the
            default in Go, where a negative number is no limit.
        auto_ack: `autoAckOldestChunkedMessageOnQueueFull` (Java, C++), `AutoAckIncompleteChunk` (Go).
        expiry_ms: `expireTimeOfIncompleteChunkedMessage`; 0 is never (Java, C++).
        ack_timeout_ms: ack timeout; None is off, the default. Go has none.
        receiver_queue: `receiverQueueSize`, the permits the broker is given.
        subscription: `Exclusive` stands for Failover as well.
        live: whether the consumer was there when the messages were published; else it catches up with a log that is
            older than `expiry_ms`.
        reconnect_after: positions after which the connection is lost once; what is not acknowledged comes again.
        restart_after: positions after which the consumer is closed and opened again: as a reconnect, with no contexts.
        start: first position that is read; None is the beginning.
        acks_headless: whether the broker itself acknowledges headless chunks of a Shared subscription, as brokers
            newer than 4.0.8 do, instead of trying them again for ever.
        read_batch: `dispatcherMaxReadBatchSize` of the broker; decides on Shared what is read behind a headless chunk.
            None where nobody knows it: that of brokers before 5.0 is played, and what depends on it cannot be told.
    """

    profile: Profile
    max_pending: int | None = None
    auto_ack: bool = False
    expiry_ms: int = DEFAULT_EXPIRY_MS
    ack_timeout_ms: int | None = None
    receiver_queue: int = DEFAULT_QUEUE
    subscription: SubscriptionType = "Exclusive"
    live: bool = False
    reconnect_after: tuple[Position, ...] = ()
    restart_after: tuple[Position, ...] = ()
    start: Position | None = None
    acks_headless: bool = False
    read_batch: int | None = DEFAULT_READ_BATCH

    @property
    def family(self) -> Family:
        """The client library."""
        return FAMILIES[self.profile]

    @property
    def pending_limit(self) -> int | None:
        """Most contexts open at one time; None is no limit."""
        default = DEFAULT_MAX_PENDING[self.family]
        limit = (
            default if self.max_pending is None or (self.family == "go" and self.max_pending == 0) else self.max_pending
        )
        return limit if limit > 0 else None
