"""`repair_actions`: each action of each repair plan, and all that was done about it."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required
from pulsar_backlog.tables.repair_plans import PLAN_ID

POSITION_TYPE = "struct<ledger_id:bigint,entry_id:bigint>"
TRAIL_TYPE = (
    "array<struct<at:timestamp,who:string,status:string,note:string,mark_delete:struct<ledger_id:bigint,"
    "entry_id:bigint>,acked_entries:bigint,last_confirmed:struct<ledger_id:bigint,entry_id:bigint>,sequence_id:bigint>>"
)

TABLE = Table(
    name="repair_actions",
    comment="One row per action of a repair plan: what, why, how sure, and who did it when.",
    columns=(
        CLUSTER,
        PLAN_ID,
        required("action", "int", "Its number in the plan, from 0."),
        required("kind", "string", "`acknowledge`, `skip`, `acknowledge_cumulative`, `reset_cursor`, `unload` (of the topic), `republish`, `file` (the message is only kept beside the plan) or `settings` (advice)."),
        required("cause", "string", "`dead_chunks`, `exported`, `dead_lettered`, `given_up` (named by the user), `restore`, `lost_by_clients`, `got_in_part`, `named` (by the user), `reset`, `settings`, or of `unload` the kind of holdup."),
        required("topic", "string", "Full name of the topic partition that it is done to."),
        Column("subscription", "string", "Name of the subscription; null for what concerns the topic."),
        required("codes", "array<string>", "Codes of the findings behind it."),
        required("sureness", "string", "`certain`, `likely` or `cannot_tell`: how sure it is that nothing is lost by it."),
        required("reason", "string", "Why, in a sentence."),
        required("evidence", "array<string>", "Facts of the tables, a sentence each."),
        required("affects", "string", "What it does besides."),
        required("undo", "string", "How to take it back; empty for advice."),
        required("requires", "array<int>", "Actions that must be done before it."),
        required("runs", "array<struct<ledger_id:bigint,first_entry_id:bigint,last_entry_id:bigint>>", "Entries that are acknowledged by it, as runs."),
        required("entries", "bigint", "How many."),
        required("bytes", "bigint", "Payload bytes that it concerns."),
        Column("target", POSITION_TYPE, "Position that a cursor is reset to."),
        Column("expected_mark_delete", POSITION_TYPE, "Where the subscription stood when the plan was made."),
        Column("original", POSITION_TYPE, "Message id of what is republished."),
        Column("original_uuid", "string", "Its chunk uuid."),
        Column("payload_sha256", "string", "SHA-256 of its payload, hexadecimal; null where it is published as it is stored: nobody saw the payload."),
        required("state", "string", "`planned`, `begun`, `done`, `already` (there was nothing left to do), `refused`, `failed`; after a look at the cluster `verified`, `not yet` or `not verified`."),
        Column("mark_delete_before", POSITION_TYPE, "Mark-delete of the subscription before it was first tried."),
        Column("mark_delete_after", POSITION_TYPE, "Mark-delete after it was done."),
        required("trail", TRAIL_TYPE, "What was done, in order: an intent before, a result after, what a look at the cluster said; `acked_entries` from mark-delete's ledger on."),
    ),
    key=("cluster", "plan_id", "action"),
    slice_columns=("cluster", "plan_id"),
    statistics=("cluster", "plan_id", "topic", "subscription", "state"),
)
