"""`segments`: the parts of scalable topics (5.0), of the layout and of what is stored."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="segments",
    comment="One row per segment of a scalable topic that the layout names, or of which ledgers are stored or listed.",
    columns=(
        CLUSTER,
        required("topic", "string", "Scalable topic, `topic://tenant/namespace/name`."),
        required("segment", "string", "Name under which its entries stand in other tables: `segment://...`, or the old topic of one that was migrated."),
        required("segment_id", "bigint", "Its number in the topic; a child has a higher one than its parents."),
        required("first_hash", "bigint", "First key hash of its range, 0 to 65535."),
        required("last_hash", "bigint", "Last key hash of its range, inclusive."),
        required("status", "string", "`active` or `sealed` as the layout says; `pruned` where the layout lacks it and gave its number out before; `unlisted` where the layout never gave its number out; `unknown` without a layout."),
        Column("parents", "array<bigint>", "Segments that it was made of, as the layout says; without a layout, as the names of the stored segments tell; null where the layout does not name it."),
        Column("children", "array<bigint>", "Segments that were made of it, likewise."),
        Column("kin_sureness", "string", "How sure parents and children are: `certain` where the layout says them; `likely` where names of segments tell them and none is missing; `cannot_tell` where some are; null where nothing is known.", since=2),
        Column("created_epoch", "bigint", "Change of the layout that made it; null when not known."),
        Column("sealed_epoch", "bigint", "Change of the layout that sealed it; null while it is active, or when not known."),
        Column("created_time", "timestamp", "When it was made, UTC; null when not known."),
        Column("sealed_time", "timestamp", "When it was sealed, UTC; null while it is active, or when not known."),
        required("is_legacy", "boolean", "Whether it is a topic, or a partition, that was migrated."),
        Column("is_terminated", "boolean", "Whether its managed ledger takes no entries any more; null when that was not saved."),
        Column("first_ledger_id", "bigint", "First ledger that the broker lists of it: what the metadata store says of transactions holds from there on; null when that was not saved."),
        Column("watermark_ledger_id", "bigint", "Ledger of the last entry up to which all transactions are decided, as the metadata store says; null when that was not saved."),
        Column("watermark_entry_id", "bigint", "That entry."),
        required("ledgers", "bigint", "Its ledgers that are stored in the source."),
        required("entries", "bigint", "Entries of those that were scanned."),
        required("bytes", "bigint", "Bytes of those entries."),
        required("subscriptions", "array<string>", "Subscriptions that have a cursor on it, as saved state says, sorted."),
        Column("registered", "array<string>", "Those of them that the topic registers: of stream and checkpoint consumers. Others are of queue consumers; the store tells, so it is empty where no dump of it was saved.", since=2),
    ),
    key=("cluster", "topic", "segment_id", "segment"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic", "segment"),
)
