"""Events in system topics: policies of topics in `__change_events`, and snapshots of transactions.

Their payloads are Avro without the schema; its version is in the message metadata, the schema itself in a schema ledger
of the same cluster. Where that is not at hand, the schemas serve that brokers of 5.0 wrote (`*.avsc` here).

    __change_events                          PulsarEvent              key: the topic, without payload: policies deleted
    __transaction_buffer_snapshot            TransactionBufferSnapshot          one for each topic, replaced
    __transaction_buffer_snapshot_segments   TransactionBufferSnapshotSegment
    __transaction_buffer_snapshot_indexes    TransactionBufferSnapshotIndexes

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/events/PulsarEvent.java
and https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/transaction/buffer/metadata/TransactionBufferSnapshot.java
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import pyarrow as pa

from pulsar_backlog.internals.protobuf import undecodable
from pulsar_backlog.schemas.avro import avro_row_codec, avro_schema
from pulsar_backlog.schemas.results import RowCodec, Undecodable
from pulsar_backlog.schemas.shapes import full_name
from pulsar_backlog.wire.batch import read_batch
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.entry import decode_entry
from pulsar_backlog.wire.markers import is_marker

MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
"""Of one event, decompressed."""

_KIND_OF_RECORD = {
    "org.apache.pulsar.common.events.PulsarEvent": "topic_policies",
    "org.apache.pulsar.broker.transaction.buffer.metadata.TransactionBufferSnapshot": "transaction_snapshot",
    "org.apache.pulsar.broker.transaction.buffer.metadata.v2.TransactionBufferSnapshotSegment": "transaction_snapshot",
    "org.apache.pulsar.broker.transaction.buffer.metadata.v2.TransactionBufferSnapshotIndexes": "transaction_snapshot",
}


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A message of a system topic, taken out of its entry.

    Attributes:
        batch_index: in its entry; None of a bare message.
        publish_ms: when it was published.
        key: of the message; None without one.
        payload: decompressed; None of a tombstone.
    """

    batch_index: int | None
    publish_ms: int
    key: str | None
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class Event:
    """A payload that was read: kind of the topic that it belongs into, name of its record, and the value."""

    kind: str
    record: str
    value: Mapping[str, Any]


def messages_of_entry(data: bytes) -> list[SystemMessage]:
    """The messages of one entry; none of a marker.

    Raises:
        DecodeError: it is no entry, or its payload cannot be opened or taken apart; a chunk or an encrypted payload.
    """
    entry = decode_entry(data)
    metadata = entry.metadata
    if is_marker(metadata.marker_type):
        return []
    if entry.checksum_state == "mismatch":
        raise undecodable("an entry whose checksum agrees", "another checksum")
    if metadata.encryption_keys or (metadata.num_chunks_from_msg or 1) > 1:
        raise undecodable("a payload of one entry, not encrypted", "another", field="payload")
    payload = data[entry.layout.payload_offset :]
    if metadata.compression not in (None, "NONE"):
        payload = decompress(metadata.compression or "", payload, metadata.uncompressed_size or 0, MAX_PAYLOAD_BYTES)
    if metadata.num_messages_in_batch is None:
        value = None if metadata.null_value or not payload else payload
        return [SystemMessage(None, metadata.publish_time, metadata.partition_key, value)]
    return [
        SystemMessage(
            one.batch_index, metadata.publish_time, one.partition_key,
            None if one.null_value or not one.payload else one.payload,
        )
        for one in read_batch(payload, metadata.num_messages_in_batch)
        if not one.compacted_out
    ]  # fmt: skip


@dataclass(frozen=True)
class _EventReader:
    """A schema of events: full name of its record, and what reads its values."""

    name: str
    codec: RowCodec

    def read(self, payload: bytes) -> Mapping[str, Any] | None:
        """The value that the whole of a payload is; None where it is none."""
        read = self.codec.values(pa.array([payload], pa.binary()))
        value = read.values.to_pylist(maps_as_pydicts="lossy")[0]
        return value if read.errors[0] is None and isinstance(value, dict) else None


def _reader(definition: bytes) -> _EventReader | None:
    """What reads events of a schema; None where it is another's, or cannot be read."""
    try:
        schema = avro_schema(definition)
        record = schema if isinstance(schema, dict) else {}
        name = full_name(str(record.get("name", "")), str(record.get("namespace", "")))
        return _EventReader(name, avro_row_codec(schema, schema)) if name in _KIND_OF_RECORD else None
    except Undecodable:
        return None


class EventSchemas:
    """Schemas that events are read by: those of the audited cluster first, then the ones that come with the program."""

    def __init__(self, definitions: Iterable[bytes] = ()) -> None:
        readers = {definition: _reader(definition) for definition in definitions}
        self._readers = [*(one for one in readers.values() if one is not None), *_bundled()]

    def read(self, payload: bytes, kind: str | None = None) -> Event:
        """The event in a payload, by the first schema that reads the whole of it.

        Args:
            payload: of one message.
            kind: of the topic; None tries all.

        Raises:
            DecodeError: no schema fits.
        """
        for reader in self._readers:
            of = _KIND_OF_RECORD[reader.name]
            value = reader.read(payload) if kind in (None, of) else None
            if value is not None and _is_plausible(of, value):
                return Event(of, reader.name.rpartition(".")[2], value)
        raise undecodable("an event of a schema that is known", "none that fits", payload, field="payload")


def _is_plausible(kind: str, value: Mapping[str, Any]) -> bool:
    """Whether it says what it is about; other bytes may fit a schema by chance."""
    if kind == "topic_policies":
        return value.get("eventType") == "TOPIC_POLICY" and isinstance(value.get("topicPoliciesEvent"), dict)
    return isinstance(value.get("topicName"), str) and "://" in value["topicName"]


@cache
def _bundled() -> tuple[_EventReader, ...]:
    folder = resources.files("pulsar_backlog.internals")
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".avsc")), key=lambda one: one.name)
    return tuple(reader for one in files if (reader := _reader(one.read_bytes())))


def without_nulls(value: Any) -> Any:
    """A value as people read it: fields that are null, and empty collections, left out; bytes as hexadecimal digits."""
    if isinstance(value, Mapping):
        pairs = ((name, without_nulls(one)) for name, one in value.items())
        return {name: one for name, one in pairs if one not in (None, {}, [])}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


def aborts_of(value: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Transactions that a snapshot lists as aborted, as most and least bits."""
    for one in value.get("aborts") or ():
        if isinstance(one, Mapping):
            most = one.get("txnIdMostBits", one.get("mostSigBits"))
            least = one.get("txnIdLeastBits", one.get("leastSigBits"))
            if isinstance(most, int) and isinstance(least, int):
                yield most, least
