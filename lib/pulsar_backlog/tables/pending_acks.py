"""`pending_acks`: acknowledgements that transactions made on subscriptions."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="pending_acks",
    comment="One row per record of a log of pending acknowledgements. `topic` is the log's own name, `<topic>-<subscription>__transaction_pending_ack`.",
    columns=(
        CLUSTER,
        TOPIC,
        Column("about_topic", "string", "Topic whose messages are acknowledged; null when no known subscription has this log."),
        Column("subscription", "string", "Subscription on it; null as above."),
        LEDGER_ID,
        ENTRY_ID,
        required("record", "int", "Number of the record or message in its entry, from 0."),
        required("txn", "string", "Transaction id, `most:least`: coordinator and number."),
        required("operation", "string", "`ack`, `commit` or `abort`."),
        Column("ack_type", "string", "`individual` or `cumulative`; null when it does not say."),
        required("positions", "array<struct<ledger_id:bigint,entry_id:bigint,batch_size:int>>", "Entries that are acknowledged when the transaction commits."),
        required("outcome", "string", "What became of the transaction on this subscription, as far as was read: `committed`, `aborted` or `pending`."),
    ),
    key=("cluster", "ledger_id", "entry_id", "record"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
