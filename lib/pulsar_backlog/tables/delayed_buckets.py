"""`delayed_buckets`: where brokers keep the index of delayed messages, and what became of each part of it."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="delayed_buckets",
    comment="One row per bucket of delayed messages: a ledger that a property of a subscription's cursor names, or that was read. Its messages stand in `delayed_indexes`.",
    columns=(
        CLUSTER,
        TOPIC,
        Column("subscription", "string", "Subscription; null when nothing names it."),
        LEDGER_ID,
        Column("first_ledger_id", "bigint", "First ledger of messages that the bucket is about; null when no cursor names the bucket."),
        Column("last_ledger_id", "bigint", "Last one; null as above."),
        Column("messages", "bigint", "Messages in it; null when its bytes are not in the source."),
        Column("first_deliver_time", "timestamp", "When the first of them is to be delivered; null when its bytes are not in the source."),
        Column("last_deliver_time", "timestamp", "When the last of them is; null as above."),
        required("is_named", "boolean", "Whether a property of a cursor names it."),
        required("verdict", "string", "As in `internal_ledgers`: `ok`, `lost` (the cursor names it, and BookKeeper has no such ledger), `leaked` (an orphan: no cursor names it), `cannot_tell`."),
    ),
    key=("cluster", "ledger_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
