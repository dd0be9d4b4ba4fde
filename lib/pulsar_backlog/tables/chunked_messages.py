"""`chunked_messages`: every publication of a chunked message, its state, and how to put it together."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

MANIFEST_TYPE = "array<struct<chunk_id:int,ledger_id:bigint,entry_id:bigint,uri:string,offset:bigint,length:int,inner_offset:bigint,block_length:bigint>>"

TABLE = Table(
    name="chunked_messages",
    comment="One row per publication (one send, identified by uuid and publish time) of a chunked message.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("chunk_uuid", "string", "`uuid` of the chunks; empty when they carry none."),
        Column("publish_time", "timestamp", "Publish time shared by all its chunks, UTC; null when out of range."),
        required("publish_time_ms", "bigint", "The same as on the wire, milliseconds since 1970."),
        required("producer_name", "string", "Producer of the first stored copy."),
        required("sequence_id", "bigint", "Sequence id of the first stored copy."),
        required("state", "string", "`whole`, `out_of_order`, `orphan_prefix`, `headless`, `gap`, `in_flight` or `malformed`; see docs/verdicts.md."),
        required("flags", "array<string>", "What else is odd, sorted; see docs/verdicts.md."),
        required("rebuildable", "boolean", "Whether a valid copy of every chunk is stored and the sizes agree."),
        required("sureness", "string", "`certain`, `likely` or `cannot_tell`: how sure state and rebuildable are."),
        required("reason", "string", "Why the sureness is what it is."),
        Column("first_ledger_id", "bigint", "Ledger of the first chunk (ChunkMessageId); of the earliest copy when incomplete."),
        Column("first_entry_id", "bigint", "Entry of the first chunk."),
        Column("last_ledger_id", "bigint", "Ledger of the last chunk (ChunkMessageId); of the latest copy when incomplete."),
        Column("last_entry_id", "bigint", "Entry of the last chunk."),
        required("num_chunks", "int", "Chunks the message was cut into: by its metadata, or by the stored bytes where these hold the whole total and deny it (`sizes_lie`)."),
        required("copies", "int", "Stored entries that belong to it."),
        required("present_chunks", "int", "Different chunk ids that are stored."),
        required("missing_chunk_ids", "array<int>", "Chunk ids of which no copy is stored, at most the first 1000."),
        required("missing_chunk_count", "int", "How many chunk ids are missing."),
        required("missing_bytes", "array<struct<start:bigint,end:bigint>>", "Half-open byte ranges of the compressed message that are missing, merged; empty when they cannot be known."),
        required("total_bytes", "bigint", "`total_chunk_msg_size`: bytes of the whole, compressed and not encrypted."),
        required("stored_bytes", "bigint", "Payload bytes of one copy of each stored chunk, without encryption tags."),
        Column("uncompressed_bytes", "bigint", "`uncompressed_size`: bytes of the whole before compression; null when absent."),
        Column("compression", "string", "Codec; null means none."),
        required("encrypted", "boolean", "Whether its chunks are encrypted."),
        required("span_entries", "bigint", "Entries from its first to its last chunk, both included, within one ledger; across ledgers the least it can be. Of an incomplete message, from first to last copy."),
        required("span_ms", "bigint", "The same in milliseconds by the broker's clock; 0 where that was not recorded."),
        required("ledgers", "array<bigint>", "Ledgers that hold its copies, ascending."),
        required("manifest", MANIFEST_TYPE, "Where to read the payload of each chunk, in order, as `entries` says of entries; empty unless rebuildable.", fields_since=2),
        required("decode_state", "string", "What decompressing the joined payload showed: `ok`, `fault`, `wrong_size`, `not_needed` (uncompressed), `encrypted`, `not_checked` (with the reason in `reason`)."),
        Column("decoded_bytes", "bigint", "Bytes the joined payload decompresses to; null where that was not found out."),
    ),
    key=("cluster", "topic", "chunk_uuid", "publish_time_ms"),
    slice_columns=("cluster", "topic"),
    statistics=("cluster", "topic", "chunk_uuid", "publish_time", "state"),
)
