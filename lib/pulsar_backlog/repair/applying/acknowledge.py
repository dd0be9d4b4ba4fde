"""Acknowledging and moving cursors: what changes a subscription.

Our client asks for no message (its queue is 0, so the broker sends none) and acknowledges ids it constructs. A broker
accepts that for entries it never dispatched, on every subscription type; an id past the end of the log it ignores.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pulsar

from pulsar_backlog.cluster.admin_http import AdminHttp
from pulsar_backlog.cluster.admin_rest import parse_topic
from pulsar_backlog.json_text import to_json
from pulsar_backlog.repair.acked_entries import Entries
from pulsar_backlog.repair.broker.client import CLIENT_NAME, broker_failures
from pulsar_backlog.repair.values import Action
from pulsar_backlog.terms import Position

_TYPES = {
    "Exclusive": pulsar.ConsumerType.Exclusive,
    "Shared": pulsar.ConsumerType.Shared,
    "Failover": pulsar.ConsumerType.Failover,
    "Key_Shared": pulsar.ConsumerType.KeyShared,
}


class Pace:
    """Not more than so many entries a second.

    Args:
        per_second: the rate.
        sleep: waits.
    """

    def __init__(self, per_second: float, sleep: Callable[[float], None]) -> None:
        self._seconds = 1 / per_second
        self._sleep = sleep
        self._owed = 0.0

    def step(self) -> None:
        """Wait for one more; short waits are saved up."""
        self._owed += self._seconds
        if self._owed >= 0.05:
            self._sleep(self._owed)
            self._owed = 0.0


def acknowledge(client: pulsar.Client, action: Action, entries: Entries, live_type: str | None, pace: Pace) -> None:
    """Acknowledge entries of the action, each for itself.

    Raises:
        ClientError: the broker does not let us in, or the connection broke; some entries may be acknowledged then.
    """
    kind = _TYPES.get(live_type or action.expected_type or "Shared", pulsar.ConsumerType.Shared)
    with broker_failures(action.topic, f"connecting to subscription {action.subscription!r}"):
        consumer = _subscribed(client, action, kind)
    try:
        with broker_failures(action.topic, f"acknowledging on subscription {action.subscription!r}"):
            for position in entries.positions():
                consumer.acknowledge(_id(position))
                pace.step()
    finally:
        with broker_failures(action.topic, f"closing subscription {action.subscription!r}"):
            consumer.close()  # sends what the client held back


def acknowledge_cumulative(client: pulsar.Client, action: Action) -> None:
    """Acknowledge everything up to the action's target.

    Raises:
        ClientError: the broker does not let us in, or the connection broke.
    """
    if action.target is None:
        return
    with broker_failures(action.topic, f"connecting to subscription {action.subscription!r}"):
        consumer = _subscribed(client, action, pulsar.ConsumerType.Exclusive)
    try:
        with broker_failures(action.topic, f"acknowledging on subscription {action.subscription!r}"):
            consumer.acknowledge_cumulative(_id(action.target))
    finally:
        with broker_failures(action.topic, f"closing subscription {action.subscription!r}"):
            consumer.close()


def skip(http: AdminHttp, action: Action) -> None:
    """Move mark-delete over as many entries as the action names, of those that are not acknowledged.

    Raises:
        AdminError: the broker refused.
    """
    http.request("POST", f"{_subscription_path(action)}/skip/{action.entry_count}")


def reset_cursor(http: AdminHttp, action: Action) -> None:
    """Move the cursor so that the action's target is the next entry it reads.

    Raises:
        AdminError: the broker refused.
    """
    if action.target is None:
        return
    ledger_id, entry_id = action.target
    body = {"ledgerId": ledger_id, "entryId": entry_id, "partitionIndex": -1, "excluded": False}
    http.request("POST", f"{_subscription_path(action)}/resetcursor", body=to_json(body).encode())


def _subscribed(client: pulsar.Client, action: Action, kind: pulsar.ConsumerType) -> pulsar.Consumer:
    return client.subscribe(
        action.topic, action.subscription, consumer_type=kind, receiver_queue_size=0, consumer_name=CLIENT_NAME
    )


def _id(position: Position) -> pulsar.MessageId:
    return pulsar.MessageId(-1, *position, -1)


def _subscription_path(action: Action) -> str:
    name = quote(action.subscription or "", safe="")
    return f"{parse_topic(action.topic).path}/subscription/{name}"
