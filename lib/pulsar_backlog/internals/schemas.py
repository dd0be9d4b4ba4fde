"""Schemas: an entry of a schema ledger, and the locator in the metadata store that says which entries are in force.

```
SchemaEntry      2 schema_data  a SchemaInfo            5 index  earlier versions, repeated SchemaIndexEntry
SchemaIndexEntry 1 version      2 position {1 ledger, 2 entry}   3 hash (SHA-256 of the definition)
SchemaInfo       1 schema_id  2 user  3 type  4 schema  5 timestamp  6 deleted  7 props {1 key, 2 value}
SchemaLocator    1 info  the newest version             2 index  all versions
```

Each ledger holds one entry. A message names its version by 8 bytes, big-endian (`schema_version`). The entry does not
say which version it is: the locator does, or the number of versions in its own index (which a broker writes as the
version before, with position -1:-1 for the first).
Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/proto/SchemaStorageFormat.proto,
SchemaRegistryFormat.proto and
https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/service/schema/BookkeeperSchemaStorage.java
"""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_backlog.internals.protobuf import is_exact, parsed, text_of, undecodable
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.proto import internal_state_pb2 as pb

SCHEMA_TYPES = (
    None, "NONE", "STRING", "JSON", "PROTOBUF", "AVRO", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE",
    "DATE", "TIME", "TIMESTAMP", "KEY_VALUE", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME",
    "PROTOBUF_NATIVE", "EXTERNAL",
)  # fmt: skip
"""By the number on the wire."""

MAX_VERSION = 1 << 62
"""Versions are counted; what is larger is no version, and its successor would fit no column."""


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version in an index: its number, where its entry lies (None where nowhere yet), hash of the definition."""

    version: int
    position: Position | None
    hash: bytes


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """One entry of a schema ledger.

    Attributes:
        schema_id: `tenant/namespace/topic`.
        type: `AVRO`, `JSON`, ...; `UNKNOWN(n)` of a newer version.
        definition: the schema itself.
        user: who stored it; empty where nobody was known.
        time_ms: when.
        is_deletion: whether it says that the topic has no schema any more.
        index: versions that the entry knows.
        is_exact: whether the bytes are this and nothing else.
    """

    schema_id: str
    type: str
    definition: bytes
    user: str
    time_ms: int
    is_deletion: bool
    index: tuple[SchemaVersion, ...]
    is_exact: bool


def decode_schema(data: bytes) -> StoredSchema:
    """Read one entry of a schema ledger.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    entry = parsed(pb.SchemaEntry, data, "SchemaEntry")
    if not entry.HasField("schema_data"):
        raise undecodable("a SchemaEntry with a schema", "none", data)
    info = parsed(pb.SchemaInfo, entry.schema_data, "SchemaInfo")
    if not (info.HasField("schema_id") and info.HasField("type") and info.HasField("timestamp")):
        raise undecodable("a SchemaInfo with id, type and time", "one without", data)
    return StoredSchema(
        schema_id=text_of(info.schema_id),
        type=_type(info.type),
        definition=info.schema,
        user=text_of(info.user),
        time_ms=info.timestamp,
        is_deletion=info.deleted,
        index=tuple(_version(one) for one in entry.index),
        is_exact=is_exact(entry) and is_exact(info),
    )


def decode_locator(data: bytes) -> tuple[SchemaVersion, ...]:
    """All versions that a `SchemaLocator` of the metadata store knows, by version.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    locator = parsed(pb.SchemaLocator, data, "SchemaLocator")
    if not locator.HasField("info"):
        raise undecodable("a SchemaLocator with its newest version", "none", data)
    versions = {one.version: _version(one) for one in (*locator.index, locator.info)}
    return tuple(versions[number] for number in sorted(versions))


def version_number(schema_version: bytes) -> int | None:
    """The version that a message names; None where it is no number (empty bytes, or a schema of its client only)."""
    return int.from_bytes(schema_version, "big") if len(schema_version) == 8 else None


def _version(entry: pb.SchemaIndexEntry) -> SchemaVersion:
    if not 0 <= entry.version < MAX_VERSION:
        raise undecodable(f"versions from 0 to {MAX_VERSION}", str(entry.version))
    position = entry.position.ledger_id, entry.position.entry_id
    return SchemaVersion(
        entry.version, position if entry.HasField("position") and min(position) >= 0 else None, entry.hash
    )


def _type(number: int) -> str:
    name = SCHEMA_TYPES[number] if 0 <= number < len(SCHEMA_TYPES) else None
    return name or f"UNKNOWN({number})"
