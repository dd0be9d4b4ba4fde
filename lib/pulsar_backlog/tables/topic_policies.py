"""`topic_policies`: policies of topics over time, from `__change_events`."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="topic_policies",
    comment="One row per change of a topic's policies.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        required("record", "int", "Number of the record or message in its entry, from 0."),
        Column("publish_time", "timestamp", "When the broker published it."),
        Column("about_topic", "string", "Topic that the policies are of."),
        Column("action", "string", "`insert`, `update` or `delete`."),
        Column("is_global", "boolean", "Whether they are of all clusters; null when it does not say."),
        Column("policies", "string", "The policies as JSON, without those that are not set; the first 262,144 characters; null of a deletion."),
        required("is_current", "boolean", "Whether nothing that was read says otherwise later, of the same topic."),
    ),
    key=("cluster", "ledger_id", "entry_id", "record"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
