"""What each producer stored on each topic, in one pass over `entries`: the small rows from which much else is told."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f


def producer_facts(entries: DataFrame) -> DataFrame:
    """One row per topic and producer; markers count as entries of the broker that wrote them (`markers`).

    Positions are structs that compare as the log does. `*_ms` of storing are the broker's clock, else the producer's.
    """
    message = f.col("marker_type").isNull()
    chunk = message & (f.col("num_chunks_from_msg") > 1)
    single = message & f.col("num_chunks_from_msg").isNull() & f.col("num_messages_in_batch").isNull()
    sound = f.col("checksum_state") != "mismatch"
    stored_ms = f.coalesce(f.unix_millis("broker_timestamp"), f.unix_millis("publish_time"))
    # Null where a wrong count or index leaves the numbers there are.
    first_index = f.try_subtract("index", f.coalesce("num_messages_in_batch", f.lit(1)) - f.lit(1).cast("bigint"))
    header = f.struct(f.col("payload_offset").alias("bytes"), "ledger_id", "entry_id")
    # A full slice: those before the last are all as large as the producer may make them.
    slice_ = f.struct(f.col("payload_length").alias("bytes"), "length", "ledger_id", "entry_id")
    # The message that came fastest tells most about the clock: queues and replication only add to its age.
    own = message & sound & f.col("replicated_from").isNull()
    ahead_ms = f.unix_millis("publish_time") - f.unix_millis("broker_timestamp")
    return (
        entries.filter(f.col("topic").isNotNull())
        .groupBy("topic", "producer_name")
        .agg(
            f.count("*").alias("entries"),
            _count(~message).alias("markers"),
            _count(chunk).alias("chunk_entries"),
            _count(single).alias("single_messages"),
            _sum(f.when(single, f.col("payload_length"))).alias("single_bytes"),
            _count(message & f.col("num_messages_in_batch").isNotNull()).alias("batches"),
            _sum(f.when(message, f.col("num_messages_in_batch"))).alias("batched_messages"),
            _sum(f.col("length")).alias("bytes"),
            _sum(f.when(chunk, f.col("payload_length"))).alias("chunk_bytes"),
            f.min(stored_ms).alias("first_ms"),
            f.max(stored_ms).alias("last_ms"),
            f.min(f.when(chunk, stored_ms)).alias("first_chunk_ms"),
            f.max(f.when(chunk, stored_ms)).alias("last_chunk_ms"),
            f.min(f.struct("ledger_id", "entry_id", first_index.alias("index"))).alias("first"),
            f.max(f.struct("ledger_id", "entry_id")).alias("last_entry"),
            f.max(f.when(message, f.struct("ledger_id", "entry_id", "sequence_id"))).alias("last"),
            f.max(f.col("length")).alias("largest_entry_bytes"),
            f.max(f.when(chunk & sound, header)).alias("largest_header"),
            f.max(f.when(chunk & sound & (f.col("chunk_id") < f.col("num_chunks_from_msg") - 1), slice_)).alias(
                "largest_slice"
            ),
            f.max(f.when(own & ahead_ms.isNotNull(), f.struct(ahead_ms.alias("ms"), "ledger_id", "entry_id"))).alias(
                "clock_ahead"
            ),
        )
    )


def _count(when: Column) -> Column:
    return f.count(f.when(when, 1))


def _sum(value: Column) -> Column:
    return f.coalesce(f.sum(value.cast("bigint")), f.lit(0))
