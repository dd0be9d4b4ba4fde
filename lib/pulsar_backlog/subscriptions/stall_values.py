"""What the stall rules read and return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pulsar_backlog.chunks.clients.reopened import Stop
from pulsar_backlog.terms import Position

Action = Literal["wait", "export_then_acknowledge", "acknowledge", "skip", "reset_to_first_chunk", "none"]


@dataclass(frozen=True, slots=True)
class Copy:
    """One stored chunk entry of a publication.

    Attributes:
        position: where it is stored.
        chunk_id: its place; None when absent on the wire.
        role: as in the table `chunks`.
        payload_bytes: bytes of its payload as stored.
    """

    position: Position
    chunk_id: int | None
    role: str
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class Loss:
    """A model of a client that does not deliver a message as it was sent; words as in `consumer_outcomes`."""

    model: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reopened:
    """What the models of clients make of a message if the subscription's consumers are opened again.

    Attributes:
        losses: models that do not deliver it as it was sent; what is acknowledged of it does not come again.
        stops: models that something stops before it comes to them.
        after_reset: models that do not deliver it after a reset to its first chunk; None when that was not asked.
    """

    losses: tuple[Loss, ...] = ()
    stops: tuple[Stop, ...] = ()
    after_reset: tuple[Loss, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChunkSet:
    """One publication with its copies, in position order. Fields are named as in `chunked_messages`.

    Attributes:
        family_in_flight: whether a publication with its uuid, itself included, may still be arriving.
        family_rebuildable: whether one, itself included, can be rebuilt and has not been exported.
        reopened: what clients of one subscription would make of it; None when the models were not asked.
        deliver_at_ms: when it is to be delivered, where that was still to come when the topic's state was saved.
    """

    chunk_uuid: str
    publish_time_ms: int
    state: str
    flags: frozenset[str]
    rebuildable: bool
    sureness: str
    reason: str
    num_chunks: int
    copies: tuple[Copy, ...]
    family_in_flight: bool
    family_rebuildable: bool
    reopened: Reopened | None = None
    deliver_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionView:
    """What of a subscription matters to its chunk sets.

    Attributes:
        name: of the subscription.
        type: `Exclusive`, `Failover`, `Shared`, `Key_Shared`; None when nothing says.
        mark_delete: everything up to it is acknowledged.
        last_acked: highest individually acknowledged entry; None when there is none.
        read_position: next entry to read; None when nothing says.
        sureness: how sure the acknowledged set is.
        reason: why.
    """

    name: str
    type: str | None
    mark_delete: Position
    last_acked: Position | None = None
    read_position: Position | None = None
    sureness: str = "certain"
    reason: str = ""

    @property
    def highest_acked(self) -> Position:
        """The highest acknowledged entry."""
        return max(self.mark_delete, self.last_acked or self.mark_delete)


@dataclass(frozen=True, slots=True, kw_only=True)
class StallVerdict:
    """What is known of a stall wherever it is spoken of, named as the columns of `stalls`."""

    chunk_uuid: str
    publish_time_ms: int
    code: str | None
    kind: str
    also: tuple[str, ...]
    acked_entries: int
    can_complete: bool
    action: str
    first_chunk: Position | None
    sureness: str
    reason: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall(StallVerdict):
    """A row of `stalls`, without cluster, topic and what is the subscription's own."""

    state: str
    unacked: tuple[Copy, ...] = field(repr=False)
    acked_chunk_zero: bool
    rebuildable: bool
    blocks_dispatch: bool
    last: Position
