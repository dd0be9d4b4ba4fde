"""`consumer_outcomes`: what each model of a real consumer makes of each publication."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="consumer_outcomes",
    comment="One row per publication of a chunked message and consumer model: what that client would do with it.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("chunk_uuid", "string", "`uuid` of the chunks; empty when they carry none."),
        Column("publish_time", "timestamp", "Publish time shared by all its chunks, UTC; null when out of range."),
        required("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970."),
        required("model", "string", "Client and settings as given to `--model`, see docs/clients.md."),
        required(
            "outcome",
            "string",
            "`delivered`, `delivered_again`, `mixed` (joined with another publication), `wrong_content` (a part of it, or more), `silent_loss` (whole in the log, acknowledged, never delivered), `lost` (the same, but entries stay unacknowledged), `dropped` (incomplete, acknowledged), `hole` (incomplete, entries stay unacknowledged), `waiting` (may still arrive), `blocked` (never dispatched), `breaks_client`.",
        ),
        required("deliveries", "int", "Times the application gets the message as it was sent."),
        required(
            "mixed_deliveries", "int", "Times it gets a mixture of this and another publication, without an error."
        ),
        required(
            "wrong_deliveries", "int", "Times it gets only a part of the message, or the message with bytes added."
        ),
        required("acked_unread", "int", "Entries the client acknowledges though nothing of them is delivered."),
        required("holes", "int", "Entries that were dispatched and stay unacknowledged."),
        required("blocked_entries", "int", "Entries that are never dispatched, because client or dispatch is stuck."),
        required("permits_kept", "int", "Permits the client does not give back for its entries."),
        required(
            "sureness", "string", "`certain`, `likely` or `cannot_tell`: how sure this is, of log and client together."
        ),
        required("reason", "string", "Why it comes so; empty where it is simply delivered."),
        required("first_ledger_id", "bigint", "Ledger of its first copy."),
        required("first_entry_id", "bigint", "Entry of its first copy."),
    ),
    key=("cluster", "topic", "chunk_uuid", "publish_time_ms", "model"),
    slice_columns=("cluster", "topic"),
    statistics=("cluster", "topic", "chunk_uuid", "model", "outcome"),
)
