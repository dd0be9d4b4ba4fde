"""`repair_plans`: every repair plan that was made from these tables."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

PLAN_ID = required("plan_id", "string", "Digest of the plan's actions: the same tables and choices make the same plan.")

TABLE = Table(
    name="repair_plans",
    comment="One row per repair plan.",
    columns=(
        CLUSTER,
        PLAN_ID,
        required("made", "timestamp", "When it was made last, UTC."),
        required("folder", "string", "Folder of the plan, relative to that of the tables."),
        required("choices", "map<string,string>", "Options that it was made with."),
        required("inputs", "map<string,bigint>", "Versions of the tables it was made from."),
        required("actions", "int", "Its actions, advice included."),
        required("entries", "bigint", "Entries that it acknowledges, over all subscriptions."),
        required("bytes", "bigint", "Payload bytes that its actions concern."),
        required("left_off", "int", "Actions for which `--max-count` and `--max-bytes` left no room."),
        required("held_back", "array<struct<why:string,next_step:string,count:bigint>>", "What it leaves alone, by reason: chunk sets of a subscription, and messages."),
        Column("state", "string", "`planned`; `begun` when any action was; `done` when all that can be applied are; `verified` when all of them are verified; `failed` when one failed."),
    ),
    key=("cluster", "plan_id"),
    slice_columns=("cluster", "plan_id"),
    statistics=("cluster", "plan_id"),
)
