"""`topic_stats`: what a topic's log shows of its load, its chunks and its producers, and the settings that suit it."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

MAX_PRODUCERS = 50
"""Producers that a row lists at most."""
MAX_BUCKETS = 48
"""Stretches of time that `open_over_time` is cut into at most."""

PRODUCERS_TYPE = (
    "array<struct<producer_name:string,entries:bigint,chunk_entries:bigint,chunks_per_second:double,bytes:bigint,"
    "first_time:timestamp,last_time:timestamp,clock_ahead_ms:bigint>>"
)
OPEN_TYPE = "array<struct<time:timestamp,open_messages:bigint,open_bytes:bigint>>"
RECOMMENDED_TYPE = "array<struct<setting:string,value:string,reason:string>>"

TABLE = Table(
    name="topic_stats",
    comment="One row per topic: what its log shows of load, chunks and producers, and the settings that suit it.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition."),
        required("entries", "bigint", "Stored entries that could be decoded."),
        required("bytes", "bigint", "Sum of their bytes."),
        required("markers", "bigint", "Of them, entries that brokers wrote for themselves, which are not messages."),
        required("single_messages", "bigint", "Messages stored one by one, neither batched nor cut."),
        required("single_bytes", "bigint", "Sum of their payload bytes as stored."),
        required("batches", "bigint", "Entries that are batches."),
        required("batched_messages", "bigint", "Messages in them."),
        required("chunk_entries", "bigint", "Entries that are chunks of a message cut in two or more."),
        required("chunk_bytes", "bigint", "Sum of their payload bytes as stored."),
        Column("first_time", "timestamp", "When the first entry was stored, UTC: by the broker's clock, else the producer's."),
        Column("last_time", "timestamp", "When the last entry was stored, likewise."),
        required("chunks_published", "boolean", "Whether any chunked message was ever published, as far as the log goes back (the broker's `msgChunkPublished`)."),
        required("chunked_messages", "bigint", "Publications of chunked messages."),
        required("incomplete_messages", "bigint", "Of them, those without all chunks."),
        required("unusable_last_chunks", "bigint", "Last chunks that complete no message: Java and Go clients lose a permit for each."),
        Column("max_chunks", "int", "Most chunks that a message was cut into."),
        Column("max_message_bytes", "bigint", "Bytes of the largest chunked message, compressed and not encrypted."),
        Column("mean_message_bytes", "bigint", "Mean of the same."),
        Column("max_span_ms", "bigint", "Longest time from first to last stored chunk of a whole message, by the broker's clock; 0 where that was not recorded."),
        Column("max_span_entries", "bigint", "Most entries from first to last chunk of a whole message, both included."),
        required("peak_open_messages", "bigint", "Most messages that a reader holds unfinished at once. One that lacks its end stays open to the end of the log; one that lacks a chunk before ends where the next one is stored, for every client gives it up there."),
        required("peak_open_bytes", "bigint", "Most bytes of the same at once, counted whole as Java and C++ clients reserve them."),
        required("open_over_time", OPEN_TYPE, f"The same by time of publishing: highest values of up to {MAX_BUCKETS} equal stretches, those without change left out."),
        Column("largest_header_bytes", "bigint", "Bytes before the payload of a chunk entry: broker metadata, checksum and metadata."),
        Column("slice_bytes", "bigint", "Largest payload of a chunk that is not the last: what producers cut to."),
        Column("limit_bytes", "bigint", "`maxMessageSize` of the brokers: as a snapshot saved it, else as such slices show it; null when neither does."),
        required("largest_entry_bytes", "bigint", "Bytes of the largest entry of any kind."),
        required("producer_count", "bigint", "Producers, by name."),
        required("producers", PRODUCERS_TYPE, f"The {MAX_PRODUCERS} with most chunks, then most entries; `chunks_per_second` over the time in which it stored chunks, null when that is no time; `clock_ahead_ms`: its clock against the broker's, by its fastest message."),
        required("recommended", RECOMMENDED_TYPE, "Settings of clients and topic that suit this log, each with its reason; empty when it holds no chunks."),
    ),
    key=("cluster", "topic"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
