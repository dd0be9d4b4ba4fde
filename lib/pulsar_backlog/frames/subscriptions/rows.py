"""Rows of `subscriptions`: what the states say, with what the joins counted."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.frames.subscriptions.ack_join import SUM
from pulsar_backlog.frames.times import time_of_ms
from pulsar_backlog.tables import TABLES

COUNTED = (
    "oldest_unacked_ledger_id", "oldest_unacked_entry_id", "oldest_unacked_time", "oldest_unacked_what", "holes",
    "hole_entries", "batch_holes", "backlog_entries", "backlog_messages", "backlog_bytes", "stalls",
    "redelivered_bytes", "rollback_entries", "rollback_bytes",
)  # fmt: skip
"""Columns of `subscriptions` that come from the joins."""


def subscription_rows(
    spark: SparkSession, states: list[dict[str, Any]], joined: DataFrame, stalls: DataFrame, chunks: DataFrame,
    publications: DataFrame,
) -> DataFrame:  # fmt: skip
    """Rows of `subscriptions`.

    Args:
        spark: the session.
        states: rows as `said_row` makes them.
        joined: as `join_acks` makes it.
        stalls: rows of `stalls`.
        chunks: rows of `chunks`.
        publications: rows of `chunked_messages`.
    """
    table = TABLES["subscriptions"]
    own = ", ".join(f"`{c.name}` {c.type}" for c in table.columns if c.name not in COUNTED)
    rows = [{name: row.get(name) for name in spark_schema(own).names} for row in states]
    frame = spark.createDataFrame(rows, spark_schema(own))
    key = ["topic", "subscription"]
    wide = frame.join(_counts(joined, chunks, publications), on=key, how="left").join(_todo(stalls), on=key, how="left")
    is_known = f.col("state") != "unknown"
    counts = {
        name: f.when(is_known, f.coalesce(name, f.lit(0)))
        for name in COUNTED
        if name.endswith(("_entries", "_bytes", "_messages")) or name in ("holes", "batch_holes")
    }
    counts |= {"stalls": f.coalesce("stalls", f.lit(0))}
    return wide.select(*(counts.get(c.name, f.col(c.name)).cast(c.type).alias(c.name) for c in table.columns))


def _counts(joined: DataFrame, chunks: DataFrame, publications: DataFrame) -> DataFrame:
    is_sum, is_hole = f.col("kind") == SUM, f.col("kind") == "hole"
    oldest = f.when(
        is_sum & (f.col("entries") > 0),
        f.struct("ledger_id", f.col("first_entry_id").alias("entry_id"), "publish_time_ms"),
    )
    grouped = joined.groupBy("topic", "subscription").agg(
        f.min(oldest).alias("oldest"),
        f.sum(f.when(is_sum, f.col("entries"))).alias("backlog_entries"),
        f.sum(f.when(is_sum, f.col("messages"))).alias("backlog_messages"),
        f.sum(f.when(is_sum, f.col("bytes"))).alias("backlog_bytes"),
        f.count(f.when(is_hole, 1)).alias("holes"),
        f.sum(f.when(is_hole, f.col("entries"))).alias("hole_entries"),
        f.count(f.when(f.col("kind") == "batch_hole", 1)).alias("batch_holes"),
        f.sum("redelivered_bytes").alias("redelivered_bytes"),
        f.sum("rolled_back_entries").alias("rollback_entries"),
        f.sum("rolled_back_bytes").alias("rollback_bytes"),
    )
    what = f.concat_ws(" ", "state", "role")
    roles = chunks.join(
        publications.select("topic", "chunk_uuid", "publish_time_ms", "state"),
        on=["topic", "chunk_uuid", "publish_time_ms"], how="inner",
    ).select(
        "topic", f.col("ledger_id").alias("at_ledger"), f.col("entry_id").alias("at_entry"), what.alias("what")
    )  # fmt: skip
    at = (grouped["topic"] == roles["topic"]) & (f.col("oldest.ledger_id") == f.col("at_ledger"))
    named = grouped.join(roles, on=at & (f.col("oldest.entry_id") == f.col("at_entry")), how="left").drop(
        roles["topic"]
    )
    return named.select(
        "topic", "subscription", "holes", "hole_entries", "batch_holes", "backlog_entries", "backlog_messages",
        "backlog_bytes", "redelivered_bytes", "rollback_entries", "rollback_bytes",
        f.col("oldest.ledger_id").alias("oldest_unacked_ledger_id"),
        f.col("oldest.entry_id").alias("oldest_unacked_entry_id"),
        time_of_ms("oldest.publish_time_ms").alias("oldest_unacked_time"),
        f.when(f.col("oldest").isNotNull(), f.coalesce("what", f.lit("message"))).alias("oldest_unacked_what"),
    )  # fmt: skip


def _todo(stalls: DataFrame) -> DataFrame:
    wanted = stalls.filter(~f.col("action").isin("wait", "none"))
    return wanted.groupBy("topic", "subscription").agg(f.count("*").alias("stalls"))
