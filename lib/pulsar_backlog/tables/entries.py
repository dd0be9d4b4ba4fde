"""`entries`: every stored entry with its location and all its metadata, and no payload.

Columns between `broker_timestamp` and `entry_hash_max` are the fields of `BrokerEntryMetadata` and
`MessageMetadata` (PulsarApi.proto) under their wire names; absent on the wire is null, never a default.
"""

from collections.abc import Iterator

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required
from pulsar_backlog.wire.metadata_fields import METADATA_FIELDS, SQL_TYPES, Kind

LOCATION_COLUMNS = (
    CLUSTER,
    TOPIC,
    LEDGER_ID,
    ENTRY_ID,
    required("uri", "string", "Object that holds the entry, relative to the source."),
    required("offset", "bigint", "First byte of the entry in that object; where the store compresses, of the block or record that holds it."),
    required("length", "int", "Bytes of the entry: broker metadata, checksum, metadata and payload."),
    Column("inner_offset", "bigint", "First byte of the entry within that block or record, decompressed, where the store compresses; else null."),
    Column("block_length", "bigint", "Stored bytes of that block or record, where the store compresses; else null."),
    required("payload_offset", "int", "First byte of the payload within the entry."),
    required("payload_length", "int", "Bytes of the payload as stored (compressed, encrypted)."),
)
CHECKSUM_COLUMNS = (
    required("checksum_state", "string", "`valid`, `mismatch` (the bytes are not what the producer sent) or `absent`."),
    Column("checksum", "bigint", "Stored CRC-32C of metadata and payload, unsigned; null when absent."),
    Column("payload_crc32c", "bigint", "CRC-32C of the payload alone, unsigned; computed for chunks only, to tell copies apart."),
)
BROKER_COLUMNS = (
    required("has_broker_metadata", "boolean", "Whether the entry begins with broker entry metadata (PIP-70)."),
    Column("broker_timestamp", "timestamp", "When the broker added the entry, UTC."),
    Column("index", "bigint", "Running index of the last message of the entry."),
)
_PUBLISH_TIME_MS = required("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970, read as signed.")


def _metadata_columns() -> Iterator[Column]:
    for field in METADATA_FIELDS:
        # A time that every message has may still be one that SQL cannot hold.
        nullable = not field.required or field.kind is Kind.TIME
        yield Column(field.name, SQL_TYPES[field.kind], field.comment, nullable)
        if field.name == "publish_time":
            yield _PUBLISH_TIME_MS


METADATA_COLUMNS = tuple(_metadata_columns())
TABLE = Table(
    name="entries",
    comment="One row per stored entry that could be decoded: location, checksum, broker and message metadata. No payload.",
    columns=(
        *LOCATION_COLUMNS,
        *CHECKSUM_COLUMNS,
        *BROKER_COLUMNS,
        *METADATA_COLUMNS,
        Column("flags", "array<string>", "Oddities that did not stop decoding, see docs/findings.md; null when there are none."),
    ),
    key=("cluster", "ledger_id", "entry_id"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "topic", "ledger_id", "entry_id", "publish_time", "uuid"),
    ascending=("entry_id", "offset", "index", "broker_timestamp", "publish_time", "publish_time_ms", "event_time",
               "sequence_id", "highest_sequence_id"),
    unique=("checksum", "payload_crc32c", "uuid"),
    repeated=("cluster", "topic", "uri", "checksum_state", "producer_name", "compression", "schema_version"),
)
