"""From the tables to the small rows of the report: bounded lists, with the true totals beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.facts.sizes import CELLS
from pulsar_backlog.findings import SEVERITIES

Frames = Mapping[str, DataFrame]
"""The tables of one cluster, by name."""

_WIDEST = 48
"""Power of two in milliseconds that is longer than all time."""


def topic_rows(tables: Frames) -> DataFrame:
    """One row per topic: entries, messages, bytes, times, rejected entries, and how many errors were found."""
    of_entries = tables["ledger_facts"].filter("entries > 0").groupBy("topic").agg(
        f.sum("entries").alias("entries"),
        f.sum("messages").alias("single_messages"),
        f.sum("bytes").alias("bytes"),
        f.min("oldest_stored_ms").alias("first_ms"),
        f.max("newest_stored_ms").alias("last_ms"),
        f.every(f.col("broker_timestamps") == f.col("entries")).alias("by_broker"),
        f.sum("entries_with_uuid").alias("chunk_entries"),
    )  # fmt: skip
    of_scans = tables["scans"].groupBy("topic").agg(f.sum("rejected").alias("rejected"))
    of_messages = tables["chunked_messages"].groupBy("topic").agg(f.count("*").alias("chunked"))
    errors = tables["findings"].filter("severity = 'error'").groupBy("topic").agg(f.count("*").alias("errors"))
    topics = tables["ledgers"].select("topic").distinct()
    for frame in (of_entries, of_scans, of_messages, errors):
        right = frame.withColumnRenamed("topic", "other")
        topics = topics.join(right, topics["topic"].eqNullSafe(right["other"]), how="left").drop("other")
    return topics


def chosen_topics(topics: DataFrame, limit: int, after: int = 0) -> DataFrame:
    """The topics that get a section, a batch `after` others: those with errors first, then the largest."""
    worst_first = (f.coalesce("errors", f.lit(0)).desc(), f.coalesce("bytes", f.lit(0)).desc(), f.col("topic"))
    return topics.orderBy(*worst_first).offset(after).limit(limit)


def only_chosen(frame: DataFrame, chosen: DataFrame) -> DataFrame:
    """The rows of the chosen topics; ledgers without a topic are one topic of their own."""
    names = f.broadcast(chosen.select(f.col("topic").alias("chosen")))
    return frame.join(names, frame["topic"].eqNullSafe(names["chosen"]), how="left_semi")


def bucket_rows(facts: DataFrame, chosen: DataFrame) -> DataFrame:
    """Entries, bytes and chunks per topic and span of time, as wide as the cells of all its ledgers together must be.

    Args:
        facts: rows of `ledger_facts`.
        chosen: the topics, as `chosen_topics` makes them.
    """
    spans = f.broadcast(chosen.select(f.col("topic").alias("chosen"), _cell_ms().alias("bucket_ms")))
    cells = facts.select("topic", f.inline("cells"))
    joined = cells.join(spans, cells["topic"].eqNullSafe(spans["chosen"]), how="inner")
    start = f.expr("start_ms div bucket_ms * bucket_ms")
    return (
        joined.withColumn("start_ms", start)
        .groupBy("topic", "bucket_ms", "start_ms")
        .agg(*(f.sum(name).alias(name) for name in ("entries", "bytes", "chunk_entries")))
        .orderBy("topic", "start_ms")
    )


def _cell_ms() -> Column:
    """The narrowest power of two with which `CELLS` cells cover a topic's times, as in `facts.sizes`; else null."""
    return f.expr(
        f"get(filter(transform(sequence(0, {_WIDEST}), power -> shiftleft(1L, power)), "
        f"width -> last_ms div width - first_ms div width < {CELLS}), 0)"
    )


def ledger_rows(tables: Frames, limit: int) -> DataFrame:
    """The first `limit` ledger copies of each topic, and how many each topic has (`total`)."""
    scans = tables["scans"].select("ledger_id", "copy", f.col("frames").alias("entries"))
    joined = tables["ledgers"].join(scans, on=["ledger_id", "copy"], how="left")
    return _first_of_topic(joined, limit, "ledger_id", "copy").select(
        "topic", "ledger_id", "entries", f.col("data_bytes").alias("bytes"), "status", "total",
        f.unix_millis("created_time").alias("created_ms"), f.unix_millis("closed_time").alias("closed_ms"),
    )  # fmt: skip


def group_rows(publications: DataFrame, *by: str) -> DataFrame:
    """Publications counted by verdict, and by what else is given."""
    columns = (*by, "state", "flags", "rebuildable", "sureness")
    return publications.groupBy(*columns).agg(f.count("*").alias("publications")).orderBy(*columns)


def broken_rows(publications: DataFrame, limit: int) -> DataFrame:
    """The first `limit` publications of each topic that are not simply whole; lost ones first."""
    odd = publications.filter((f.col("state") != "whole") | (f.size(f.array_remove("flags", "ledger_span")) > 0))
    harmless = f.col("state").isin("whole", "in_flight").cast("int").alias("harmless")
    ranked = odd.withColumn("harmless", harmless)
    columns = ("harmless", "first_ledger_id", "first_entry_id", "chunk_uuid")
    return _first_of_topic(ranked, limit, *columns)


def finding_rows(findings: DataFrame, limit: int) -> DataFrame:
    """The first `limit` findings of each topic, worst first."""
    ranked = findings.withColumn("rank", _rank())
    return _first_of_topic(ranked, limit, "rank", "code", "subject")


def worst_finding_rows(findings: DataFrame, limit: int) -> DataFrame:
    """The `limit` worst findings of all."""
    return findings.orderBy(_rank(), f.col("count").desc(), "code", "subject").limit(limit)


def total_rows(findings: DataFrame, *by: str) -> DataFrame:
    """Findings counted by code, severity and completeness, and by what else is given."""
    grouped = findings.groupBy(*by, "code", "severity", "incomplete")
    counted = grouped.agg(f.count("*").alias("findings"), f.sum("count").alias("count"))
    return counted.orderBy("code", "severity", "incomplete")


def ledger_counts(ledgers: DataFrame) -> dict[str, Any]:
    """How many copies there are, how many are not in order, and how many topics."""
    bad = f.count(f.when(f.col("status").isin("damaged", "unreadable"), 1))
    row = ledgers.agg(f.count("*").alias("ledgers"), bad.alias("not_ok"), f.count_distinct("topic").alias("topics"))
    return row.collect()[0].asDict()


def _first_of_topic(frame: DataFrame, limit: int, *order: str) -> DataFrame:
    """The first rows of each topic, with the topic's number of rows as `total`."""
    of_topic = Window.partitionBy("topic")
    numbered = frame.withColumn("number", f.row_number().over(of_topic.orderBy(*order)))
    counted = numbered.withColumn("total", f.count("*").over(of_topic))
    return counted.filter(f.col("number") <= limit).orderBy("topic", "number")


def _rank() -> Column:
    rank = f.lit(len(SEVERITIES))
    for place, severity in enumerate(SEVERITIES):
        rank = f.when(f.col("severity") == severity, place).otherwise(rank)
    return rank
