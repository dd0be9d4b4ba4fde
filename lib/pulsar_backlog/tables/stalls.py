"""`stalls`: chunked messages that a subscription has not wholly acknowledged: what becomes of them, what to do."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

POSITION_TYPE = "struct<ledger_id:bigint,entry_id:bigint>"

MAX_POSITIONS = 1000
"""Unacknowledged positions that one row names at most; `unacked_entries` counts them all."""

TABLE = Table(
    name="stalls",
    comment="One row per subscription and publication of a chunked message that it has not wholly acknowledged.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("subscription", "string", "Name of the subscription."),
        Column("subscription_type", "string", "`Exclusive`, `Failover`, `Shared`, `Key_Shared`; null when no saved stats say."),
        required("chunk_uuid", "string", "`uuid` of the chunks; empty when they carry none."),
        Column("publish_time", "timestamp", "Publish time of the publication, UTC; null when out of range."),
        required("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970."),
        Column("code", "string", "Code of the finding that `kind` belongs to, C23 to C28 or K07; null when the set only waits."),
        required("kind", "string", "`head_acked`, `last_only`, `copies_only`, `mark_delete_inside`, `split` (any other part is acknowledged), `orphan_hole`, `shared_stall`, `key_shared_risk`, `tail_block`, `compaction_truncation`, `delayed` (whole, wholly unacknowledged, and its time of delivery had not come when the broker, which counts messages as delayed, was asked), `whole_hole` (stored whole, wholly unacknowledged, and the subscription got to it or past it), or `pending` (it may still be arriving)."),
        required("also", "array<string>", "Other kinds that hold as well, sorted."),
        required("state", "string", "State of the publication, as in `chunked_messages`."),
        required("unacked_positions", "array<struct<ledger_id:bigint,entry_id:bigint>>", f"Its copies that are not acknowledged, in order, at most the first {MAX_POSITIONS}."),
        required("unacked_entries", "bigint", "How many of its copies are not acknowledged."),
        required("unacked_bytes", "bigint", "Payload bytes of those copies."),
        required("acked_entries", "bigint", "How many of its copies are acknowledged."),
        required("acked_chunk_zero", "boolean", "Whether every copy of chunk 0 is acknowledged; false when none is stored."),
        required("can_complete", "boolean", "Whether some client can still be given the whole message in order, from what is unacknowledged or still to come; `advice` names the clients that drop it all the same."),
        required("rebuildable", "boolean", "Whether the whole message can be put together from what is stored."),
        required("blocks_dispatch", "boolean", "Whether it keeps other messages of the subscription from being delivered."),
        required("action", "string", "The one thing to do: `wait`, `export_then_acknowledge`, `acknowledge`, `skip`, `reset_to_first_chunk`, or `none`. `acknowledge` and `skip` are safe now: nothing that can be rebuilt or may still complete is lost by them. `export_then_acknowledge`: acknowledge only when the export is verified."),
        Column("first_chunk_ledger_id", "bigint", "Ledger of the chunk 0 that a reset would go to; null when none is stored."),
        Column("first_chunk_entry_id", "bigint", "Entry of that chunk 0."),
        Column("last_ledger_id", "bigint", "Ledger of its latest copy."),
        Column("last_entry_id", "bigint", "Entry of its latest copy."),
        required("sureness", "string", "`certain`, `likely` or `cannot_tell`: how sure all of this is."),
        required("reason", "string", "Why the sureness is what it is; and which models of clients do not deliver a message that is whole, and why."),
        required("advice", "string", "What happened and what to do, in one sentence."),
    ),
    key=("cluster", "topic", "subscription", "chunk_uuid", "publish_time_ms"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic", "subscription", "chunk_uuid", "action"),
)
