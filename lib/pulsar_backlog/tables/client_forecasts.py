"""`client_forecasts`: what each topic does to each model of a real consumer."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

OUTCOME_COUNTS = (
    "delivered", "delivered_again", "mixed", "wrong_content", "silent_loss", "lost", "dropped", "hole", "waiting",
    "blocked", "breaks_client",
)  # fmt: skip

TABLE = Table(
    name="client_forecasts",
    comment="One row per topic with chunks and consumer model: what the log does to that client.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("model", "string", "Client and settings as given to `--model`, see docs/clients.md."),
        required("profile", "string", "Decision table of docs/clients.md that was applied."),
        required("builds", "string", "Releases that behave so."),
        required("publications", "bigint", "Publications of chunked messages on the topic."),
        *(
            required(name, "bigint", f"Publications with outcome `{name}` in consumer_outcomes.")
            for name in OUTCOME_COUNTS
        ),
        required("evicted", "bigint", "Publications given up because too many were open."),
        required(
            "acked_unread", "bigint", "Chunk entries the client acknowledges though nothing of them is delivered."
        ),
        required("holes", "bigint", "Chunk entries that were dispatched and stay unacknowledged."),
        required("permits_kept", "bigint", "Permits the client does not give back, over all its connections."),
        required("receiver_queue", "int", "Permits the broker is given."),
        Column("pending_limit", "int", "Chunked messages the client puts together at one time; null is no limit."),
        required("peak_open_contexts", "int", "Most chunked messages the client has under assembly at one time."),
        required("peak_buffered_bytes", "bigint", "Most bytes those claim together: memory the client sets aside."),
        required(
            "peak_open_in_log",
            "int",
            "Most chunked messages open in the log at one time, had a client no limit and expired them on time: the least pending limit that evicts nothing.",
        ),
        Column(
            "damage",
            "string",
            "`reconnect_loop`, `process_death`, `panic`, `query_failure`, `permit_stall` or `dispatch_stall`; everything behind it is blocked. Null: none.",
        ),
        Column("damage_ledger_id", "bigint", "Ledger where it happens."),
        Column(
            "damage_entry_id",
            "bigint",
            "Entry where it happens; for stalls the first chunk that does not come, or one behind it.",
        ),
        Column("damage_uuid", "string", "Chunk uuid of that entry."),
        Column("damage_reason", "string", "What brings it about."),
        required(
            "sureness", "string", "`certain`, `likely` or `cannot_tell`: how sure the damage, or its absence, is."
        ),
    ),
    key=("cluster", "topic", "model"),
    slice_columns=("cluster", "topic"),
    statistics=("cluster", "topic", "model", "damage"),
)
