"""`transactions`: what the metadata store of 5.0 says of transactions of v5 clients."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="transactions",
    comment="One row per transaction of v5 clients that saved state knows, as a whole or in one segment.",
    columns=(
        CLUSTER,
        required("topic", "string", "Segment, `segment://...`, that the row is about; empty where it is about the whole transaction."),
        required("txnid_most_bits", "bigint", "Transaction id, high half: its coordinator."),
        required("txnid_least_bits", "bigint", "Transaction id, low half. Transactions of v4 clients are numbered apart and may have the same."),
        Column("state", "string", "`committed`, `aborted` or `open`."),
    ),
    key=("cluster", "topic", "txnid_most_bits", "txnid_least_bits"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
