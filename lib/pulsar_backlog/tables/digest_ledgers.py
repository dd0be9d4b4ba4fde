"""`digest_ledgers`: which ledgers of each side have digests, and of which bytes these are."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required
from pulsar_backlog.tables.message_digests import SIDE

TABLE = Table(
    name="digest_ledgers",
    comment="One row per ledger of a side whose messages are in `message_digests`. A ledger of which audit, copy, size or tag is another one is read again.",
    columns=(
        CLUSTER,
        SIDE,
        TOPIC,
        LEDGER_ID,
        required("source", "string", "Where the ledger lies, as its audit recorded it."),
        required("copy", "string", "The stored copy that was read."),
        Column("data_bytes", "bigint", "Its size when it was read."),
        Column("data_etag", "string", "Its version tag when it was read."),
        required("messages", "bigint", "Messages whose payload could be read."),
        required("unreadable", "bigint", "Rows of what could not be read or opened."),
        Column("unopened", "bigint", "Messages whose payload stayed shut, as for want of a key; null where nobody counted them.", since=2),
        required("complete", "boolean", "Whether all of it could be read."),
        required("digest_version", "int", "Version of the digests: those of another one are made again."),
    ),
    key=("cluster", "side", "ledger_id"),
    slice_columns=("cluster", "side", "ledger_id"),
    statistics=("cluster", "side", "ledger_id"),
)
