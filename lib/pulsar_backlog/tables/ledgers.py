"""`ledgers`: what lies in the source, copy by copy, and whether its parts agree."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="ledgers",
    comment="One row per stored copy of a ledger (an offload attempt), reconciled against index, data and metadata.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("copy", "string", "Which stored copy: the offload attempt's UUID, `streaming`, `bookies`, or of a live ledger `live-entries-` and how many were confirmed."),
        required("kind", "string", "How it is stored: `jcloud` (by the object-store offloader), `streaming` (in objects of streaming offload), `filesystem` (as a MapFile by the filesystem offloader), `bookies` (in their entry logs and journals) or `live` (read from a broker)."),
        Column("managed_ledger", "string", "Managed-ledger name, `tenant/namespace/persistent/encoded-name`."),
        Column("data_uri", "string", "Data object, relative to the source; of `bookies` and `streaming` the first of the files; of a live ledger topic and ledger id; null when there is none."),
        Column("index_uri", "string", "Index object, relative to the source; null when there is none."),
        Column("checksum_uri", "string", "Checksum file of the data (`.data.crc` of a MapFile), relative to the source; null when there is none."),
        Column("data_bytes", "bigint", "Size of the data object in bytes, as listed; of `bookies` and `streaming` that of the stretches to read; of a live ledger that of its entries, as the broker says."),
        Column("index_bytes", "bigint", "Size of the index object in bytes, as listed."),
        Column("data_etag", "string", "Version tag of the data object as the store gives it; of several files a digest of their tags."),
        Column("block_count", "int", "Data blocks named by the index, or found by walking headers without one; parts that a MapFile is cut into; stretches of the files of bookies."),
        Column("expected_entries", "bigint", "Entries the ledger metadata promises (last entry id + 1); of `bookies`, and of `streaming` where no index was written after the ledger had ended, what saved admin JSON says of the closed ledger; null when unknown."),
        Column("expected_bytes", "bigint", "Sum of entry bytes the ledger metadata promises; of `bookies` as `expected_entries`; null when unknown."),
        Column("expected_data_bytes", "bigint", "Length of the data object that the index promises; null without an index, and of a MapFile, whose index promises none."),
        Column("ledger_state", "string", "State in the ledger metadata: `OPEN`, `IN_RECOVERY`, `CLOSED`; null when unknown. Of `bookies` and `streaming` `CLOSED` where an index or saved admin JSON says where it ends, else `OPEN`: entries may lie elsewhere."),
        Column("created_time", "timestamp", "When the ledger was created, by its metadata; null when not recorded."),
        Column("closed_time", "timestamp", "When the broker closed the ledger, by saved admin JSON; null when unknown."),
        Column("offload_complete", "boolean", "Whether saved admin JSON calls this attempt complete; null when it does not say."),
        required("selected", "boolean", "Whether this copy is the one that is scanned."),
        required("status", "string", "`ok`, `damaged` (readable in part), `unreadable` (nothing can be scanned), `spare` (another copy is scanned)."),
        required("blocks", "array<struct<offset:bigint,length:bigint,first_entry_id:bigint,entry_count:bigint,uri:string,last_entry_id:bigint>>", "Data blocks, or parts of a MapFile, to scan: place in the data object, first entry id, and how many entries each must hold (null when unknown). Of `bookies` and `streaming` stretches, which may overlap: also the file (`uri`) and, where they may, the greatest entry id; of `bookies` the number of entries is the least that it holds.", fields_since=2),
        Column("structure_faults", "array<struct<uri:string,code:string,offset:bigint,field:string>>", "What is wrong in the index, and in the data where no block is: reject code and place; at most 20. What is wrong in blocks is in `rejects`.", since=2),
        required("faults", "array<string>", "Codes of the findings about this copy, sorted; empty when there are none."),
    ),
    key=("cluster", "ledger_id", "copy"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
