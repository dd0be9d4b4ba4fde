"""A bundled topic once more, on a live broker: the same entries under the same positions, acknowledged as they were.

Ledger ids are given out in order: empty topics use them up until the next one is the wanted one.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from pathlib import Path

import pulsar

from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.auditing import OBJECTS, data_object, rows_of
from tests.broker.conftest import Admin, topic_path
from tests.broker.process import Broker
from tests.broker.protocol import connected

Position = tuple[int, int]


def make_twin(broker: Broker, admin: Admin, client: pulsar.Client, out: Path, ledger_id: int, subscription: str) -> str:
    """Make the topic of a bundled ledger with one of its subscriptions; its name.

    Args:
        broker: holds nothing yet.
        admin: its admin API.
        client: connected to it.
        out: folder of the audit of the bundled backlog.
        ledger_id: the only ledger of its topic.
        subscription: of the topic; it gets the acknowledgements that the audit saw.
    """
    entries = rows_of(out, "entries", "ledger_id", "entry_id", "topic", "offset", "length")
    mine = [row for row in entries if row["ledger_id"] == ledger_id]
    topic = str(mine[0]["topic"])
    _create(admin, topic, ledger_id)
    admin.request("PUT", f"{topic_path(topic)}/subscription/{subscription}", {"ledgerId": -1, "entryId": -1})
    stored = data_object(OBJECTS, ledger_id).read_bytes()
    with connected(broker.service_url, broker.token_file.read_text()) as connection:
        producer = connection.producer(topic, "twin")
        raw = (_taken_apart(stored[row["offset"] : row["offset"] + row["length"]]) for row in mine)
        positions = [producer.send(metadata, payload) for metadata, payload in raw]
    assert positions == [(ledger_id, row["entry_id"]) for row in mine]
    waiting = unacked(out, topic, subscription)
    _acknowledge(client, topic, subscription, [position for position in positions if position not in waiting])
    return topic


def unacked(out: Path, topic: str, subscription: str) -> set[Position]:
    """What a subscription has not acknowledged, by the audit."""
    return {
        (row["ledger_id"], entry_id)
        for row in rows_of(out, "ack_ranges")
        if (row["topic"], row["subscription"]) == (topic, subscription)
        for entry_id in range(row["first_entry_id"], row["last_entry_id"] + 1)
    }


def _create(admin: Admin, topic: str, ledger_id: int) -> None:
    tenant, namespace = topic.removeprefix("persistent://").split("/")[:2]
    admin.request("PUT", f"/v2/tenants/{tenant}", {"allowedClusters": ["standalone"], "adminRoles": ["admin"]})
    admin.request("PUT", f"/v2/namespaces/{tenant}/{namespace}")
    newest = -1
    for number in range(ledger_id):
        if newest >= ledger_id - 1:
            break
        newest = _created(admin, f"persistent://{tenant}/{namespace}/filler-{number}")
    assert _created(admin, topic) == ledger_id


def _created(admin: Admin, topic: str) -> int:
    admin.request("PUT", topic_path(topic))
    return int(admin.get(topic, "internalStats")["ledgers"][0]["ledgerId"])


def _taken_apart(entry: bytes) -> tuple[MessageMetadata, bytes]:
    """Metadata and payload of a stored entry, without broker metadata and checksum: the new broker adds its own."""
    at = 6 + struct.unpack(">I", entry[2:6])[0] if entry[:2] == b"\x0e\x02" else 0
    at += 6 if entry[at : at + 2] == b"\x0e\x01" else 0
    (size,) = struct.unpack(">I", entry[at : at + 4])
    return MessageMetadata.FromString(entry[at + 4 : at + 4 + size]), entry[at + 4 + size :]


def _acknowledge(client: pulsar.Client, topic: str, subscription: str, positions: Sequence[Position]) -> None:
    consumer = client.subscribe(topic, subscription, consumer_type=pulsar.ConsumerType.Shared, receiver_queue_size=0)
    for ledger_id, entry_id in positions:
        consumer.acknowledge(pulsar.MessageId(-1, ledger_id, entry_id, -1))
    consumer.close()
    time.sleep(1)  # clients hold acknowledgements back for a moment
