"""The fields of `MessageMetadata`: number, name, kind and meaning of each, stated once.

Kernel, Arrow columns, record and the contract of `entries` derive from this table; the protobuf file declares the same
fields for protobuf's own parser, and a test holds both against each other.
Source: PulsarApi.proto (the pinned file is named in `proto/pulsar_messages.proto`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a field holds.

    `INT64` is the wire's 64 bits read as signed. `TIME` is milliseconds since 1970, UTC; null where SQL timestamps do
    not reach. `CODEC` is the number of a CompressionType, shown by name. `KEYS` are wrapped data keys.
    """

    TEXT, BYTES, BOOL, INT32, UINT32, INT64, TIME, CODEC, PROPERTIES, TEXTS, INT32S, KEYS = range(12)


SQL_TYPES: dict[Kind, str] = {
    Kind.TEXT: "string",
    Kind.BYTES: "binary",
    Kind.BOOL: "boolean",
    Kind.INT32: "int",
    Kind.UINT32: "bigint",
    Kind.INT64: "bigint",
    Kind.TIME: "timestamp",
    Kind.CODEC: "string",
    Kind.PROPERTIES: "map<string,string>",
    Kind.TEXTS: "array<string>",
    Kind.INT32S: "array<int>",
    Kind.KEYS: "array<struct<key:string,value:binary,metadata:map<string,string>>>",
}
"""The type of each kind's column in `entries`."""


class MetadataField(NamedTuple):
    """One field: its number and name on the wire, its kind, what it means, and whether every message has it."""

    number: int
    name: str
    kind: Kind
    comment: str
    required: bool = False


METADATA_FIELDS: tuple[MetadataField, ...] = (
    MetadataField(1, "producer_name", Kind.TEXT, "Name of the producer.", required=True),
    MetadataField(2, "sequence_id", Kind.INT64, "Producer's sequence id, the wire's unsigned 64 bits read as signed (markers have -1).", required=True),
    MetadataField(3, "publish_time", Kind.TIME, "When the producer sent it by its own clock, UTC; null when out of range.", required=True),
    MetadataField(4, "properties", Kind.PROPERTIES, "Message properties; of a repeated key the last value; null when there are none."),
    MetadataField(5, "replicated_from", Kind.TEXT, "Cluster the message was replicated from."),
    MetadataField(6, "partition_key", Kind.TEXT, "Key, base64 text where `partition_key_b64_encoded`."),
    MetadataField(7, "replicate_to", Kind.TEXTS, "Clusters to replicate to; null when there are none."),
    MetadataField(8, "compression", Kind.CODEC, "`NONE`, `LZ4`, `ZLIB`, `ZSTD`, `SNAPPY` or `UNKNOWN(n)`; null means NONE."),
    MetadataField(9, "uncompressed_size", Kind.UINT32, "Bytes of the payload before compression, for a chunk those of the whole message."),
    MetadataField(11, "num_messages_in_batch", Kind.INT32, "Messages in the batch; null means one bare message, 1 a framed batch of one."),
    MetadataField(12, "event_time", Kind.TIME, "Event time set by the application, UTC; null when unset (0 or absent) or out of range."),
    MetadataField(13, "encryption_keys", Kind.KEYS, "Wrapped data keys with the names of their wrapping keys; null when not encrypted."),
    MetadataField(14, "encryption_algo", Kind.TEXT, "Encryption algorithm as recorded (often empty)."),
    MetadataField(15, "encryption_param", Kind.BYTES, "Initialisation vector."),
    MetadataField(16, "schema_version", Kind.BYTES, "Schema version bytes."),
    MetadataField(17, "partition_key_b64_encoded", Kind.BOOL, "Whether the key is base64."),
    MetadataField(18, "ordering_key", Kind.BYTES, "Ordering key."),
    MetadataField(19, "deliver_at_time", Kind.TIME, "Earliest delivery asked for, UTC; null when absent or out of range."),
    MetadataField(20, "marker_type", Kind.INT32, "Set on server-internal markers, which are not messages: 10-13 replicated subscriptions, 20-22 transactions."),
    MetadataField(22, "txnid_least_bits", Kind.INT64, "Transaction id, low half, read as signed."),
    MetadataField(23, "txnid_most_bits", Kind.INT64, "Transaction id, high half, read as signed."),
    MetadataField(24, "highest_sequence_id", Kind.INT64, "Highest sequence id of the batch, read as signed."),
    MetadataField(25, "null_value", Kind.BOOL, "Whether the value is null rather than empty."),
    MetadataField(26, "uuid", Kind.TEXT, "Chunk group id, `producer-sequence`; reused after restarts, so see publish_time."),
    MetadataField(27, "num_chunks_from_msg", Kind.INT32, "Chunks the message was cut into."),
    MetadataField(28, "total_chunk_msg_size", Kind.INT32, "Bytes of the whole message, compressed and not encrypted."),
    MetadataField(29, "chunk_id", Kind.INT32, "Place of this chunk, from 0."),
    MetadataField(30, "null_partition_key", Kind.BOOL, "Whether the key is null rather than empty."),
    MetadataField(31, "compacted_batch_indexes", Kind.INT32S, "Batch indexes kept by compaction (PIP-429)."),
    MetadataField(32, "schema_id", Kind.BYTES, "Schema id (PIP-420)."),
    MetadataField(33, "entry_hash_min", Kind.UINT32, "Lowest key hash in the entry (PIP-486)."),
    MetadataField(34, "entry_hash_max", Kind.UINT32, "Highest key hash in the entry (PIP-486)."),
)
"""In the order of their numbers, which is that of the columns."""

NUMBER_OF: dict[str, int] = {field.name: field.number for field in METADATA_FIELDS}
"""Field numbers by name."""


def numbers_of(*kinds: Kind) -> tuple[int, ...]:
    """Numbers of the fields of these kinds, ascending."""
    return tuple(field.number for field in METADATA_FIELDS if field.kind in kinds)
