"""`entry_spans`: sizes of entries in stretches: sums where whole stretches count, and lists where a part of one does.

What a subscription has acknowledged cuts a ledger where it likes. Whole spans are told by their sums; only where a cut
goes through a span are its lists read.
"""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="entry_spans",
    comment="One row per stretch of up to 65,536 decoded entries of a ledger: their sums, and their sizes as lists.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("first_entry_id", "bigint", "First entry of the span."),
        required("last_entry_id", "bigint", "Last entry of the span."),
        required("entries", "bigint", "Entries in it."),
        required("messages", "bigint", "Messages in it; a chunk counts as one, a marker as none."),
        required("bytes", "bigint", "Bytes of the entries."),
        required("first_publish_time_ms", "bigint", "Publish time of its first entry, as on the wire."),
        Column("first_broker_time_ms", "bigint", "When the broker added its first entry, milliseconds since 1970; null where the entry does not tell, and of ledgers that an earlier release read.", since=2),
        Column("entry_ids", "array<bigint>", "Ids of the entries; null when they follow each other without a gap."),
        required("lengths", "array<int>", "Bytes of each entry."),
        required("message_counts", "array<int>", "Messages in each entry."),
        required("publish_times_ms", "array<bigint>", "Publish time of each entry, as on the wire."),
        Column("broker_times_ms", "array<bigint>", "When the broker added each entry; null when none of them tells, and of ledgers that an earlier release read.", since=2),
        Column("untimed", "array<int>", "Places in the lists (from 0) of markers, damaged entries and those whose publish time is out of range; null when there are none."),
    ),
    key=("cluster", "ledger_id", "first_entry_id"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "topic", "ledger_id", "first_entry_id", "last_entry_id"),
    ascending=("first_entry_id", "last_entry_id", "lengths", "publish_times_ms", "broker_times_ms"),
    row_group_bytes=4 * 1024 * 1024,  # two or three full spans: who wants one reads no more
    largest_row_bytes=2 * 1024 * 1024,
)
