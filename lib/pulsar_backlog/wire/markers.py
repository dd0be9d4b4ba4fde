"""Markers: entries that brokers write among the messages for themselves. A marker is never a message.

    marker_type  name                                         written for
    10           REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST     replicated subscriptions
    11           REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE    replicated subscriptions
    12           REPLICATED_SUBSCRIPTION_SNAPSHOT             replicated subscriptions
    13           REPLICATED_SUBSCRIPTION_UPDATE               replicated subscriptions
    20           TXN_COMMITTING                               transactions
    21           TXN_COMMIT                                   transactions
    22           TXN_ABORT                                    transactions

Whether the field is there decides, not its value: 0 or an unknown number is a marker too.
Source: apache/pulsar pulsar-common/src/main/proto/PulsarMarkers.proto and
pulsar-common/src/main/java/org/apache/pulsar/common/protocol/Markers.java at 492eb456.
"""

from __future__ import annotations

from dataclasses import dataclass

TXN_COMMIT = 21
TXN_ABORT = 22


@dataclass(frozen=True, slots=True)
class MarkerKind:
    """A kind of marker: upstream's name, and what it means in one sentence."""

    name: str
    description: str


MARKER_KINDS: dict[int, MarkerKind] = {
    10: MarkerKind(
        "REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST",
        "A cluster asks the others for a snapshot of their positions.",
    ),
    11: MarkerKind(
        "REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE", "A cluster answers a snapshot request with its position."
    ),
    12: MarkerKind(
        "REPLICATED_SUBSCRIPTION_SNAPSHOT",
        "Positions in all clusters that stand for the same place in the topic.",
    ),
    13: MarkerKind(
        "REPLICATED_SUBSCRIPTION_UPDATE", "A subscription was acknowledged up to a place in another cluster."
    ),
    20: MarkerKind("TXN_COMMITTING", "A transaction begins to commit; its messages are still hidden."),
    TXN_COMMIT: MarkerKind("TXN_COMMIT", "A transaction was committed; its messages become visible."),
    TXN_ABORT: MarkerKind("TXN_ABORT", "A transaction was aborted; its messages stay hidden for ever."),
}
"""Kinds of markers by `marker_type`."""


def is_marker(marker_type: int | None) -> bool:
    """Whether an entry is a marker; None means that its metadata has no `marker_type`."""
    return marker_type is not None


def marker_kind(marker_type: int) -> MarkerKind:
    """The kind of a marker, `UNKNOWN(n)` for a number that has no name here."""
    unknown = MarkerKind(f"UNKNOWN({marker_type})", "A marker of a kind that this version does not know.")
    return MARKER_KINDS.get(marker_type, unknown)
