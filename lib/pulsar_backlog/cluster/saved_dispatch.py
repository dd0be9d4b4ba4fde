"""What `stats` says of how a subscription dispatches: counts of one moment, as its broker keeps them.

    msgBacklog                   entries not acknowledged
    unackedMessages              entries sent and not acknowledged, of the subscription and of each consumer
    msgInReplay                  entries put aside: sent once, or kept back
    msgDelayed                   entries whose time has not come
    drainingHashesCount          Key_Shared: hashes that an old owner still holds
    blockedSubscriptionOnUnackedMsgs, blockedConsumerOnUnackedMsgs   a limit of unacknowledged messages is reached
    availablePermits             entries that a consumer may still be sent
    clientVersion                `Pulsar-Java-v4.2.4`, `Pulsar-CPP-v3.7.0` (Python and Node too), `Pulsar Go 0.19.0`

Source: SubscriptionStatsImpl and ConsumerStatsImpl of apache/pulsar, 4.0 and 4.2. A count that is 0 may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_backlog.cluster.fields import Fields, storable

MAX_CONSUMERS = 1000
"""Consumers of one subscription that are saved one by one."""


@dataclass(frozen=True)
class SavedConsumer:
    """A consumer that was connected. Absent counts are None."""

    name: str
    permits: int | None = None
    unacked: int | None = None
    blocked: bool | None = None
    draining_hashes: int | None = None
    client: str | None = None


@dataclass(frozen=True)
class SavedDispatch:
    """A subscription's counts. Those that a broker leaves out are None."""

    backlog: int | None = None
    unacked: int | None = None
    in_replay: int | None = None
    delayed: int | None = None
    draining_hashes: int | None = None
    blocked: bool | None = None
    consumers: tuple[SavedConsumer, ...] = ()


def dispatch_of_stats(subscription: Fields) -> SavedDispatch:
    """The counts of one subscription of a `stats`."""
    consumers = [
        SavedConsumer(
            name=storable(one.text("consumerName") or ""),
            permits=one.signed("availablePermits"),
            unacked=one.signed("unackedMessages"),
            blocked=one.flag("blockedConsumerOnUnackedMsgs"),
            draining_hashes=one.integer("drainingHashesCount"),
            client=storable(one.text("clientVersion") or "") or None,
        )
        for one, _at in zip(subscription.children("consumers"), range(MAX_CONSUMERS), strict=False)
    ]
    return SavedDispatch(
        backlog=subscription.signed("msgBacklog"),
        unacked=subscription.signed("unackedMessages"),
        in_replay=subscription.signed("msgInReplay"),
        delayed=subscription.signed("msgDelayed"),
        draining_hashes=subscription.signed("drainingHashesCount"),
        blocked=subscription.flag("blockedSubscriptionOnUnackedMsgs"),
        consumers=tuple(consumers),
    )
