"""`transaction_snapshots`: what brokers noted of aborted transactions of topics."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="transaction_snapshots",
    comment="One row per snapshot of a topic's transactions in `__transaction_buffer_snapshot` and its kin.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        required("record", "int", "Number of the record or message in its entry, from 0."),
        Column("publish_time", "timestamp", "When the broker published it."),
        Column("about_topic", "string", "Topic that it is of."),
        Column("record_type", "string", "`TransactionBufferSnapshot`, `...Segment` or `...Indexes`; null of a deletion."),
        required("aborted", "array<string>", "Transactions that were aborted, `most:least`."),
        Column("read_up_to_ledger_id", "bigint", "Ledger of the last entry that consumers could read then; null of a deletion."),
        Column("read_up_to_entry_id", "bigint", "Its entry; null of a deletion."),
        required("is_current", "boolean", "Whether nothing that was read replaces it, of the same topic."),
    ),
    key=("cluster", "ledger_id", "entry_id", "record"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
