"""`messages`: what applications sent, taken out of the log again: single messages, batch members, rebuilt chunk sets."""

from pulsar_backlog.tables.contract import CLUSTER, TOPIC, Column, Table, required

POSITIONS_TYPE = (
    "array<struct<ledger_id:bigint,entry_id:bigint,uri:string,offset:bigint,length:bigint,"
    "inner_offset:bigint,block_length:bigint>>"
)

IDENTITY_COLUMNS = (
    CLUSTER,
    TOPIC,
    required("ledger_id", "bigint", "Ledger of the message id; of a chunked message, that of its last chunk."),
    required("entry_id", "bigint", "Entry of the message id; of a chunked message, that of its last chunk."),
    required(
        "batch_index",
        "int",
        "Place in the batch, from 0; -1 for a message that is no batch member, as in Pulsar's message ids.",
    ),
    Column(
        "batch_size",
        "int",
        "Messages of the batch, those taken out by compaction counted; null for a message that is no batch member.",
    ),
    Column(
        "first_ledger_id",
        "bigint",
        "Ledger of the first chunk (ChunkMessageId); null for a message that is not chunked.",
    ),
    Column("first_entry_id", "bigint", "Entry of the first chunk."),
    required(
        "state",
        "string",
        "`single`, `batch` (a member of one), or the state of the chunked message, see docs/verdicts.md.",
    ),
    required(
        "positions",
        POSITIONS_TYPE,
        "Exactly the entries it was made of, in order, and where the payload of each lies as stored (as `entries` says of entries); the ciphertext where it could not be decrypted.",
        fields_since=2,
    ),
)
VERDICT_COLUMNS = (
    required(
        "outcome",
        "string",
        "`exported`; `wrong_size` (the payload is here, but not as long as its metadata says); or why the payload is not here: `corrupt`, `no_key`, `undecryptable`, `undecodable`, `too_large` (see `--max-message-bytes`), `no_room` (on the disk), `unreadable`.",
    ),
    required(
        "verified",
        "boolean",
        "Whether the payload is here and checksums, sizes and decompression all agree; only then may its entries be acknowledged away.",
    ),
    required("reason", "string", "What speaks against it; empty when it is verified."),
)
PAYLOAD_COLUMNS = (
    Column("payload", "binary", "The payload; null when it is in a file, not here, or a null value."),
    Column(
        "payload_file",
        "string",
        "File that holds it, relative to the export's folder, named by its SHA-256; null when it is not in one.",
    ),
    Column("payload_bytes", "bigint", "Bytes of the payload, 0 for a null value; null when it is not here."),
    Column(
        "payload_sha256", "string", "SHA-256 of the payload, hexadecimal; null when it is not here or a null value."
    ),
    Column("null_value", "boolean", "Whether the value is null rather than empty; null when the wire does not say."),
)
METADATA_COLUMNS = (
    Column(
        "producer_name",
        "string",
        "Name of the producer; this and what follows is null where the entry could not be read.",
    ),
    Column(
        "sequence_id",
        "bigint",
        "Producer's sequence id; of a batch member its own where it has one, else that of the batch.",
    ),
    Column("publish_time", "timestamp", "When the producer sent it by its own clock, UTC; null when out of range."),
    Column("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970."),
    Column("broker_timestamp", "timestamp", "When the broker added the entry (the last chunk's), UTC."),
    Column("index", "bigint", "Running index of this message (PIP-70); of a chunked message that of its last chunk."),
    Column("event_time", "timestamp", "Event time set by the application, UTC; null when unset or out of range."),
    Column("deliver_at_time", "timestamp", "Earliest delivery asked for, UTC."),
    Column(
        "properties",
        "map<string,string>",
        "Message properties; of a repeated key the last value; null when there are none.",
    ),
    Column("partition_key", "string", "Key, base64 text where `partition_key_b64_encoded`."),
    Column("partition_key_b64_encoded", "boolean", "Whether the key is base64."),
    Column("null_partition_key", "boolean", "Whether the key is null rather than empty."),
    Column("ordering_key", "binary", "Ordering key."),
    Column("schema_version", "binary", "Schema version bytes."),
    Column("schema_id", "binary", "Schema id (PIP-420)."),
    Column("replicated_from", "string", "Cluster the message was replicated from."),
    Column("replicate_to", "array<string>", "Clusters to replicate to; null when there are none."),
    Column("compression", "string", "Codec it was stored with; null means none."),
    Column(
        "uncompressed_size",
        "bigint",
        "Bytes before compression by the metadata: of the message, or of its whole batch.",
    ),
    Column("highest_sequence_id", "bigint", "Highest sequence id of its batch."),
    Column(
        "encryption_key_names", "array<string>", "Names of the keys it is encrypted for; null when it is not encrypted."
    ),
    Column("txnid_least_bits", "bigint", "Transaction id, low half, read as signed."),
    Column("txnid_most_bits", "bigint", "Transaction id, high half, read as signed."),
    Column(
        "transaction",
        "string",
        "`committed`, `aborted`, `open` (no marker in the log that was scanned), or `cannot_tell` (in a segment of a scalable topic, where the metadata store decides); null outside transactions.",
    ),
    Column("chunk_uuid", "string", "`uuid` of the chunks; null for a message that is not chunked."),
    Column("num_chunks", "int", "Chunks it was cut into."),
)
TABLE = Table(
    name="messages",
    comment="One row per logical message of an export: payload or its file, all metadata, the entries it came from, and whether it is verified.",
    columns=(*IDENTITY_COLUMNS, *VERDICT_COLUMNS, *PAYLOAD_COLUMNS, *METADATA_COLUMNS),
    key=("cluster", "ledger_id", "entry_id", "batch_index"),
    slice_columns=("cluster", "topic"),
    statistics=("cluster", "topic", "ledger_id", "entry_id", "publish_time", "outcome"),
)
