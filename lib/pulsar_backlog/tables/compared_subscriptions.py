"""`compared_subscriptions`: what each subscription would get again, or never, if its consumers went to the other side."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="compared_subscriptions",
    comment="One row per subscription of a compared topic and side that its consumers may go to: messages that they would get again there, and messages that they would never get. Entries are those that hold these messages, of a chunked one its last.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition in audit A."),
        required("topic_b", "string", "Its name in audit B."),
        required("subscription", "string", "Name of the subscription."),
        required("side", "string", "`a` or `b`: where its consumers would go on."),
        Column("replicated", "boolean", "Whether it is a replicated subscription on the side that they leave; null when no saved stats say."),
        Column("open_messages", "bigint", "Messages that are stored on this side and not acknowledged there: what they would get. This and the other numbers are null where the state of a side is not known."),
        Column("again_messages", "bigint", "Those of them that are acknowledged on the other side, or older than all that is stored there (so it was, and was trimmed): delivered again."),
        Column("again_entries", "bigint", "Entries of this side that hold them."),
        Column("acked_messages", "bigint", "Messages that are not acknowledged on the other side, stored here, and acknowledged here: skipped."),
        Column("acked_entries", "bigint", "Entries of the other side that hold them."),
        Column("absent_messages", "bigint", "Messages that are not acknowledged on the other side and not stored here: skipped, unless they still arrive."),
        Column("absent_entries", "bigint", "Entries of the other side that hold them."),
        required("sureness", "string", "`certain`, `likely` or `cannot_tell`."),
        required("reason", "string", "Why it is so sure."),
    ),
    key=("cluster", "topic", "subscription", "side"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
