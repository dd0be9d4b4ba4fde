"""`entries`: every stored entry with its location and all its metadata, and no payload.

Columns between `broker_timestamp` and `entry_hash_max` are the fields of `BrokerEntryMetadata` and
`MessageMetadata` (PulsarApi.proto) under their wire names; absent on the wire is null, never a default.
"""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

LOCATION_COLUMNS = (
    CLUSTER,
    TOPIC,
    LEDGER_ID,
    ENTRY_ID,
    required("uri", "string", "Object that holds the entry, relative to the source."),
    required("offset", "bigint", "First byte of the entry in that object."),
    required("length", "int", "Bytes of the entry: broker metadata, checksum, metadata and payload."),
    Column("inner_offset", "bigint", "First byte within the decompressed block, where the store compresses; else null."),
    required("payload_offset", "int", "First byte of the payload within the entry."),
    required("payload_length", "int", "Bytes of the payload as stored (compressed, encrypted)."),
)
CHECKSUM_COLUMNS = (
    required("checksum_state", "string", "`valid`, `mismatch` (the bytes are not what the producer sent) or `absent`."),
    Column("checksum", "bigint", "Stored CRC-32C of metadata and payload, unsigned; null when absent."),
    Column("payload_crc32c", "bigint", "CRC-32C of the payload alone, unsigned; computed for chunks only, to tell copies apart."),
)
BROKER_COLUMNS = (
    required("has_broker_metadata", "boolean", "Whether the entry begins with broker entry metadata (PIP-70)."),
    Column("broker_timestamp", "timestamp", "When the broker added the entry, UTC."),
    Column("index", "bigint", "Running index of the last message of the entry."),
)
METADATA_COLUMNS = (
    required("producer_name", "string", "Name of the producer."),
    required("sequence_id", "bigint", "Producer's sequence id, the wire's unsigned 64 bits read as signed (markers have -1)."),
    Column("publish_time", "timestamp", "When the producer sent it by its own clock, UTC; null when out of range."),
    required("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970, read as signed."),
    Column("properties", "map<string,string>", "Message properties; of a repeated key the last value; null when there are none."),
    Column("replicated_from", "string", "Cluster the message was replicated from."),
    Column("partition_key", "string", "Key, base64 text where `partition_key_b64_encoded`."),
    Column("replicate_to", "array<string>", "Clusters to replicate to; null when there are none."),
    Column("compression", "string", "`NONE`, `LZ4`, `ZLIB`, `ZSTD`, `SNAPPY` or `UNKNOWN(n)`; null means NONE."),
    Column("uncompressed_size", "bigint", "Bytes of the payload before compression, for a chunk those of the whole message."),
    Column("num_messages_in_batch", "int", "Messages in the batch; null means one bare message, 1 a framed batch of one."),
    Column("event_time", "timestamp", "Event time set by the application, UTC; null when unset (0 or absent) or out of range."),
    Column("encryption_keys", "array<struct<key:string,value:binary,metadata:map<string,string>>>", "Wrapped data keys with the names of their wrapping keys; null when not encrypted."),
    Column("encryption_algo", "string", "Encryption algorithm as recorded (often empty)."),
    Column("encryption_param", "binary", "Initialisation vector."),
    Column("schema_version", "binary", "Schema version bytes."),
    Column("partition_key_b64_encoded", "boolean", "Whether the key is base64."),
    Column("ordering_key", "binary", "Ordering key."),
    Column("deliver_at_time", "timestamp", "Earliest delivery asked for, UTC; null when absent or out of range."),
    Column("marker_type", "int", "Set on server-internal markers, which are not messages: 10-13 replicated subscriptions, 20-22 transactions."),
    Column("txnid_least_bits", "bigint", "Transaction id, low half, read as signed."),
    Column("txnid_most_bits", "bigint", "Transaction id, high half, read as signed."),
    Column("highest_sequence_id", "bigint", "Highest sequence id of the batch, read as signed."),
    Column("null_value", "boolean", "Whether the value is null rather than empty."),
    Column("uuid", "string", "Chunk group id, `producer-sequence`; reused after restarts, so see publish_time."),
    Column("num_chunks_from_msg", "int", "Chunks the message was cut into."),
    Column("total_chunk_msg_size", "int", "Bytes of the whole message, compressed and not encrypted."),
    Column("chunk_id", "int", "Place of this chunk, from 0."),
    Column("null_partition_key", "boolean", "Whether the key is null rather than empty."),
    Column("compacted_batch_indexes", "array<int>", "Batch indexes kept by compaction (PIP-429)."),
    Column("schema_id", "binary", "Schema id (PIP-420)."),
    Column("entry_hash_min", "bigint", "Lowest key hash in the entry (PIP-486)."),
    Column("entry_hash_max", "bigint", "Highest key hash in the entry (PIP-486)."),
)
TABLE = Table(
    name="entries",
    comment="One row per stored entry that could be decoded: location, checksum, broker and message metadata. No payload.",
    columns=(
        *LOCATION_COLUMNS,
        *CHECKSUM_COLUMNS,
        *BROKER_COLUMNS,
        *METADATA_COLUMNS,
        Column("flags", "array<string>", "Oddities that did not stop decoding, see docs/findings.md; null when there are none."),
    ),
    key=("cluster", "ledger_id", "entry_id"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "topic", "ledger_id", "entry_id", "publish_time", "uuid"),
    unique=("entry_id", "offset", "checksum", "payload_crc32c", "index", "broker_timestamp", "publish_time",
            "publish_time_ms", "sequence_id", "uuid"),
)
