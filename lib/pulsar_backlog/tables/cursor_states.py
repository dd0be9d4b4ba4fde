"""`cursor_states`: how subscriptions were acknowledged over time, from their cursor ledgers."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="cursor_states",
    comment="One row per state in a cursor ledger, at most the newest 1,000 of each.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        Column("subscription", "string", "Subscription; null when nothing names it."),
        required("mark_delete_ledger_id", "bigint", "Everything up to this position was acknowledged: its ledger."),
        required("mark_delete_entry_id", "bigint", "Its entry."),
        required("encoding", "string", "How acknowledged entries behind it are written: `none`, `ranges` or `long_array`."),
        required("ranges", "bigint", "Ranges of acknowledged entries behind it."),
        required("batches", "bigint", "Entries of which a part is acknowledged."),
        required("state_bytes", "bigint", "Bytes of the state."),
        required("properties", "map<string,bigint>", "Numbers stored with it: of `pulsar.dedup` sequence ids by producer, of `__compaction` the compacted ledger."),
    ),
    key=("cluster", "ledger_id", "entry_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
