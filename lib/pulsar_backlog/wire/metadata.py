"""MessageMetadata and BrokerEntryMetadata of one entry, as frozen records in the wire's terms.

Source: PulsarApi.proto (the pinned file is named in `proto/pulsar_messages.proto`). Absent is None; text that is
not UTF-8 is decoded with replacement characters and flagged. 64-bit unsigned numbers are read as signed, so that
the sequence id of a transaction marker is -1 and every number fits a SQL bigint.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.metadata_fields import METADATA_FIELDS, Kind, MetadataField
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb

COMPRESSIONS: tuple[str, ...] = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
"""Names of CompressionType, by number."""

END_OF_TIME_MS = 253_402_300_800_000
"""First millisecond of the year 10000: times from here on do not fit SQL timestamps."""

FLAG_UNKNOWN_FIELDS = "unknown_fields"
FLAG_TIME_OUT_OF_RANGE = "time_out_of_range"
FLAG_NOT_UTF8 = "text_not_utf8"
FLAG_REPEATED_PROPERTY = "repeated_property"
FLAG_UNKNOWN_COMPRESSION = "unknown_compression"
FLAGS: dict[str, str] = {
    FLAG_UNKNOWN_FIELDS: "Metadata holds fields this version does not know.",
    FLAG_TIME_OUT_OF_RANGE: "A time lies outside the years 1970 to 9999; its column is null.",
    FLAG_NOT_UTF8: "A text field holds bytes that are not UTF-8; shown with replacement characters.",
    FLAG_REPEATED_PROPERTY: "A property key occurs more than once; the last value is kept, as clients do.",
    FLAG_UNKNOWN_COMPRESSION: "The codec's number is not known.",
}
"""Flags of an entry that is odd but readable, with their sentences."""


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """One wrapped data key: the wrapping key's name, the wrapped bytes, and what its provider noted."""

    key: str
    value: bytes
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class BrokerMetadata:
    """BrokerEntryMetadata (PIP-70); the index is that of the entry's last message."""

    broker_timestamp: int | None
    index: int | None


@dataclass(frozen=True, slots=True)
class MessageMetadata:
    """MessageMetadata under its wire names (`METADATA_FIELDS`); times in milliseconds since 1970; None is absent."""

    producer_name: str
    sequence_id: int
    publish_time: int
    properties: dict[str, str] | None
    replicated_from: str | None
    partition_key: str | None
    replicate_to: list[str] | None
    compression: str | None
    uncompressed_size: int | None
    num_messages_in_batch: int | None
    event_time: int | None
    encryption_keys: list[EncryptionKey] | None
    encryption_algo: str | None
    encryption_param: bytes | None
    schema_version: bytes | None
    partition_key_b64_encoded: bool | None
    ordering_key: bytes | None
    deliver_at_time: int | None
    marker_type: int | None
    txnid_least_bits: int | None
    txnid_most_bits: int | None
    highest_sequence_id: int | None
    null_value: bool | None
    uuid: str | None
    num_chunks_from_msg: int | None
    total_chunk_msg_size: int | None
    chunk_id: int | None
    null_partition_key: bool | None
    compacted_batch_indexes: list[int] | None
    schema_id: bytes | None
    entry_hash_min: int | None
    entry_hash_max: int | None


def signed64(value: int) -> int:
    """The unsigned 64-bit `value` read as signed."""
    return value - (1 << 64) if value >= 1 << 63 else value


def decode_broker_metadata(data: bytes, offset: int, flags: set[str]) -> BrokerMetadata:
    """Decode part A of an entry; `offset` is where `data` stands in the entry, for errors.

    Raises:
        DecodeError: `broker_metadata_undecodable`.
    """
    message = pb.BrokerEntryMetadata()
    _parse(message, data, offset, "broker_metadata_undecodable", "broker_metadata", flags)
    timestamp = signed64(message.broker_timestamp) if message.HasField("broker_timestamp") else None
    if timestamp is not None and not time_in_range(timestamp):
        flags.add(FLAG_TIME_OUT_OF_RANGE)
    return BrokerMetadata(timestamp, signed64(message.index) if message.HasField("index") else None)


