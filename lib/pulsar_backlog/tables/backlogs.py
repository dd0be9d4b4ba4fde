"""`backlogs`: what each subscription had not acknowledged, night after night."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="backlogs",
    comment="One row per subscription and comparison: its backlog when its state was saved. The view `backlog_growth` says what becomes of it.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("subscription", "string", "Name of the subscription."),
        required("run_id", "string", "Run of `compare_audits` that wrote the row, as in `runs`."),
        required("compared_at", "timestamp", "When that run started, UTC."),
        Column("saved_time", "timestamp", "When the state of the subscription was saved, UTC, as `saved_states` has it; null when nothing says."),
        required("comparable", "boolean", "Whether the numbers can be held against those of other nights: the state is whole, certain and of a known time, and no ledger of its topic or of no known topic was unread."),
        Column("backlog_entries", "bigint", "Stored entries that were not acknowledged; null when the state is unknown."),
        Column("backlog_bytes", "bigint", "Bytes of those entries."),
        Column("unstored_entries", "bigint", "Unacknowledged entries of ledgers that the broker knew and the audit did not hold; null when nobody counted them."),
        Column("counted_by", "string", "Who counted `unstored_entries`: `ledgers` (lengths of ledgers, which are exact) or `stats` (the broker's own count of the backlog, less what is stored of it); null when nobody did.", since=2),
        Column("oldest_unacked_time", "timestamp", "When the oldest stored entry that was not acknowledged was published, UTC."),
        Column("oldest_unacked_broker_time", "timestamp", "When the broker added it, UTC; null when its entry does not tell.", since=3),
        Column("mark_delete_ledger_id", "bigint", "Ledger of the mark-delete position."),
        Column("mark_delete_entry_id", "bigint", "Entry of the mark-delete position."),
    ),
    key=("cluster", "topic", "subscription", "run_id"),
    slice_columns=("cluster", "run_id"),
    statistics=("cluster", "topic", "subscription"),
)  # fmt: skip
