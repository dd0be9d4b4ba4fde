"""`compacted_ledgers`: compacted topics in BookKeeper: which positions of the log they hold, and how far."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table

TABLE = Table(
    name="compacted_ledgers",
    comment="One row per compacted ledger that was read, or that a cursor of compaction names.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        Column("entries", "bigint", "Entries of it; null when its bytes are not in the source."),
        Column("first_ledger_id", "bigint", "Ledger of the first message in it; null when it has none, or its bytes are not in the source."),
        Column("first_entry_id", "bigint", "Its entry."),
        Column("last_ledger_id", "bigint", "Ledger of the last message in it; null as above."),
        Column("last_entry_id", "bigint", "Its entry."),
        Column("horizon_ledger_id", "bigint", "Ledger of the position up to which the log was compacted, by the ledger's own metadata; null when they were not saved."),
        Column("horizon_entry_id", "bigint", "Its entry."),
        Column("is_current", "boolean", "Whether the cursor of compaction names it; null when that is not known."),
    ),
    key=("cluster", "ledger_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
