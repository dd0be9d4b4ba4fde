"""Noted entries -> chunk rows with what is known about the log around them. Metadata only, no payload."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

CHUNK_COLUMNS = (
    "topic", "chunk_uuid", "ledger_id", "entry_id", "publish_time_ms", "chunk_id", "num_chunks", "total_bytes",
    "uri", "payload_offset", "payload_length", "payload_crc32c", "checksum_state", "producer_name", "sequence_id",
    "compression", "uncompressed_size", "encrypted", "num_messages_in_batch", "metadata_digest",
    "broker_timestamp_ms", "inner_offset", "block_length",
)  # fmt: skip
"""What the fold reads of a chunk entry; where its payload lies is said as `chunks.rows.ChunkRow` does."""

PRODUCER_END_COLUMNS = ("producer_last_ledger_id", "producer_last_entry_id")


def is_chunk() -> Column:
    """Whether a row of `entries` or `noted_entries` carries chunk fields and is a message of a known topic."""
    return has_chunk_fields() & f.col("marker_type").isNull() & f.col("topic").isNotNull()


def has_chunk_fields() -> Column:
    """Whether a row of `entries` or `noted_entries` says that it is a part of a message."""
    fields = f.coalesce(f.col("uuid"), f.col("chunk_id").cast("string"), f.col("num_chunks_from_msg").cast("string"))
    return fields.isNotNull()


def select_chunks(noted: DataFrame) -> DataFrame:
    """The chunk entries of `noted_entries`, as `CHUNK_COLUMNS`."""
    compressed = f.col("inner_offset").isNotNull()
    renamed = {
        "chunk_uuid": f.coalesce("uuid", f.lit("")),
        "num_chunks": f.col("num_chunks_from_msg"),
        "total_bytes": f.col("total_chunk_msg_size"),
        "payload_offset": f.when(compressed, f.col("offset")).otherwise(f.col("offset") + f.col("payload_offset")),
        "inner_offset": f.col("inner_offset") + f.col("payload_offset"),
        "encrypted": f.col("is_encrypted"),
    }
    columns = [renamed[name].alias(name) if name in renamed else f.col(name) for name in CHUNK_COLUMNS]
    return noted.filter(is_chunk()).select(*columns)


def producer_ends(producers: DataFrame) -> DataFrame:
    """Position of each producer's last stored message entry, per topic; `producers` as `producers_of` makes them."""
    return producers.filter(f.col("last").isNotNull()).select(
        "topic",
        "producer_name",
        f.col("last.ledger_id").alias("producer_last_ledger_id"),
        f.col("last.entry_id").alias("producer_last_entry_id"),
    )


def with_producer_ends(chunks: DataFrame, ends: DataFrame) -> DataFrame:
    """Chunk rows, each with the end of its producer."""
    return chunks.join(ends, on=["topic", "producer_name"], how="left").select(*CHUNK_COLUMNS, *PRODUCER_END_COLUMNS)
