"""`inventory`: what is stored and what the metadata know, both ways: is it needed, is it missing, what does it cost."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="inventory",
    comment="One row per stored copy of a ledger, unfinished upload, and ledger that saved admin JSON names and nobody stores. What it says may be deleted is never deleted here.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("copy", "string", "Offload attempt's UUID, numbered where it is stored twice; for an unfinished upload its id follows. Empty where nothing is stored and nothing names an attempt."),
        required("kind", "string", "`jcloud`, `filesystem` or `bookies` as in `ledgers`, `streaming` (a ledger, or a stretch of one, in an object of streaming offload; `objects` may hold other ledgers too), `upload` (a multipart upload never finished), `none` (only metadata know it)."),
        required("verdict", "string", "What it is to the broker, see docs/inventory.md: `current`, `leftover`, `trimmed`, `rescue`, `doubtful`, `unfinished`, `unlisted`, `newer`, `unknown_topic`, `other_cluster`, `undecided`, `missing`, `not_offloaded`, `compacted`, `bookkeeper`."),
        required("reason", "string", "Why, in one sentence."),
        required("leaks", "boolean", "Whether it is paid for and no broker needs it, as far as metadata tell. True of no row that is unsure."),
        required("needs_sole_owner", "boolean", "Whether that holds only if no other Pulsar cluster stores into this place: nothing in the object names its cluster."),
        Column("current_copy", "string", "The copy of the same ledger that the broker reads, and that must be scanned and whole before this one may go; null where there is none."),
        required("bytes", "bigint", "Bytes that are stored of it; 0 where nothing is, or the parts of an upload cannot be listed."),
        required("objects", "array<string>", "Objects that it is made of, relative to the source; of an upload the one it was to become."),
        Column("upload_id", "string", "The store's name of the unfinished upload; null for others."),
        Column("last_written", "timestamp", "When the newest of its objects was written, by the store; of an upload, when it began."),
        Column("pulsar_cluster", "string", "Pulsar's own name of the cluster that wrote it, by the objects' user metadata (2.11 and later); null in folders and MapFiles."),
        Column("stored_entries", "bigint", "Entries that the copy's own ledger metadata promise; null when unknown."),
        Column("stored_bytes", "bigint", "Sum of entry bytes they promise; null when unknown."),
        Column("broker_uuid", "string", "Offload attempt that saved admin JSON names for the ledger."),
        Column("broker_complete", "boolean", "Whether it calls the offload complete; null when it does not say."),
        Column("broker_entries", "bigint", "Entries it records; null when unknown or open."),
        Column("broker_bytes", "bigint", "Sum of entry bytes it records; null when unknown or open."),
    ),
    key=("cluster", "ledger_id", "copy"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
