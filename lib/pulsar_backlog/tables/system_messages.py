"""`system_messages`: messages of other system topics: functions, loads of brokers and the like."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="system_messages",
    comment="One row per message of a system topic that has no table of its own; without its payload.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        required("record", "int", "Number of the record or message in its entry, from 0."),
        Column("publish_time", "timestamp", "When the broker published it."),
        required("kind", "string", "`functions`, `load_report` or `system_topic`."),
        Column("key", "string", "Key of the message; null without one."),
        Column("payload_bytes", "bigint", "Bytes of its payload; null of a deletion."),
    ),
    key=("cluster", "ledger_id", "entry_id", "record"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
