"""`message_digests`: what two logs are compared by: one row for each message of each side, without its payload."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

SIDE = required("side", "string", "`a` or `b`: the first or the second audit that `compare` was given.")

TABLE = Table(
    name="message_digests",
    comment="One row per message of each side of a comparison: where it lies, whose it is, and what it holds as digests. Written by `compare`, ledger by ledger; a ledger that did not change is not read again.",
    columns=(
        CLUSTER,
        SIDE,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        required("batch_index", "int", "Place in the batch, from 0; -1 for a message that is no batch member. Of a chunked message the entry is that of its last chunk."),
        Column("producer_name", "string", "Name of the producer that sent it first; this and what follows is null where the entry could not be read."),
        Column("sequence_id", "bigint", "Producer's sequence id; of a batch member its own where it has one, else that of the batch."),
        Column("highest_sequence_id", "bigint", "Highest sequence id of its batch."),
        Column("publish_time_ms", "bigint", "When the producer sent it by its own clock, milliseconds since 1970; replication keeps it."),
        Column("broker_time_ms", "bigint", "When this side's broker added the entry, milliseconds since 1970; null without broker metadata."),
        Column("replicated_from", "string", "Cluster the message was replicated from; null for one that was sent to this cluster."),
        Column("replicate_to", "string", "Clusters that it may be replicated to, with commas; null for all."),
        Column("chunk_uuid", "string", "`uuid` of its chunks; null for a message that is not chunked."),
        required("outcome", "string", "`exported` and others as in `messages`: whether its payload could be read."),
        required("verified", "boolean", "Whether checksum, sizes and decompression agree."),
        Column("is_repair", "boolean", "Whether a repair published it here: then it stands at the end of the log, and its order is not compared; null where nobody looked.", since=2),
        Column("payload_bytes", "bigint", "Bytes of the payload, decrypted and decompressed; null where it could not be read."),
        Column("payload_crc32c", "bigint", "CRC-32C of these bytes, unsigned."),
        Column("origin", "bigint", "Hash of producer, sequence id and publish time: equal on both sides. Null where these are not known."),
        required("ordinal", "int", "How many members before it in its entry have the same origin; 0 but for producers that give the members of a batch no sequence ids."),
        Column("content", "bigint", "Hash of payload, key, ordering key, properties (but the replicator's and those of repairs), event time and null value; without the payload where it stays shut (`no_key`, `undecryptable`, `too_large`, `no_room`), and null where nothing could be read."),
    ),
    key=("cluster", "side", "ledger_id", "entry_id", "batch_index"),
    slice_columns=("cluster", "side", "ledger_id"),
    statistics=("cluster", "side", "topic", "ledger_id", "publish_time_ms"),
    ascending=("entry_id", "sequence_id", "publish_time_ms", "broker_time_ms"),
    unique=("payload_crc32c", "origin", "content"),
    row_group_bytes=16 * 1024 * 1024,
)
