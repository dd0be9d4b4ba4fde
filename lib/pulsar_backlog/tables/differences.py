"""`differences`: what two logs that should hold the same messages do not agree on, message by message."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="differences",
    comment="One row per message that two compared logs do not agree on: what is wrong with it, on which side, where it lies on each, and how sure that is.",
    columns=(
        CLUSTER,
        required("kind", "string", "`missing` (stored on the other side only), `duplicate` (stored more often than there), `order` (in another order), `content` (other content), `broken` (there whole, here not), `policy` (on one side only, and retention, TTL or the start of replication explain it) or `in_flight` (on one side only, and it may still arrive)."),
        required("topic", "string", "Full name of the topic partition in audit A; of a topic that only B has, there."),
        required("topic_b", "string", "Its name in audit B."),
        required("side", "string", "`a` or `b`: where it is missing, stored twice or broken; `both` for `order` and `content`."),
        Column("producer_name", "string", "Name of the producer that sent it first."),
        Column("sequence_id", "bigint", "Its sequence id there."),
        Column("publish_time_ms", "bigint", "When it was sent by the producer's clock, milliseconds since 1970."),
        Column("replicated_from", "string", "Cluster that it was replicated from, as the side says that has it; null for one that was sent there."),
        Column("chunk_uuid", "string", "`uuid` of its chunks; null for a message that is not chunked."),
        Column("a_ledger_id", "bigint", "Ledger of the message in audit A; null where it is not stored there."),
        Column("a_entry_id", "bigint", "Entry there; of a chunked message that of its last chunk."),
        Column("a_batch_index", "int", "Place in its batch there; -1 for a message that is no batch member."),
        Column("b_ledger_id", "bigint", "Ledger of the message in audit B; null where it is not stored there."),
        Column("b_entry_id", "bigint", "Entry there."),
        Column("b_batch_index", "int", "Place in its batch there."),
        required("copy_number", "bigint", "Number of the row among those of this kind, topic and side."),
        required("sureness", "string", "`certain`, `likely` or `cannot_tell`."),
        required("reason", "string", "Why it is so, and that sure."),
    ),
    key=("cluster", "topic", "kind", "side", "copy_number"),
    slice_columns=("cluster", "topic"),
    statistics=("cluster", "kind", "topic", "side", "publish_time_ms"),
)
