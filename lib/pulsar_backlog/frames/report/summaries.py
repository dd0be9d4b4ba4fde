"""One row per ledger, per topic and for the whole audit, as quality rules want them (`quality/summaries.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.frames.chunks.rows import is_chunk

Frames = Mapping[str, DataFrame]
"""The tables of one cluster, by name."""


def ledger_summary(tables: Frames) -> DataFrame:
    """The books of each scanned ledger beside what the tables hold of it."""
    of_entries = tables["entries"].groupBy("ledger_id").agg(
        f.count("*").alias("entries_rows"),
        f.min("entry_id").alias("min_entry_id"),
        f.max("entry_id").alias("max_entry_id"),
        f.count_distinct("entry_id").alias("distinct_entries"),
        _count(f.col("length") <= 0).alias("non_positive_lengths"),
        f.max(f.col("offset") + f.col("length")).alias("last_byte"),
        _count(f.col("publish_time").isNull()).alias("publish_time_nulls"),
    )  # fmt: skip
    of_rejects = tables["rejects"].filter(f.col("scope") == "entry").groupBy("ledger_id")
    status = tables["ledgers"].filter("selected").select("ledger_id", "status")
    joined = (
        tables["scans"]
        .join(status, on="ledger_id", how="left")
        .join(of_entries, on="ledger_id", how="left")
        .join(of_rejects.agg(f.count("*").alias("rejects_rows")), on="ledger_id", how="left")
    )
    counts = ("entries_rows", "distinct_entries", "non_positive_lengths", "publish_time_nulls", "rejects_rows")
    beyond = f.when(f.col("last_byte") > f.col("data_bytes"), 1).otherwise(0).cast("bigint")
    return joined.select(
        f.concat(f.lit("ledger "), f.col("ledger_id").cast("string")).alias("subject"),
        "topic", "ledger_id", "status", "expected_entries", "frames", "decoded", "rejected", "expected_bytes",
        "entry_bytes", "checksum_mismatch", "order_faults", "structure_faults", "unreadable_units", "min_entry_id",
        "max_entry_id", beyond.alias("beyond_object"), "complete",
        *(f.coalesce(name, f.lit(0)).alias(name) for name in counts),
    )  # fmt: skip


def topic_summary(tables: Frames) -> DataFrame:
    """Entries of each topic against chunks and publications, and how its orderings hold."""
    messages = tables["entries"].filter(f.col("topic").isNotNull())
    of_entries = _with_previous(messages).groupBy("topic").agg(
        f.count("*").alias("entries"),
        _count(is_chunk()).alias("chunk_entries"),
        f.max(f.abs(f.col("publish_ms") - f.col("broker_ms"))).alias("max_publish_skew_ms"),
        _count(f.col("index") <= f.col("index_before")).alias("index_backwards"),
        _count(f.col("broker_ms") < f.col("broker_ms_before")).alias("broker_time_backwards"),
        _count(f.col("publish_time_ms") < f.col("publish_ms_before")).alias("publish_time_backwards"),
        f.min("stored_ms").alias("oldest_time_ms"),
        f.max("stored_ms").alias("newest_time_ms"),
        f.max("length").cast("bigint").alias("largest_entry_bytes"),
    )  # fmt: skip
    of_chunks = tables["chunks"].groupBy("topic").agg(f.count("*").alias("chunks_rows"))
    of_messages = tables["chunked_messages"].groupBy("topic").agg(
        f.count("*").alias("chunked_messages"), f.sum("copies").alias("copies_in_messages")
    )  # fmt: skip
    joined = of_entries.join(of_chunks, on="topic", how="full").join(of_messages, on="topic", how="full")
    counts = ("entries", "chunk_entries", "chunks_rows", "chunked_messages", "copies_in_messages", "index_backwards",
              "broker_time_backwards", "publish_time_backwards")  # fmt: skip
    return joined.select(
        f.col("topic").alias("subject"), "topic", "max_publish_skew_ms", "oldest_time_ms", "newest_time_ms",
        "largest_entry_bytes", *(f.coalesce(name, f.lit(0)).alias(name) for name in counts),
    )  # fmt: skip


def audit_summary(tables: Frames, present: int, expected: int, run_at: datetime) -> DataFrame:
    """The whole audit in one row; `present` and `expected` count tables, freshness is measured from `run_at`."""
    with_data = f.col("selected") & f.col("data_uri").isNotNull()
    newest_ms = f.max(f.coalesce(f.unix_millis("broker_timestamp"), f.unix_millis("publish_time")))
    parts = (
        tables["ledgers"].agg(
            _count(with_data).alias("copies_selected"),
            _count(f.col("selected") & f.col("topic").isNull()).alias("unknown_topic_ledgers"),
            f.count_distinct("topic").alias("topics"),
        ),
        tables["scans"].agg(
            _count(f.col("complete")).alias("copies_scanned"),
            _sum("decoded").alias("scans_decoded"),
            _sum("rejected").alias("scans_rejected"),
        ),
        tables["entries"].agg(
            f.count("*").alias("entries_rows"),
            ((f.lit(run_at.timestamp() * 1000) - newest_ms) / 3_600_000).alias("hours_since_newest"),
        ),
        tables["rejects"].agg(_count(f.col("scope") == "entry").alias("rejects_rows")),
        tables["findings"].agg(
            _count(f.col("severity") == "error").alias("findings_errors"),
            _count(f.col("incomplete")).alias("findings_incomplete"),
        ),
    )
    whole, *others = parts
    for part in others:
        whole = whole.crossJoin(part)
    return whole.select(
        f.lit("audit").alias("subject"), "*",
        f.lit(present).alias("tables_present"), f.lit(expected).alias("tables_expected"),
    )  # fmt: skip


def _with_previous(entries: DataFrame) -> DataFrame:
    """Entries with index and times of the entry before them in the ledger.

    The order is looked at within ledgers: a window over a topic would send all its entries to one task.
    """
    before = Window.partitionBy("ledger_id").orderBy("entry_id")
    broker_ms, publish_ms = f.unix_millis("broker_timestamp"), f.unix_millis("publish_time")
    timed = entries.select(
        "topic", "ledger_id", "entry_id", "index", "length", "publish_time_ms", "uuid", "chunk_id",
        "num_chunks_from_msg", "marker_type", broker_ms.alias("broker_ms"),
        publish_ms.alias("publish_ms"), f.coalesce(broker_ms, publish_ms).alias("stored_ms"),
    )  # fmt: skip
    return timed.select(
        "*",
        f.lag("index").over(before).alias("index_before"),
        f.lag("broker_ms").over(before).alias("broker_ms_before"),
        f.lag("publish_time_ms").over(before).alias("publish_ms_before"),
    )


def _count(when: Column) -> Column:
    return f.count(f.when(when, 1))


def _sum(name: str) -> Column:
    return f.coalesce(f.sum(name), f.lit(0))
