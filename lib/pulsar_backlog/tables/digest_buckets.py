"""`digest_buckets`: digests of ranges of publish times: equal logs are compared by these, and differences found."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required
from pulsar_backlog.tables.message_digests import SIDE

TABLE = Table(
    name="digest_buckets",
    comment="One row per side, ledger, origin cluster and range of publish times: how many messages it holds, and digests of them that do not depend on their order. Where both sides agree, no message is looked at.",
    columns=(
        CLUSTER,
        SIDE,
        TOPIC,
        LEDGER_ID,
        required("level", "int", "A bucket holds the publish times that agree but for their lowest `level` bits: 22 is 70 minutes, 16 is 66 seconds, 10 is one second."),
        required("bucket", "bigint", "The publish times' higher bits: time in milliseconds divided by 2 to the power of `level`."),
        required("replicated_from", "string", "Cluster the messages were replicated from; empty for those that were sent to this cluster."),
        required("messages", "bigint", "How many messages."),
        required("digest_xor", "bigint", "XOR of the digests of all of them."),
        required("digest_sum", "bigint", "Sum of the low halves of these digests."),
        required("order_xor", "bigint", "XOR of the digests of neighbours: each message with the one before it in this ledger that came from the same cluster."),
        required("order_sum", "bigint", "Sum of their low halves."),
        required("first_entry_id", "bigint", "First entry with one of the messages."),
        required("last_entry_id", "bigint", "Last entry with one of them."),
        Column("first_origin", "bigint", "Origin of the first of them in the log."),
        Column("last_origin", "bigint", "Origin of the last of them."),
    ),
    key=("cluster", "side", "ledger_id", "level", "bucket", "replicated_from"),
    slice_columns=("cluster", "side", "ledger_id"),
    statistics=("cluster", "side", "topic", "ledger_id", "level", "bucket"),
    row_group_bytes=4 * 1024 * 1024,
)
