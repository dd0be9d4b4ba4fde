"""What all chunks of one healthy message share besides sizes and codec: its digest tells a metadata conflict."""

from __future__ import annotations

from pulsar_backlog.wire.metadata import MessageMetadata

REPLICATION_POSITION = "__MSG_PROP_REPL_SOURCE_POSITION"
"""Property a replicator sets on every entry; it differs between chunks of one healthy message."""

SHARED_FIELDS = (
    "partition_key", "partition_key_b64_encoded", "null_partition_key", "ordering_key", "event_time",
    "schema_version", "schema_id", "deliver_at_time", "txnid_most_bits", "txnid_least_bits", "null_value",
)  # fmt: skip
"""Fields of the message metadata, and columns of `entries`, that the digest is made of, beside the properties."""


def shared_values(metadata: MessageMetadata) -> tuple[object, ...]:
    """What the digest of one entry is made of; properties but the replicator's own."""
    properties = (metadata.properties or {}).items()
    own = sorted(pair for pair in properties if pair[0] != REPLICATION_POSITION)
    return (*(getattr(metadata, name) for name in SHARED_FIELDS), tuple(own))
