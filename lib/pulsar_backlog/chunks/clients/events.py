"""The words between broker, client and application: what is dispatched, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from pulsar_backlog.terms import Position

"""Ledger id and entry id."""

PayloadFact = Literal["fits", "garbage", "claim_too_large", "claim_too_small", "unknown"]
"""What decompressing the whole payload gives, against `uncompressed_size`."""

Content = Literal["right", "mixed", "short", "padded", "unknown"]
"""What the application gets: the message, two messages joined, a part of it, more than it, or nobody can tell."""

AckReason = Literal[
    "restarted",
    "duplicate",
    "too_old",
    "evicted",
    "incomplete",
    "expired",
    "undecodable",
    "damaged",
    "headless",
    "marker",
]
"""Why an entry is acknowledged though nothing of it was delivered."""

HoleReason = Literal["gap", "headless", "out_of_place", "evicted", "undecodable", "given_up", "delivered", "dispatched"]
"""Why an entry stays unacknowledged; `given_up` are the chunks of a context that was dropped, `delivered` those of a
message of which the application's acknowledgement reaches only the last chunk."""

DamageKind = Literal["reconnect_loop", "process_death", "panic", "query_failure", "permit_stall", "dispatch_stall"]
"""What a log does to a client besides losing messages; everything behind it is blocked."""


Publication = tuple[str, int]
"""Chunk uuid and publish time: what all chunks of one publication share."""


class LogEntry(NamedTuple):
    """One stored entry as the broker dispatches it. A tuple, because millions are made.

    Attributes:
        position: where it is stored.
        plain_before: entries between the chunk stored before and this one, which are no chunks.
        uuid: chunk uuid; empty when it carries none.
        publication: uuid and publish time by the producer's clock.
        stored_ms: when the broker stored it.
        chunk_id: place of the chunk; None when absent.
        num_chunks: chunks of the message; None when absent.
        total_bytes: `total_chunk_msg_size`; 0 when absent.
        slice_bytes: payload bytes after decryption.
        batched: whether a batch count is set, as no healthy chunk has.
        checksum: `valid`, `mismatch` or `absent`.
        codec: codec of the message; None for none.
        uncompressed_bytes: `uncompressed_size`; None when absent.
        payload: what decompressing the whole message of this chunk gives.
        marker: whether it is a marker, which the broker keeps for itself.
    """

    position: Position
    plain_before: int
    uuid: str
    publication: Publication
    stored_ms: int
    chunk_id: int | None
    num_chunks: int | None
    total_bytes: int
    slice_bytes: int
    batched: bool
    checksum: str
    codec: str | None
    uncompressed_bytes: int | None
    payload: PayloadFact
    marker: bool

    @property
    def publish_time_ms(self) -> int:
        """By the producer's clock."""
        return self.publication[1]


class Inbox(Protocol):
    """What a client tells: the only way a state machine acts on the world."""

    def deliver(self, entries: Sequence[LogEntry], content: Content, *, acks_last_only: bool = False) -> None:
        """The application gets one message made of these entries and acknowledges it: all, or only the last of them."""

    def acknowledge(self, entries: Sequence[LogEntry], reason: AckReason) -> None:
        """The client acknowledges entries of which nothing was delivered."""

    def leave(self, entries: Sequence[LogEntry], reason: HoleReason, *, tracked: bool = False) -> None:
        """The client forgets entries without acknowledging them.

        Args:
            entries: what is forgotten.
            reason: why.
            tracked: whether an ack timeout, where one is set, brings them again.
        """

    def keep_permit(self, entry: LogEntry) -> None:
        """The client keeps the permit of this entry: the broker may send one entry less from now on."""


class BrokenClientError(Exception):
    """The log breaks the client at this entry.

    Attributes:
        kind: what happens to the client.
        entry: the entry at which it happens.
        why: the cause in words.
    """

    def __init__(self, kind: DamageKind, entry: LogEntry, why: str) -> None:
        super().__init__(f"{kind} at {entry.position[0]}:{entry.position[1]}: {why}")
        self.kind = kind
        self.entry = entry
        self.why = why


class Cursor(Inbox, Protocol):
    """The subscription: what was dispatched, what of it is acknowledged, and what the application got."""

    acknowledgements: int
    """How many entries are acknowledged; grows with every step forward."""

    def dispatch(self, entry: LogEntry) -> None:
        """The entry is on its way to the client, for the first time."""

    def block(self, entry: LogEntry) -> None:
        """The entry is never dispatched, because the client or the dispatch is stuck."""

    def unacknowledged(self) -> list[LogEntry]:
        """What was dispatched and is not acknowledged, in order."""

    def is_unacknowledged(self, entry: LogEntry) -> bool:
        """Whether this entry is among them."""

    def doubt(self) -> None:
        """What happens from here on depends on what nobody knows of the broker."""


NEVER = 1 << 80
"""A time that does not come, in milliseconds: later than what 64 bits say, and all that is added to it."""