def decode_message_metadata(data: bytes, offset: int, flags: set[str]) -> MessageMetadata:
    """Decode part C of an entry; `offset` is where `data` stands in the entry, for errors.

    Adds to `flags` what is odd but readable (see `FLAGS`).

    Raises:
        DecodeError: `metadata_undecodable` or `metadata_incomplete`.
    """
    message = pb.MessageMetadata()
    _parse(message, data, offset, "metadata_undecodable", "metadata", flags)
    missing = [one.name for one in METADATA_FIELDS if one.required and not message.HasField(one.name)]
    if missing:
        raise DecodeError(
            "metadata_incomplete",
            offset=offset,
            field=f"metadata.{missing[0]}",
            expected="a required field",
            found="nothing",
            context=data,
        )
    if not message.IsInitialized():
        raise DecodeError(
            "metadata_incomplete",
            offset=offset,
            field="metadata",
            expected="a required field",
            found="nothing",
            context=data,
        )
    _flag_times(message, flags)
    return _record(_Reader(message, flags))


def time_in_range(time_ms: int) -> bool:
    """Whether a time fits SQL timestamps of the years 1970 to 9999."""
    return 0 <= time_ms < END_OF_TIME_MS


def compression_name(number: int) -> str:
    """Name of a CompressionType, `UNKNOWN(n)` for a number of a newer version."""
    return COMPRESSIONS[number] if 0 <= number < len(COMPRESSIONS) else f"UNKNOWN({number})"


def _parse(message: Message, data: bytes, offset: int, code: str, field: str, flags: set[str]) -> None:
    try:
        message.ParseFromString(data)
    except ProtobufError as error:
        raise DecodeError(
            code,
            offset=offset,
            field=field,
            expected="valid protobuf",
            found=f"{len(data)} other bytes",
            context=data,
        ) from error
    if _has_unknown(message):
        flags.add(FLAG_UNKNOWN_FIELDS)


def _has_unknown(message: Message) -> bool:
    if len(UnknownFieldSet(message)):
        return True
    return any(
        _has_unknown(child)
        for descriptor, value in message.ListFields()
        if descriptor.message_type is not None
        for child in value
    )


def _flag_times(message: pb.MessageMetadata, flags: set[str]) -> None:
    times = (signed64(message.publish_time), signed64(message.event_time), message.deliver_at_time)
    if not all(time_in_range(t) for t in times):
        flags.add(FLAG_TIME_OUT_OF_RANGE)


class _Reader:
    """Reads optional fields of one message: None when absent, text as text."""

    def __init__(self, message: pb.MessageMetadata, flags: set[str]) -> None:
        self._message = message
        self._flags = flags

    def read(self, one: MetadataField) -> Any:
        """The field's value as the record holds it."""
        value = getattr(self._message, one.name)
        match one.kind:
            case Kind.PROPERTIES:
                return self.pairs(value) or None
            case Kind.TEXTS:
                return [self.decode(text) for text in value] or None
            case Kind.INT32S:
                return list(value) or None
            case Kind.KEYS:
                return [
                    EncryptionKey(self.decode(k.key), bytes(k.value), self.pairs(k.metadata)) for k in value
                ] or None
        return self.scalar(one.kind, value) if self._message.HasField(one.name) else None

    def key(self, key: pb.EncryptionKeys) -> EncryptionKey:
        return EncryptionKey(self.decode(key.key), bytes(key.value), self.pairs(key.metadata))

    def scalar(self, kind: Kind, value: Any) -> Any:
        match kind:
            case Kind.TEXT:
                return self.decode(value)
            case Kind.BYTES | Kind.BOOL:
                return value
            case Kind.CODEC:
                return self.compression(value)
        return signed64(value)

    def decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._flags.add(FLAG_NOT_UTF8)
            return data.decode(errors="replace")

    def pairs(self, pairs: Collection[pb.KeyValue]) -> dict[str, str]:
        values = {self.decode(p.key): self.decode(p.value) for p in pairs}
        if len(values) < len(pairs):
            self._flags.add(FLAG_REPEATED_PROPERTY)
        return values

    def compression(self, number: int) -> str:
        if not 0 <= number < len(COMPRESSIONS):
            self._flags.add(FLAG_UNKNOWN_COMPRESSION)
        return compression_name(number)


def _record(reader: _Reader) -> MessageMetadata:
    return MessageMetadata(**{one.name: reader.read(one) for one in METADATA_FIELDS})
