"""What a report knows of subscriptions: small values, already bounded, with the true totals beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from pulsar_backlog.report.growth import GrowthRow
from pulsar_backlog.report.outlook import Outlook
from pulsar_backlog.subscriptions.advice import Advice, Need

NO_ADVICE = Advice()

CELLS = 96
"""Cells of an acknowledgement strip, however many entries the topic has."""

MAX_SUBSCRIPTIONS = 12
"""Subscriptions drawn per topic, the worst first; `TopicAcks.total` counts them all."""

MAX_STRIPS = 600
"""Subscriptions drawn in one report."""

MAX_STALLS = 5
"""Chunk sets told per subscription; `SubscriptionFacts.stall_total` counts them all."""

MAX_BLOCKED = 100
"""Blocked subscriptions that are named; `Blocked.total` counts them all."""


MAX_LISTED = 20_000
"""Subscriptions that lists and the search name, the worst first; `Acks.total` counts them all."""


class PositionRow(TypedDict):
    """A stored entry's place."""

    ledger_id: int
    entry_id: int


class HoldupRow(TypedDict):
    """Why a subscription does not drain, as in `subscriptions`."""

    kind: str
    code: str | None
    sureness: str
    evidence: str
    remedy: str
    advice: str


class SubscriptionRow(TypedDict):
    """The columns of `subscriptions` that a report shows."""

    subscription: str
    kind: str
    subscription_type: str | None
    consumers: int | None
    state: str
    sureness: str
    reason: str
    mark_delete_ledger_id: int | None
    mark_delete_entry_id: int | None
    read_ledger_id: int | None
    read_entry_id: int | None
    oldest_unacked_ledger_id: int | None
    oldest_unacked_entry_id: int | None
    oldest_unacked_what: str | None
    oldest_unacked_ms: int | None
    oldest_unacked_broker_ms: int | None
    holes: int | None
    hole_entries: int | None
    batch_holes: int | None
    backlog_entries: int | None
    backlog_messages: int | None
    backlog_bytes: int | None
    unstored_entries: int | None
    stalls: int
    encoding: str | None
    state_bytes: int | None
    ranges_bytes: int | None
    long_array_bytes: int | None
    limits_from: str | None
    over_limits: list[str]
    dropped_entries: int | None
    redelivered_entries: int | None
    redelivered_bytes: int | None
    redelivered_from: PositionRow | None
    rollback_ledger_id: int | None
    rollback_entry_id: int | None
    rollback_entries: int | None
    rollback_bytes: int | None
    holdups: list[HoldupRow] | None


class StallRow(TypedDict):
    """The columns of `stalls` that a report shows."""

    chunk_uuid: str
    publish_time_ms: int
    code: str | None
    kind: str
    unacked_positions: list[PositionRow]
    unacked_entries: int
    unacked_bytes: int
    blocks_dispatch: bool
    action: str
    sureness: str
    reason: str
    advice: str
    need: Need


@dataclass(frozen=True)
class Axis:
    """The stored entries of a topic in ledger order, cut into cells of equal length.

    Attributes:
        starts: first position of each cell.
        sizes: entries in each.
        last: last position.
    """

    starts: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    last: tuple[int, int]


@dataclass(frozen=True)
class AckCell:
    """What one subscription has not acknowledged in one cell; cells of which all is are left out.

    Attributes:
        cell: its place on the axis, from 0.
        unacked: entries not acknowledged; a fraction where entries of a run are missing from the store.
        holes: holes that begin here.
        stalls: chunk sets that begin here and that something must be done about.
        blocking: whether one of them keeps what follows from being delivered.
    """

    cell: int
    unacked: float
    holes: int
    stalls: int
    blocking: bool


@dataclass(frozen=True)
class SubscriptionFacts:
    """One cursor of a topic.

    Attributes:
        blocked_at: first unacknowledged position of the first set that keeps what follows from being delivered.
        blocked_sureness: how sure that is.
        stalls: some chunk sets that it has not wholly acknowledged, the worst first.
        stall_total: how many there are, those to wait for included.
        advice: what to do about all of them.
        blocked_place: its place among all blocked ones, the worst first.
        outlook: what `forecast` says of it; of the worst stalled ones with short backlogs.
        growth: what becomes of its backlog; None where no night of it can be compared.
    """

    row: SubscriptionRow
    blocked_at: tuple[int, int] | None = None
    blocked_sureness: str | None = None
    cells: tuple[AckCell, ...] = ()
    stalls: tuple[StallRow, ...] = ()
    stall_total: int = 0
    advice: Advice = NO_ADVICE
    blocked_place: int | None = None
    outlook: Outlook | None = None
    growth: GrowthRow | None = None


@dataclass(frozen=True)
class TopicAcks:
    """The subscriptions of a topic.

    Attributes:
        axis: None when no entry is stored.
        subscriptions: the worst first.
        total: how many the topic has; 0 when no saved state names any.
        blocked: how many of them are blocked, or may be.
        sureness: how many of those, by how sure that is.
    """

    axis: Axis | None = None
    subscriptions: tuple[SubscriptionFacts, ...] = ()
    total: int = 0
    blocked: int = 0
    sureness: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class BlockedRow:
    """A subscription that is stalled, or may be; see `SubscriptionFacts`. Its action is that of what blocks it."""

    topic: str
    subscription: str
    subscription_type: str | None
    ledger_id: int
    entry_id: int
    sureness: str
    advice: Advice
    action: str
    backlog_entries: int | None
    backlog_bytes: int | None


@dataclass(frozen=True)
class Acks:
    """All subscriptions of the audit.

    Attributes:
        total: cursors that saved state names.
        stalled: those with chunk sets that something must be done about.
        blocked: those that are blocked, or may be.
        rows: blocked ones, the surest and largest first.
        sureness: how many of the blocked, by how sure that is.
        growth: how many backlogs go which way over the nights, by `direction` of `backlog_growth`.
    """

    total: int = 0
    stalled: int = 0
    blocked: int = 0
    rows: tuple[BlockedRow, ...] = ()
    sureness: Mapping[str, int] = field(default_factory=dict)
    growth: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ListedSubscription:
    """One line about a subscription: what lists and the search hold of each.

    Attributes:
        stalls: chunk sets that something must be done about.
        blocked_at: as in `SubscriptionFacts`.
        blocked_sureness: likewise.
    """

    topic: str
    subscription: str
    state: str
    stalls: int
    backlog_entries: int | None
    backlog_bytes: int | None
    blocked_at: tuple[int, int] | None = None
    blocked_sureness: str | None = None


NO_ACKS = TopicAcks()
NO_STATE = Acks()
