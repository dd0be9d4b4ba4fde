"""`deduplication_snapshots`: up to which sequence id each producer's messages are in a topic."""

from pulsar_backlog.tables.contract import CLUSTER, TOPIC, Column, Table, required

TABLE = Table(
    name="deduplication_snapshots",
    comment="One row per topic and producer in the newest state of the cursor `pulsar.dedup`.",
    columns=(
        CLUSTER,
        TOPIC,
        required("producer", "string", "Name of the producer."),
        required("sequence_id", "bigint", "Highest sequence id that the snapshot knows; what comes with it or a lower one is dropped as a duplicate."),
        required("position_ledger_id", "bigint", "Ledger of the entry up to which the snapshot counts; what follows a broker reads again."),
        required("position_entry_id", "bigint", "Its entry."),
        required("source", "string", "`cursor_ledger` or `metadata_store`."),
        Column("ledger_id", "bigint", "Cursor ledger that it was read from; null from the metadata store."),
    ),
    key=("cluster", "topic", "producer"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
