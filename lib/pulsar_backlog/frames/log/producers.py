"""What each producer stored on each topic: the small rows from which much else is told."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_ADDED = (
    "entries", "markers", "chunk_entries", "single_messages", "single_bytes", "batches", "batched_messages", "bytes",
    "chunk_bytes",
)  # fmt: skip
_LEAST = ("first_ms", "first_chunk_ms", "first")
_MOST = (
    "last_ms", "last_chunk_ms", "last_entry", "last", "last_message", "largest_entry_bytes", "largest_header",
    "largest_slice", "clock_ahead",
)  # fmt: skip


def producers_of(facts: DataFrame) -> DataFrame:
    """One row per topic and producer of rows of `producer_facts`, with its columns; none where nothing names the topic.

    Positions are structs that compare as the log does.
    """
    return (
        facts.filter(f.col("topic").isNotNull())
        .groupBy("topic", "producer_name")
        .agg(
            *(f.sum(name).alias(name) for name in _ADDED),
            *(f.min(name).alias(name) for name in _LEAST),
            *(f.max(name).alias(name) for name in _MOST),
        )
    )
