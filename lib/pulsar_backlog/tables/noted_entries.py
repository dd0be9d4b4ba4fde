"""`noted_entries`: the few columns of the few entries that jobs after the scan look at one by one.

Chunks, ends of transactions, and entries whose checksum does not agree. Columns are those of `entries`, but where a
sentence says otherwise.
"""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="noted_entries",
    comment="One row per entry that is a chunk, ends a transaction, or is damaged: what later jobs read of single entries.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        Column("uri", "string", "Object that holds the entry, relative to the source; null of ledgers that an earlier release read, which the next audit reads again.", since=2),
        required("offset", "bigint", "First byte of the entry in that object."),
        required("length", "int", "Bytes of the entry."),
        Column("inner_offset", "bigint", "First byte within the decompressed block, where the store compresses; else null."),
        Column("block_length", "bigint", "Bytes of the compressed block, from `offset` on; null where the store does not compress."),
        required("payload_offset", "int", "First byte of the payload within the entry."),
        required("payload_length", "int", "Bytes of the payload as stored."),
        required("checksum_state", "string", "`valid`, `mismatch` or `absent`."),
        Column("payload_crc32c", "bigint", "CRC-32C of the payload alone, of chunks."),
        Column("broker_timestamp_ms", "bigint", "When the broker added the entry, milliseconds since 1970."),
        required("producer_name", "string", "Name of the producer."),
        required("sequence_id", "bigint", "Producer's sequence id, read as signed."),
        required("publish_time_ms", "bigint", "When the producer sent it, as on the wire."),
        required("has_key", "boolean", "Whether it has a partition key, so that compaction looks at it."),
        required("is_encrypted", "boolean", "Whether it names encryption keys."),
        Column("compression", "string", "Codec; null means NONE."),
        Column("uncompressed_size", "bigint", "Bytes of the payload before compression, of a chunk those of the whole message."),
        Column("num_messages_in_batch", "int", "Messages in the batch; null means one bare message."),
        Column("marker_type", "int", "Set on markers, which are not messages."),
        Column("txnid_least_bits", "bigint", "Transaction id, low half, read as signed."),
        Column("txnid_most_bits", "bigint", "Transaction id, high half, read as signed."),
        Column("uuid", "string", "Chunk group id."),
        Column("num_chunks_from_msg", "int", "Chunks the message was cut into."),
        Column("total_chunk_msg_size", "int", "Bytes of the whole message, compressed and not encrypted."),
        Column("chunk_id", "int", "Place of this chunk, from 0."),
        required("metadata_digest", "bigint", "Hash of what all chunks of one healthy message share besides sizes and codec: keys, properties but the replicator's position, times, schema, transaction."),
    ),
    key=("cluster", "ledger_id", "entry_id"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "topic", "ledger_id", "entry_id", "publish_time_ms", "uuid"),
    ascending=("entry_id", "offset", "broker_timestamp_ms", "publish_time_ms", "sequence_id"),
    unique=("payload_crc32c", "uuid", "metadata_digest"),
    row_group_bytes=8 * 1024 * 1024,  # who reads it all reads one in each thread
)
