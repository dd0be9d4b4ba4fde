"""`transaction_log`: what transaction coordinators wrote of transactions of v4 clients."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="transaction_log",
    comment="One row per record of a transaction log.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        required("record", "int", "Number of the record or message in its entry, from 0."),
        required("txn", "string", "Transaction id, `most:least`: coordinator and number."),
        required("operation", "string", "`new`, `add_partition`, `add_subscription`, `update`."),
        Column("status", "string", "What the transaction is from then on: `open`, `committing`, `committed`, `aborting`, `aborted`; null when that does not change."),
        required("partitions", "array<string>", "Topics that were added."),
        required("subscriptions", "array<struct<topic:string,subscription:string>>", "Subscriptions that were added."),
        Column("timeout_ms", "bigint", "How long it may stay open; null except of `new`."),
        Column("start_time", "timestamp", "When it was opened; null except of `new`."),
        Column("changed_time", "timestamp", "When the record was made."),
    ),
    key=("cluster", "ledger_id", "entry_id", "record"),
    slice_columns=("cluster",),
    statistics=("cluster", "txn"),
)
