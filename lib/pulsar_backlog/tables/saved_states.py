"""`saved_states`: what saved admin JSON and raw cursor state said of each topic when an audit was last given it."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="saved_states",
    comment="One row per topic partition whose saved state an audit was given (--admin): the newest. An audit that is given no state, or one that lacks the topic, goes by this row, and says how old it is.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition; empty for what names none."),
        Column("saved_time", "timestamp", "When it was saved: as the snapshot says, else the time of the newest file in the folder."),
        required("read_time", "timestamp", "When the audit began that was given it."),
        required("folder_digest", "string", "Digest of the folder that it was read from."),
        required("state", "string", "What was read of it, as JSON of this program."),
    ),
    key=("cluster", "topic"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
