"""`schema_versions`: versions of schemas, as their ledgers and the metadata store have them."""

from pulsar_backlog.tables.contract import CLUSTER, TOPIC, Column, Table, required

TABLE = Table(
    name="schema_versions",
    comment="One row per version of a topic's schema, and ledger that claims to hold it.",
    columns=(
        CLUSTER,
        TOPIC,
        required("schema_id", "string", "`tenant/namespace/topic` of the schema; partitions of a topic have one together."),
        required("version", "bigint", "Version, from 0, by the metadata store; else by the versions that its entry knows."),
        required("number", "int", "Number of the ledger among those that claim this version, from 0."),
        Column("ledger_id", "bigint", "Ledger that holds it; null when nothing says where it lies."),
        Column("entry_id", "bigint", "Its entry; null when nothing says where it lies."),
        Column("type", "string", "`AVRO`, `JSON`, `PROTOBUF_NATIVE`, `STRING`, ...; null when its entry was not read."),
        Column("definition", "string", "The schema itself, the first 262,144 characters; null when its entry was not read."),
        Column("definition_bytes", "bigint", "Bytes of the schema; null when its entry was not read."),
        Column("stored_by", "string", "Role that stored it; null without authentication, or when its entry was not read."),
        Column("stored_time", "timestamp", "When it was stored; null when its entry was not read."),
        Column("is_deletion", "boolean", "Whether it says that the topic has no schema any more; null when its entry was not read."),
        Column("is_current", "boolean", "Whether the metadata store calls it the newest version; null when that was not saved."),
        Column("is_listed", "boolean", "Whether the metadata store lists this version at this place; null when no locator of a schema was saved.", since=2),
        required("verdict", "string", "`ok`; `lost`: the metadata store names it, and its ledger is gone; `leaked`: its ledger is kept, and no version of the schema lies in it; `cannot_tell`."),
        required("reason", "string", "Why, as a sentence."),
    ),
    key=("cluster", "schema_id", "version", "number"),
    slice_columns=("cluster",),
    statistics=("cluster", "schema_id"),
)
