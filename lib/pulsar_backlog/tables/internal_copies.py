"""`internal_copies`: ledgers in the files of bookies that are not a topic's: the plan of `decode_internals`."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, Column, Table, required

TABLE = Table(
    name="internal_copies",
    comment="One row per ledger in the files of bookies whose entries are no messages, as the inventory found it. What it is stands in `internal_ledgers`.",
    columns=(
        CLUSTER,
        LEDGER_ID,
        required("copy", "string", "Which stored copy, as in `ledgers`."),
        required("kind", "string", "How it is stored, as in `ledgers`."),
        Column("data_uri", "string", "The first of its files, relative to the source."),
        Column("data_bytes", "bigint", "Size in bytes of the stretches to read."),
        Column("data_etag", "string", "A digest of the version tags of its files."),
        required("blocks", "array<struct<offset:bigint,length:bigint,first_entry_id:bigint,entry_count:bigint,uri:string,last_entry_id:bigint>>", "Stretches to read, as in `ledgers`."),
    ),
    key=("cluster", "ledger_id", "copy"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
