"""Entries that a broker has and sends to no reader: looked at one by one, so that none is taken for a hole.

| what the admin API says of the entry | code | can it be a chunk that a consumer waits for? |
|---|---|---|
| `X-Pulsar-marker-type` | `live_marker` | no, it is no message |
| `X-Pulsar-txn-aborted: true` | `live_aborted` | no, its transaction was aborted |
| `X-Pulsar-txn-uncommitted: true` | `live_held_back` | yes: it is of an open transaction, or behind one |
| none of these | `live_not_sent` | yes: a filter may hide it |
| an error | `live_not_given` | yes |

Source: `generateResponseWithEntry` in
https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/admin/impl/PersistentTopicsBase.java
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pulsar_backlog.cluster.admin_http import AdminError
from pulsar_backlog.ledgers.live.values import ABORTED, HELD_BACK, MARKER, NOT_GIVEN, NOT_SENT, Hidden


class HeaderSource(Protocol):
    """Who knows entries one by one."""

    def entry_headers(self, topic: str, ledger_id: int, entry_id: int) -> Mapping[str, str]:
        """What the admin API says of an entry; raises `AdminError` when it says nothing."""


def look_up(broker: HeaderSource, topic: str, ledger_id: int, entry_id: int) -> Hidden:
    """What an entry is that was not sent."""
    try:
        answer = broker.entry_headers(topic, ledger_id, entry_id)
    except AdminError as error:
        status = f"status {error.status}" if error.status else error.reason
        return Hidden(entry_id, NOT_GIVEN, f"the admin API does not give it ({status})")
    headers = {name.lower(): value for name, value in answer.items()}
    if "x-pulsar-marker-type" in headers:
        return Hidden(entry_id, MARKER, f"a marker of type {headers['x-pulsar-marker-type'][:20]}")
    if _says(headers, "x-pulsar-txn-aborted"):
        return Hidden(entry_id, ABORTED, "an entry of an aborted transaction")
    if _says(headers, "x-pulsar-txn-uncommitted"):
        return Hidden(entry_id, HELD_BACK, "an entry of an open transaction, or behind one")
    return Hidden(entry_id, NOT_SENT, "a message that the broker does not send: a filter may hide it")


def _says(headers: Mapping[str, str], name: str) -> bool:
    return headers.get(name, "").lower() == "true"
