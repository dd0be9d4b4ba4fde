"""`rejects`: what could not be decoded, with enough evidence to look at it by hand."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="rejects",
    comment="One row per entry, or structure around entries, that could not be decoded.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("entry_id", "bigint", "Entry id by its place in the block; -1 for faults of what lies around entries. Of a live topic: the id in its ledger."),
        required("scope", "string", "`entry` (an entry is lost to us), `hidden` (a live broker keeps it from every consumer: a marker, an entry of an aborted transaction) or `structure` (what lies around entries is wrong: a header, block, record, padding)."),
        required("code", "string", "Stable reject code, see docs/findings.md."),
        required("uri", "string", "Object or checksum file that holds it, relative to the source."),
        required("offset", "bigint", "Where it went wrong, in bytes from the start of the object; in a compressed block, where that begins."),
        required("entry_offset", "bigint", "First byte of the entry or structure in the object."),
        Column("inner_offset", "bigint", "Where it went wrong within the decompressed block; null where nothing is compressed, and for structures."),
        required("length", "bigint", "Bytes of the entry or structure; what is left of the object where its length is not to be trusted."),
        required("field", "string", "Path of the field, such as `metadata.chunk_id`."),
        required("expected", "string", "What the format asks for."),
        required("found", "string", "What was there."),
        required("first_bytes", "binary", "Up to 32 bytes from `offset` on."),
    ),
    key=("cluster", "ledger_id", "entry_id", "offset", "code"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "ledger_id", "entry_id"),
)
