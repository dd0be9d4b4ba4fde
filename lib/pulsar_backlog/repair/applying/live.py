"""What is true of a topic right now; read again before every action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.cluster.admin_http import AdminError
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.cluster.documents import Document, documents
from pulsar_backlog.cluster.fields import Fields
from pulsar_backlog.cluster.saved_cursors import SavedCursor, SavedSubscription
from pulsar_backlog.cursors.acked import acked_set
from pulsar_backlog.cursors.values import NO_RANGES, AckState
from pulsar_backlog.repair.acked_entries import Entries, acknowledged, all_entries
from pulsar_backlog.terms import Position


@dataclass(frozen=True)
class LiveSubscription:
    """A subscription.

    Attributes:
        name: as applications know it.
        mark_delete: everything up to it is acknowledged.
        acked: acknowledged entries of the ledgers that exist; batches of which a part is acknowledged do not count.
        type: None when no consumer is connected.
        consumers: how many are connected.
        saved: all that `stats` says of it; None when it says nothing.
    """

    name: str
    mark_delete: Position
    acked: Entries
    type: str | None
    consumers: int
    saved: SavedSubscription | None = None

    @property
    def open_acked(self) -> Entries:
        """Acknowledged entries from mark-delete's ledger on; before it everything is."""
        return self.acked.within(ledger_id for ledger_id in self.acked.ledgers if ledger_id >= self.mark_delete[0])


@dataclass(frozen=True)
class LiveTopic:
    """A topic partition.

    Attributes:
        topic: full name.
        lengths: entries of each ledger that exists; of the open one up to the last confirmed entry.
        last_confirmed: last entry; entry id -1 when that ledger is empty.
        is_terminated: whether nothing can be published any more.
        is_open: whether its log is open, as it must be for anything to be done to it.
        subscriptions: by name.
    """

    topic: str
    lengths: Mapping[int, int]
    last_confirmed: Position
    is_terminated: bool
    is_open: bool
    subscriptions: Mapping[str, LiveSubscription]

    @property
    def entries(self) -> Entries:
        """All that are stored."""
        return all_entries(self.lengths)


def read_live(rest: AdminRest, topic: str) -> LiveTopic | None:
    """The topic as its broker sees it; None when it does not exist.

    Raises:
        AdminError: the broker does not say, or says something that cannot be relied on.
    """
    try:
        # Connected consumers first: who connects in between shows in a moved mark-delete at worst.
        stats = _document(rest, topic, "stats")
        internal = _document(rest, topic, "internalStats")
    except AdminError as error:
        if error.reason == "not_found":
            return None
        raise
    if internal.last_confirmed is None and internal.ledgers:
        internal_last = (internal.ledgers[-1].ledger_id, -1)
    else:
        internal_last = internal.last_confirmed or (-1, -1)
    lengths = {ledger.ledger_id: ledger.entries or 0 for ledger in internal.ledgers}
    last_ledger, last_entry = internal_last
    if last_ledger in lengths:
        lengths[last_ledger] = max(lengths[last_ledger], last_entry + 1)
    types = stats.subscriptions or {}
    return LiveTopic(
        topic=topic,
        lengths=lengths,
        last_confirmed=internal_last,
        is_terminated=bool(internal.terminated),
        is_open=internal.state in ("LedgerOpened", "Terminated"),
        subscriptions={
            cursor.name: _subscription(topic, cursor, types.get(cursor.name), lengths) for cursor in internal.cursors
        },
    )


def _document(rest: AdminRest, topic: str, kind: str) -> Document:
    faults: list[str] = []
    body = dict(rest.object_of(topic, kind))
    document = next(iter(documents(Fields(body, faults))), None)
    if document is None or faults:
        what = f"{kind} has odd fields: {', '.join(faults[:5])}" if faults else f"{kind} has an unexpected form"
        raise AdminError(topic, "failed", f"{what}; apply does nothing on such a basis")
    return document


def _subscription(
    topic: str, cursor: SavedCursor, saved: SavedSubscription | None, lengths: Mapping[int, int]
) -> LiveSubscription:
    if cursor.mark_delete is None:
        raise AdminError(topic, "failed", f"the state of subscription {cursor.name!r} cannot be read")
    ranges = np.array(cursor.ranges, dtype=np.int64) if cursor.ranges else NO_RANGES
    acked = acked_set(AckState(cursor.mark_delete, ranges), dict(lengths))
    return LiveSubscription(
        name=cursor.name,
        mark_delete=cursor.mark_delete,
        acked=acknowledged(acked, lengths),
        type=saved.type if saved and saved.consumers else None,
        consumers=(saved.consumers or 0) if saved else 0,
        saved=saved,
    )
