"""Encrypted messages as they are stored: read from offloaded ledgers, and told who publishes them.

Pulsar encrypts each entry by itself: each chunk, and each batch as a whole. What opens an entry, the wrapped data keys
and the initialisation vector, stands in its own metadata. So the payload can be published again byte for byte, under
another producer, sequence id, publish time and chunk uuid, without a key and without being seen.

    changed    producer_name, sequence_id, publish_time; uuid of a chunk; schema_version and schema_id in another topic
    added      properties that name the origin; of a batch they stand on the batch, where no consumer shows them
    left out   replicated_from, highest_sequence_id, deliver_at_time, transaction
    kept       everything else: encryption, compression, sizes, chunk ids, keys, event time, properties
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence

from google_crc32c import value as crc32c

from pulsar_backlog.errors import DecodeError, SourceError, UsageError
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.messages.provenance import LOOP_PROPERTY, PREFIX
from pulsar_backlog.repair.broker.cluster import Ledgers
from pulsar_backlog.repair.broker.reading import RawEntry, raw_entry
from pulsar_backlog.repair.values import AsStored, StoredEntry
from pulsar_backlog.wire.entry import read_layout
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

CHANGED = "changed"
"""Reason of a `SourceError`: what lies there is not what the plan was made of."""

_LEFT_OUT = (
    "replicated_from", "highest_sequence_id", "deliver_at_time", "txnid_least_bits", "txnid_most_bits",
)  # fmt: skip
_SCHEMA = ("schema_version", "schema_id")
_NEW = ("producer_name", "sequence_id", "publish_time", "uuid")


def read_stored(ledgers: Ledgers, message: AsStored, *, encrypted: bool = True) -> tuple[RawEntry, ...]:
    """All entries of a message, each the one that the plan was made of.

    Args:
        ledgers: where they lie now.
        message: where the plan says that they lie.
        encrypted: whether they must be encrypted, as the plan says.

    Raises:
        SourceError: one cannot be read, or is another one (`CHANGED`).
    """
    try:
        source = ledgers.opened(message.source)
    except UsageError as error:
        raise SourceError(ledgers.source or message.source, "not_found", str(error)) from None
    opener, entries = BlockOpener(source), []
    for entry in message.entries:
        data = opener.read(entry.place).tobytes()
        entries.append(_checked(data, entry, source.uri(entry.uri)))
    if encrypted and not all(entry.metadata.encryption_keys for entry in entries):
        raise SourceError(
            message.source, CHANGED, "it is not encrypted: only encrypted messages are republished as stored"
        )
    if any(one.key == LOOP_PROPERTY.encode() for entry in entries for one in entry.metadata.properties):
        raise SourceError(message.source, CHANGED, "a repair published it: republishing it would make a loop")
    return tuple(entries)


def _checked(data: bytes, entry: StoredEntry, uri: str) -> RawEntry:
    where = f"entry {entry.position[0]}:{entry.position[1]} at byte {entry.offset}"
    if len(data) != entry.length:
        raise SourceError(uri, CHANGED, f"{where} is cut off: it is not what the plan was made from")
    try:
        layout = read_layout(data)
        # Both: the checksum that stands there, and that of the bytes.
        sums = {layout.checksum, crc32c(data[layout.metadata_offset - 4 :])}
        if sums == {entry.crc32c}:
            return raw_entry(data)
    except DecodeError:
        pass
    raise SourceError(uri, CHANGED, f"{where} has changed: it is not what the plan was made from")


def published_again(
    entries: Sequence[RawEntry],
    producer_name: str,
    sequence_id: int,
    now_ms: int,
    origin: Mapping[str, str],
    *,
    same_topic: bool,
    is_late: bool = False,
) -> list[tuple[MessageMetadata, bytes]]:
    """Metadata and payload of each entry as they are published.

    Args:
        entries: all of a message, in order.
        producer_name: who publishes it.
        sequence_id: of the message there.
        now_ms: publish time of all its entries.
        origin: properties that say where it comes from.
        same_topic: whether it goes to the topic it lies in; elsewhere its schema version means nothing.
        is_late: whether no consumer could get the original: what was to be delivered later still is.
    """
    again = []
    for entry in entries:
        head = _lasting(entry.metadata, () if same_topic else _SCHEMA)
        for name, value in origin.items():
            head.properties.add(key=name.encode(), value=value.encode())
        head.producer_name, head.sequence_id, head.publish_time = producer_name.encode(), sequence_id, now_ms
        if is_late and entry.metadata.HasField("deliver_at_time"):
            head.deliver_at_time = entry.metadata.deliver_at_time
        if is_late and sequence_id == entry.metadata.sequence_id and entry.metadata.HasField("highest_sequence_id"):
            head.highest_sequence_id = entry.metadata.highest_sequence_id
        if entry.metadata.HasField("uuid"):
            head.uuid = f"{producer_name}-{sequence_id}".encode()
        again.append((head, entry.payload))
    return again


def sealed_sha256(entries: Iterable[RawEntry]) -> str:
    """Digest of the payloads as stored and of all metadata that stays the same, hex: equal of original and copy.

    It gives nothing away: it is one of ciphertext.
    """
    digest = hashlib.sha256()
    for entry in entries:
        head = _lasting(entry.metadata, _SCHEMA).SerializePartialToString(deterministic=True)
        digest.update(struct.pack(">QQ", len(head), len(entry.payload)) + head)
        digest.update(entry.payload)
    return digest.hexdigest()


def _lasting(metadata: MessageMetadata, besides: Iterable[str]) -> MessageMetadata:
    """What a copy shares with its original."""
    head = MessageMetadata()
    head.CopyFrom(metadata)
    for name in (*_LEFT_OUT, *_NEW, *besides):
        head.ClearField(name)
    properties = [one for one in metadata.properties if not one.key.startswith(PREFIX.encode())]
    del head.properties[:]
    head.properties.extend(properties)
    return head
