"""`delayed_indexes`: messages that are to be delivered later, as brokers' index knows them."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="delayed_indexes",
    comment="One row per message in a bucket of delayed messages.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        Column("subscription", "string", "Subscription; null when nothing names it."),
        Column("deliver_time", "timestamp", "When it is to be delivered."),
        required("message_ledger_id", "bigint", "Ledger of the message."),
        required("message_entry_id", "bigint", "Its entry."),
    ),
    key=("cluster", "ledger_id", "entry_id", "message_ledger_id", "message_entry_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
