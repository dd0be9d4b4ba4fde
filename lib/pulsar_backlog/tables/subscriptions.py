"""`subscriptions`: every cursor: how far it is, what its state is made of, and what would become of that state."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

WHO_COLUMNS = (
    CLUSTER,
    required("topic", "string", "Full name of the topic partition."),
    required("subscription", "string", "Name of the subscription, decoded from the cursor's name."),
    required("kind", "string", "`subscription`, or what the broker uses the cursor for itself: `compaction`, `deduplication`, `replicator`; `reader`: a subscription that ends with its connection, on which nothing is stalled for good."),
    Column("subscription_type", "string", "`Exclusive`, `Failover`, `Shared`, `Key_Shared`; null when no saved stats say."),
    Column("consumers", "int", "Consumers connected when the stats were saved; null when no saved stats say."),
    Column("replicated", "boolean", "Whether it is a replicated subscription; null when no saved stats say."),
)
SOURCE_COLUMNS = (
    required("source", "string", "Where the state comes from: `cursor_ledger`, `metadata_store`, `stats_internal`, `info_internal`, or `stats` (which names the subscription and holds no position)."),
    Column("source_file", "string", "File it was read from, relative to the folder given."),
    Column("cursor_ledger_id", "bigint", "Cursor ledger that the state lies in; null when it lies in the metadata store or is not known."),
    Column("cursor_ledger_entry_id", "bigint", "Entry of the cursor ledger that the state was read from (the footer, when it has parts)."),
    required("state", "string", "`whole`; `older` (newer entries of the cursor ledger are torn or unreadable); `rolled_back` (only the position of the last ledger switch is left); `unknown` (nothing says where it is)."),
    required("sureness", "string", "`certain`, `likely` or `cannot_tell`: how sure the acknowledged set is."),
    required("reason", "string", "Why the sureness is what it is."),
)
POSITION_COLUMNS = (
    Column("mark_delete_ledger_id", "bigint", "Ledger of the mark-delete position: everything up to it is acknowledged."),
    Column("mark_delete_entry_id", "bigint", "Entry of the mark-delete position; -1 is before the first entry."),
    Column("read_ledger_id", "bigint", "Ledger of the next entry to read; null when no source says."),
    Column("read_entry_id", "bigint", "Entry to read next; null when no source says."),
    Column("last_acked_ledger_id", "bigint", "Ledger of the highest individually acknowledged entry; null when there is none."),
    Column("last_acked_entry_id", "bigint", "The highest individually acknowledged entry."),
    Column("oldest_unacked_ledger_id", "bigint", "Ledger of the oldest stored entry that is not acknowledged; null when there is none."),
    Column("oldest_unacked_entry_id", "bigint", "The oldest stored entry that is not acknowledged."),
    Column("oldest_unacked_time", "timestamp", "When it was published, UTC, by the producer's clock."),
    Column("oldest_unacked_broker_time", "timestamp", "When the broker added it, UTC, by the broker's clock; null where the entry does not tell (no broker entry metadata), and where its ledger was read by an earlier release.", since=5),
    Column("oldest_unacked_what", "string", "What it is: `message`, or state and role of its chunk such as `headless orphan`."),
)
COUNT_COLUMNS = (
    Column("acked_entries", "bigint", "Individually acknowledged entries after mark-delete; null when the state is unknown."),
    Column("acked_ranges", "bigint", "Runs they form, as the broker counts them."),
    Column("holes", "bigint", "Runs of unacknowledged entries that lie before an acknowledged one."),
    Column("hole_entries", "bigint", "Entries in those runs."),
    Column("span_entries", "bigint", "Entries from mark-delete to the highest individually acknowledged one, where ledger lengths are known."),
    Column("batch_holes", "bigint", "Entries of which some messages of the batch are acknowledged and some are not."),
    Column("backlog_entries", "bigint", "Stored entries that are not acknowledged."),
    Column("backlog_messages", "bigint", "Messages in them that are not acknowledged; a chunk counts as one, a marker as none."),
    Column("backlog_bytes", "bigint", "Bytes of those entries."),
    Column("unstored_entries", "bigint", "Unacknowledged entries of ledgers that the broker knows and this audit does not hold; null when it cannot be counted."),
    Column("stats_backlog_entries", "bigint", "Entries that are not acknowledged as the broker's saved statistics count them (`msgBacklog`), those of the open ledger among them; null when no saved stats say.", since=4),
    required("stalls", "int", "Rows of `stalls` of this subscription that something must be done about."),
)
ENCODING_COLUMNS = (
    Column("encoding", "string", "How the acknowledged set is written: `ranges`, `long_array`, or `none` when it is empty; null when read from text."),
    Column("compression", "string", "Codec of the stored state; null when there is none."),
    Column("parts", "int", "Entries the state is split over (PIP-381), without the footer; 1 when it is not split."),
    Column("state_bytes", "bigint", "Bytes of the stored state, with prefix and compression; null when read from JSON."),
    Column("ranges_bytes", "bigint", "Bytes of this state written as ranges, all of them."),
    Column("long_array_bytes", "bigint", "Bytes of this state written as long arrays, all of it."),
    Column("split_parts", "int", "Entries (without footer) that the smaller form takes when split (PIP-381, parts of 1 MiB)."),
)
PREDICTION_COLUMNS = (
    required("limits", "struct<ranges:int,batch_entries:int,metadata_store_ranges:int,frame_bytes:int,long_array:boolean>", "The settings that the predictions are made for: managedLedgerMaxUnackedRangesToPersist, ...MaxBatchDeletedIndexToPersist, ...MaxUnackedRangesToPersistInMetadataStore, the frame, and ...PersistIndividualAckAsLongArray."),
    Column("limits_from", "string", "Whose word the first two of them are: `options`, `settings` (of a broker, saved by `snapshot`), its `version`; `assumed` where nothing says, so that what exceeds them cannot be told.", since=3),
    required("over_limits", "array<string>", "Limits that the state exceeds: `ranges`, `batch_entries`, `metadata_store_ranges`, `frame`."),
    Column("dropped_ranges", "bigint", "Acknowledged runs that the next persist would leave out."),
    Column("dropped_entries", "bigint", "Entries in them."),
    Column("dropped_batch_entries", "bigint", "Batch states that the next persist would leave out."),
    Column("redelivered_entries", "bigint", "Acknowledged entries that would be delivered again if the broker restarted now."),
    Column("redelivered_bytes", "bigint", "Bytes of those of them that are stored."),
    Column("redelivered_from", "struct<ledger_id:bigint,entry_id:bigint>", "The first of them."),
    Column("downgrade_safe", "boolean", "Whether a broker without long arrays (before 3.0.8, 3.3.3, 4.0.1) and without PIP-381 reads this state whole; null when its form is unknown."),
    Column("rollback_ledger_id", "bigint", "Ledger that forced recovery would roll back to, if the cursor ledger were lost."),
    Column("rollback_entry_id", "bigint", "Entry that forced recovery would roll back to."),
    Column("rollback_entries", "bigint", "Acknowledged stored entries that would then be delivered again."),
    Column("rollback_bytes", "bigint", "Bytes of those entries."),
)
HOLDUP_COLUMNS = (
    Column("holdups", "array<struct<kind:string,code:string,sureness:string,evidence:string,remedy:string,advice:string>>", "Why it did not drain when its statistics were saved: `statistics_wrong`, `compaction`, `no_consumers`, `replicated_behind`, `unacked_limit`, `pinned_to_dead`, `headless_chunk`, `small_queue_stall`, `last_chunk_only`, `cursor_inside`, `open_transaction`, `draining_hashes`, `join_would_block`, `leaked_permits`, `no_permits`, `with_consumers`, `delayed`, `dead_letters_left`, each with its evidence and what to do; empty where nothing waits or no reason shows; null when no saved stats say. Counts of one moment: what a second snapshot repeats is sure.", since=2),
)

TABLE = Table(
    name="subscriptions",
    comment="One row per cursor of a topic partition: position, holes, backlog, encoding, limits and predictions.",
    columns=(
        *WHO_COLUMNS,
        *SOURCE_COLUMNS,
        *POSITION_COLUMNS,
        *COUNT_COLUMNS,
        *ENCODING_COLUMNS,
        *PREDICTION_COLUMNS,
        *HOLDUP_COLUMNS,
    ),
    key=("cluster", "topic", "subscription"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic", "subscription"),
)
