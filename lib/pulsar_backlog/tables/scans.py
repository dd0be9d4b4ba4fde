"""`scans`: the account of each scanned ledger copy. A row here means its entries are all written."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="scans",
    comment="One row per scanned ledger copy: what was walked, decoded and rejected. The scan's books, and its marker of completion.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("copy", "string", "The stored copy that was scanned: the offload attempt's UUID."),
        required("data_bytes", "bigint", "Size of the data object when it was scanned."),
        Column("data_etag", "string", "Version tag of the data object when it was scanned."),
        required("units", "int", "Work units the copy was cut into."),
        required("frames", "bigint", "Entries walked over in the data object, readable or not."),
        required("decoded", "bigint", "Rows written to `entries`."),
        required("rejected", "bigint", "Rows written to `rejects` for whole entries."),
        required("entry_bytes", "bigint", "Sum of the bytes of the entries walked over."),
        required("checksum_valid", "bigint", "Entries whose CRC-32C agrees."),
        required("checksum_mismatch", "bigint", "Entries whose CRC-32C does not agree."),
        required("checksum_absent", "bigint", "Entries stored without a checksum."),
        Column("expected_entries", "bigint", "Entries the ledger metadata promises; null when unknown."),
        Column("expected_bytes", "bigint", "Sum of entry bytes the ledger metadata promises; null when unknown."),
        required("order_faults", "bigint", "Entries whose id is not the previous id + 1."),
        required("structure_faults", "bigint", "Rows written to `rejects` about what lies around entries."),
        required("unreadable_units", "int", "Work units that could not be read at all."),
        Column("unreadable", "string", "Why the first unit that could not be read to its end could not; null when all could."),
        required("complete", "boolean", "Whether every unit was read; only then the copy is not scanned again."),
    ),
    key=("cluster", "ledger_id", "copy"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "ledger_id"),
)
