"""`chunks`: every stored chunk entry, the publication it belongs to, and its role there."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, Column, Table, required

TABLE = Table(
    name="chunks",
    comment="One row per stored chunk entry: which publication it belongs to and what it is there.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        LEDGER_ID,
        ENTRY_ID,
        required("chunk_uuid", "string", "`uuid` of the chunk; empty when it carries none."),
        Column("publish_time", "timestamp", "Publish time of its publication, UTC; null when out of range."),
        required("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970."),
        Column("chunk_id", "int", "Place of the chunk, from 0; null when absent."),
        required("role", "string", "`used` (in the manifest or needed for the message), `duplicate`, `residue` (left after completion), `orphan` (its message is incomplete), `conflicting` (says or holds something else than its siblings)."),
        required("payload_length", "int", "Bytes of the payload as stored."),
        required("checksum_state", "string", "`valid`, `mismatch` or `absent`."),
    ),
    key=("cluster", "ledger_id", "entry_id"),
    slice_columns=("cluster", "topic"),
    statistics=("cluster", "topic", "ledger_id", "entry_id", "chunk_uuid"),
)
