"""Republishing a message, so that nothing is published twice.

One producer per topic with a stable name, `pulsar-backlog-<plan>`. Each attempt has the next sequence id, noted in the
journal before it is used: under broker deduplication, the last one stored says whether the attempt was. Another attempt
has another chunk uuid with it, so a killed attempt's first chunks cannot be joined with the next one's. For the same
reason an attempt ends when its connection breaks.
Besides, every message names its action in a property, and is looked for from where the log ended before the first
attempt; without deduplication that is all there is.
"""

from __future__ import annotations

import hashlib
import time
from base64 import b64decode
from dataclasses import dataclass

import pulsar

from pulsar_backlog.messages.provenance import (
    ACTION_PROPERTY,
    LOOP_PROPERTY,
    ORIGINAL_ID_PROPERTY,
    ORIGINAL_PRODUCER_PROPERTY,
    ORIGINAL_SEQUENCE_ID_PROPERTY,
    ORIGINAL_TOPIC_PROPERTY,
    ORIGINAL_UUID_PROPERTY,
)
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.repair.applying.sealed_entries import sealed_sha256
from pulsar_backlog.repair.broker.client import Keys, broker_failures
from pulsar_backlog.repair.broker.reading import RawEntry, entries_after
from pulsar_backlog.repair.values import Action, Message, Plan
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

_READ_MS = 2000


@dataclass(frozen=True)
class StoredCopy:
    """A message that was read back.

    Attributes:
        position: of its last entry.
        is_same: whether it is what was published: its payload has the hash that the plan names, or its entries have the
            digest that the journal names.
    """

    position: Position
    is_same: bool


def properties(plan: Plan, action: Action, message: Message) -> dict[str, str]:
    """Of the application, and where the message comes from."""
    ours = {
        LOOP_PROPERTY: plan.plan_id,
        ACTION_PROPERTY: plan.action_id(action),
        ORIGINAL_ID_PROPERTY: f"{message.original[0]}:{message.original[1]}",
    }
    if message.original_uuid is not None:
        ours[ORIGINAL_UUID_PROPERTY] = message.original_uuid
    if message.original_topic is not None:
        ours[ORIGINAL_TOPIC_PROPERTY] = message.original_topic
    if message.origin is not None:
        ours[ORIGINAL_PRODUCER_PROPERTY] = message.origin.producer
        ours[ORIGINAL_SEQUENCE_ID_PROPERTY] = str(message.origin.sequence_id)
    return {**message.properties, **ours}


def producer_name(plan: Plan, message: Message | None = None) -> str:
    """The same for every attempt of a plan; the message's own where it is published under that."""
    if message is not None and message.origin is not None and message.origin.is_own:
        return message.origin.producer
    return f"pulsar-backlog-{plan.plan_id}"


def went_on(producer: str, last: int, sequence_id: int) -> str:
    """Why a message is not published under its producer's own name."""
    return (
        f"the broker knows of sequence id {last} of producer {producer!r} and would drop {sequence_id} as a duplicate: "
        "audit again, then plan with --cut-off new"
    )


def metadata_of(
    plan: Plan, action: Action, message: Message, name: str, sequence_id: int, now_ms: int
) -> MessageMetadata:
    """What goes with a payload that lies beside the plan; `name` is that of the producer."""
    metadata = MessageMetadata(
        producer_name=name.encode(),
        sequence_id=sequence_id,
        publish_time=now_ms,
        uncompressed_size=message.size_bytes,
        event_time=message.event_time_ms,
        partition_key=None if message.key is None else message.key.encode(),
        partition_key_b64_encoded=message.key_is_base64 or None,
        ordering_key=_bytes(message.ordering_key),
        schema_version=_bytes(message.schema_version),
        schema_id=_bytes(message.schema_id),
        replicate_to=[name.encode() for name in message.replicate_to],
    )
    for key, value in properties(plan, action, message).items():
        metadata.properties.add(key=key.encode(), value=value.encode())
    return metadata


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def find_published(
    client: pulsar.Client, plan: Plan, action: Action, after: Position, keys: Keys | None, limit_seconds: float
) -> StoredCopy | None:
    """Look for the action's message in what was stored after a position, as a real consumer reads it.

    Raises:
        ClientError: the topic cannot be read.
    """
    wanted = plan.action_id(action)
    deadline = time.monotonic() + limit_seconds
    with broker_failures(action.topic, "reading back"):
        start = pulsar.MessageId(-1, *after, -1)
        reader = client.create_reader(action.topic, start, crypto_key_reader=keys.reader if keys else None)
    try:
        while time.monotonic() < deadline:
            with broker_failures(action.topic, "reading back"):
                if not reader.has_message_available():
                    return None
                try:
                    read = reader.read_next(_READ_MS)
                except pulsar.Timeout:  # the end of the log is a chunk whose message will never be whole
                    return None
            if read.properties().get(ACTION_PROPERTY) == wanted:
                id_ = read.message_id()
                sha256 = hashlib.sha256(read.data()).hexdigest()
                is_same = action.message is not None and sha256 == action.message.sha256
                return StoredCopy((id_.ledger_id(), id_.entry_id()), is_same)
        return None
    finally:
        with broker_failures(action.topic, "closing the reader"):
            reader.close()


def find_stored(
    service: Service, plan: Plan, action: Action, after: Position, sealed: str, limit_seconds: float
) -> StoredCopy | None:
    """Look for the action's message in what was stored after a position, without opening anything.

    Chunks count when all of one attempt are there; each attempt has a uuid of its own.

    Raises:
        ClientError: the topic cannot be read.
    """
    wanted = plan.action_id(action).encode()
    attempts: dict[bytes, list[RawEntry]] = {}
    for position, entry in entries_after(service, action.topic, after, limit_seconds):
        head = entry.metadata
        if not any((one.key, one.value) == (ACTION_PROPERTY.encode(), wanted) for one in head.properties):
            continue
        parts = attempts.setdefault(head.uuid, [])
        if head.chunk_id == len(parts):
            parts.append(entry)
        if len(parts) == max(1, head.num_chunks_from_msg):
            return StoredCopy(position, sealed_sha256(parts) == sealed)
    return None
