"""`gone_ledgers`: ledgers that an audit knew and the source holds no more. What was read of them stays, and is history."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="gone_ledgers",
    comment="One row per ledger that left the source after an audit had listed or read it. Its rows in `scans`, `entries`, `rejects` and the tables of facts stay as history; no verdict, view or report counts them. A ledger that comes back leaves this table.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        Column("copy", "string", "The stored copy that was scanned, or would have been."),
        required("scanned", "boolean", "Whether its entries were read, and so are in `entries`."),
        Column("created_time", "timestamp", "When the ledger was created, by its metadata; null when not known."),
        Column("closed_time", "timestamp", "When the broker closed it, by saved admin JSON; null when not known."),
        required("gone_time", "timestamp", "When the audit began that missed it first."),
        required("expected", "boolean", "Whether retention explains it: the topic's saved list of ledgers begins after it, and the saved policies let it go."),
    ),
    key=("cluster", "ledger_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
