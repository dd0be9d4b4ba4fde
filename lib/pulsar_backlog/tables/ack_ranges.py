"""`ack_ranges`: what a subscription has not acknowledged, as runs of stored entries."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, Column, Table, required

TABLE = Table(
    name="ack_ranges",
    comment="One row per run of stored entries of one ledger that a subscription has not acknowledged.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("subscription", "string", "Name of the subscription."),
        LEDGER_ID,
        required("first_entry_id", "bigint", "First entry of the run."),
        required("last_entry_id", "bigint", "Last entry of the run, included."),
        required("kind", "string", "`hole` (an acknowledged entry follows), `tail` (none follows) or `batch_hole` (one entry, part of whose batch is acknowledged)."),
        required("entries", "bigint", "Stored entries in the run; fewer than its length where entries are missing."),
        required("messages", "bigint", "Messages in them that are not acknowledged; a chunk counts as one, a marker as none."),
        required("bytes", "bigint", "Bytes of those entries."),
        Column("unacked_batch_indexes", "array<int>", "Of a `batch_hole`: batch indexes that are not acknowledged, at most the first 1000; else null."),
    ),
    key=("cluster", "topic", "subscription", "ledger_id", "first_entry_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic", "subscription", "ledger_id", "first_entry_id"),
)
