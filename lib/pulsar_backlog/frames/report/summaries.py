"""One row per ledger, per topic and for the whole audit, as quality rules want them (`quality/summaries.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.ledgers.values import SPREAD_KINDS

Frames = Mapping[str, DataFrame]
"""The tables of one cluster, by name."""

_SUMS = ("entries", "chunk_entries", "index_backwards", "broker_time_backwards", "publish_time_backwards")


def ledger_summary(tables: Frames) -> DataFrame:
    """The books of each scanned ledger beside what the tables hold of it."""
    of_entries = tables["ledger_facts"].select(
        "ledger_id",
        f.col("entries").alias("entries_rows"),
        f.col("first_entry_id").alias("min_entry_id"),
        f.col("last_entry_id").alias("max_entry_id"),
        # Ids ascend in every ledger that the walk gives; where they do not, some may repeat.
        (f.col("entries") - f.col("not_ascending")).alias("distinct_entries"),
        "non_positive_lengths",
        "last_byte",
        "publish_time_nulls",
    )
    of_rejects = tables["rejects"].filter(f.col("scope") == "entry").groupBy("ledger_id")
    status = tables["ledgers"].filter("selected").select("ledger_id", "status", "kind")
    joined = (
        tables["scans"]
        .join(status, on="ledger_id", how="left")
        .join(of_entries, on="ledger_id", how="left")
        .join(of_rejects.agg(f.count("*").alias("rejects_rows")), on="ledger_id", how="left")
    )
    counts = ("entries_rows", "distinct_entries", "non_positive_lengths", "publish_time_nulls", "rejects_rows")
    # Entries of some kinds lie in several files; places in a live ledger are made of entry ids.
    in_one_object = ~f.col("kind").isin(*SPREAD_KINDS, "live")
    is_beyond = in_one_object & (f.col("last_byte") > f.col("data_bytes"))
    beyond = f.when(is_beyond, 1).otherwise(0).cast("bigint")
    return joined.select(
        f.concat(f.lit("ledger "), f.col("ledger_id").cast("string")).alias("subject"),
        "topic", "ledger_id", "status", "expected_entries", "frames", "decoded", "rejected", "expected_bytes",
        "entry_bytes", "checksum_mismatch", "order_faults", "structure_faults", "unreadable_units", "min_entry_id",
        "max_entry_id", beyond.alias("beyond_object"), "complete",
        *(f.coalesce(name, f.lit(0)).alias(name) for name in counts),
    )  # fmt: skip


def topic_summary(tables: Frames) -> DataFrame:
    """Entries of each topic against chunks and publications, and how its orderings hold."""
    known = tables["ledger_facts"].filter(f.col("topic").isNotNull() & (f.col("entries") > 0))
    of_entries = known.groupBy("topic").agg(
        *(f.sum(name).alias(name) for name in _SUMS),
        *(f.max(name).alias(name) for name in ("max_publish_skew_ms", "largest_entry_bytes")),
        f.min("oldest_stored_ms").alias("oldest_time_ms"),
        f.max("newest_stored_ms").alias("newest_time_ms"),
    )
    of_chunks = tables["chunks"].groupBy("topic").agg(f.count("*").alias("chunks_rows"))
    of_messages = tables["chunked_messages"].groupBy("topic").agg(
        f.count("*").alias("chunked_messages"), f.sum("copies").alias("copies_in_messages")
    )  # fmt: skip
    joined = of_entries.join(of_chunks, on="topic", how="full").join(of_messages, on="topic", how="full")
    counts = (*_SUMS, "chunks_rows", "chunked_messages", "copies_in_messages")
    return joined.select(
        f.col("topic").alias("subject"), "topic", "max_publish_skew_ms", "oldest_time_ms", "newest_time_ms",
        "largest_entry_bytes", *(f.coalesce(name, f.lit(0)).alias(name) for name in counts),
    )  # fmt: skip


def audit_summary(tables: Frames, stored: int, present: int, expected: int, run_at: datetime) -> DataFrame:
    """The whole audit in one row.

    Args:
        tables: of the cluster.
        stored: rows of the table `entries`.
        present: tables that are there.
        expected: tables that should be.
        run_at: what freshness is measured from.
    """
    with_data = f.col("selected") & f.col("data_uri").isNotNull()
    newest_ms = f.max("newest_stored_ms")
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
        tables["ledger_facts"].agg(
            f.lit(stored).cast("bigint").alias("entries_rows"),
            ((f.lit(run_at.timestamp() * 1000) - newest_ms) / 3_600_000).alias("hours_since_newest"),
        ),
        tables["rejects"].agg(_count(f.col("scope") == "entry").alias("rejects_rows")),
        tables["findings"].agg(
            _count(f.col("severity") == "error").alias("findings_errors"),
            f.coalesce(f.sum(f.when(f.col("code") == LEFT_UNREAD, f.col("count"))), f.lit(0)).alias("left_unread"),
            _count(f.col("incomplete")).alias("findings_incomplete"),
        ),
    )
    whole, *others = parts
    for part in others:
        whole = whole.crossJoin(part)
    # What the audit was told to leave is a finding, and no fault of the tables.
    whole = whole.withColumn("copies_selected", f.col("copies_selected") - f.col("left_unread")).drop("left_unread")
    return whole.select(
        f.lit("audit").alias("subject"), "*",
        f.lit(present).alias("tables_present"), f.lit(expected).alias("tables_expected"),
    )  # fmt: skip


def _count(when: Column) -> Column:
    return f.count(f.when(when, 1))


def _sum(name: str) -> Column:
    return f.coalesce(f.sum(name), f.lit(0))
