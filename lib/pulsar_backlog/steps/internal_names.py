"""Tables about ledgers of the cluster's own state, and those that their answers hang on."""

from __future__ import annotations

TABLES_OF_KINDS = {
    "topic_policies": ("topic_policies",),
    "transaction_log": ("transaction_log",),
    "transaction_snapshots": ("transaction_snapshot",),
    "pending_acks": ("pending_ack",),
    "cursor_states": ("cursor", "deduplication"),
    "delayed_indexes": ("delayed_bucket",),
    "system_messages": ("functions", "load_report", "system_topic"),
}
"""Tables whose rows are entries, each with the kinds of ledgers that they are from."""
INTERNAL_TABLES = (
    "internal_ledgers", "schema_versions", "compacted_ledgers", "deduplication_snapshots", "delayed_buckets",
    "cut_off_entries", *TABLES_OF_KINDS,
)  # fmt: skip
LOG_TABLES = ("scans", "subscriptions")
"""What the answers hang on beside internal ledgers; `entries` change with `scans`."""
