"""`internal_ledgers`: every ledger that holds a cluster's own state, and what became of it."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="internal_ledgers",
    comment="One row per internal ledger that an audit saw: schemas, policies of topics, transaction logs, pending acknowledgements, cursors, compacted topics, delayed messages, system topics. From the files of bookies, offloaded objects, live topics and values of the metadata store.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("kind", "string", "What it holds: `schema`, `topic_policies`, `transaction_log`, `transaction_snapshot`, `pending_ack`, `compacted`, `cursor`, `deduplication`, `delayed_bucket`, `functions`, `load_report`, `system_topic`, or `unknown` where nobody says and its bytes fit nothing that is known."),
        Column("name", "string", "What people call it: topic, topic and subscription, or schema; null when nothing names it."),
        Column("subscription", "string", "Of a cursor, a bucket of delayed messages: the subscription; null elsewhere."),
        Column("stored", "string", "How the bytes are stored that were read, as `kind` of `ledgers`; null when only metadata tell of the ledger."),
        required("named_by", "string", "Who says what it is: `ledger metadata` (of BookKeeper), `pointer` (a schema, cursor or topic that points to it), `topic` (the topic that its objects name), `bytes` (the decoder that reads them), `nobody`."),
        Column("entries", "bigint", "Entries that were there; null when its bytes are not in the source."),
        Column("unread_entries", "bigint", "Of them, entries that no decoder reads: damaged, of another version, or of a kind without decoder; null when its bytes are not in the source."),
        Column("bytes", "bigint", "Bytes of all entries; null when they are not in the source."),
        required("faults", "bigint", "Damage around its entries: entries that are missing, copies that differ, digests that do not match."),
        Column("first_error", "string", "What was wrong with the first entry that could not be read; null when all could."),
        Column("ledger_state", "string", "By the metadata store: `OPEN`, `IN_RECOVERY`, `CLOSED`; null when it does not say."),
        Column("created_time", "timestamp", "When it was created, by the metadata store; null when it does not say."),
        required("holders", "array<string>", "What points to it, in words, such as a cursor or the version of a schema; empty when nothing does, or nothing was saved."),
        required("verdict", "string", "`ok`; `lost`: something points to it, and BookKeeper has no such ledger; `leaked`: BookKeeper keeps it, and nothing points to it; `cannot_tell`."),
        required("reason", "string", "Why, as a sentence."),
        Column("rows_left_out", "bigint", "Rows of its kind's table that are left out, the oldest, because there are very many; null when its bytes are not in the source.", since=2),
    ),
    key=("cluster", "ledger_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
