"""Producers and publications -> rows of `topic_stats`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.chunks.settings import SMALL_MESSAGE_BYTES, TopicLoad, recommend
from pulsar_backlog.frames.chunks.open_messages import open_messages
from pulsar_backlog.frames.chunks.slice_limits import limit_in_evidence
from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.topic_stats import MAX_BUCKETS, MAX_PRODUCERS, OPEN_TYPE
from pulsar_backlog.terms import INCOMPLETE
from pulsar_backlog.workers import quiet

_SUMS = (
    "entries", "bytes", "markers", "single_messages", "single_bytes", "batches", "batched_messages", "chunk_entries",
    "chunk_bytes",
)  # fmt: skip
_LOAD = tuple(field.name for field in fields(TopicLoad))


def topic_stats(producers: DataFrame, publications: DataFrame, cluster: str) -> DataFrame:
    """Rows of `topic_stats`; `producers` as `producers_of` makes them, `publications` rows of `chunked_messages`."""
    joined = (
        _of_producers(producers)
        .join(_of_publications(publications), on="topic", how="left")
        .join(open_messages(publications, MAX_BUCKETS), on="topic", how="left")
    )
    return _with_settings(_measured(joined, cluster))


def _of_producers(producers: DataFrame) -> DataFrame:
    of_topic = Window.partitionBy("topic")
    first = of_topic.orderBy(f.col("chunk_entries").desc(), f.col("entries").desc(), "producer_name")
    seconds = (f.col("last_chunk_ms") - f.col("first_chunk_ms")) / 1000
    named = f.struct(
        "number", "producer_name", "entries", "chunk_entries",
        f.when(seconds > 0, f.col("chunk_entries") / seconds).alias("chunks_per_second"), "bytes",
        f.timestamp_millis("first_ms").alias("first_time"), f.timestamp_millis("last_ms").alias("last_time"),
        f.col("clock_ahead.ms").alias("clock_ahead_ms"),
    )  # fmt: skip
    small = (f.col("chunk_entries") > 0) & (f.col("single_bytes") <= SMALL_MESSAGE_BYTES * f.col("single_messages"))
    # Who wrote nothing but markers is the broker.
    sends = f.col("markers") < f.col("entries")
    numbered = producers.withColumn("number", f.row_number().over(first))
    return numbered.groupBy("topic").agg(
        *(f.sum(name).alias(name) for name in _SUMS),
        f.min("first_ms").alias("first_ms"),
        f.max("last_ms").alias("last_ms"),
        f.max("largest_entry_bytes").cast("bigint").alias("largest_entry_bytes"),
        f.max("largest_header.bytes").cast("bigint").alias("largest_header_bytes"),
        f.max("largest_slice").alias("largest_slice"),
        f.sum(f.when(small, f.col("single_messages")).otherwise(0)).alias("small_singles"),
        f.array_sort(f.collect_list(f.when(sends & (f.col("number") <= MAX_PRODUCERS), named))).alias("numbered"),
        f.count(f.when(sends, 1)).alias("producer_count"),
    )


def _of_publications(publications: DataFrame) -> DataFrame:
    whole = f.col("state") == "whole"
    incomplete = f.col("state").isin("in_flight", *INCOMPLETE)
    without_end = f.array_contains("missing_chunk_ids", f.col("num_chunks") - 1)
    useless = f.col("state").isin("headless", "gap", "out_of_order") & ~without_end
    return publications.groupBy("topic").agg(
        f.count("*").alias("chunked_messages"),
        f.count(f.when(incomplete, 1)).alias("incomplete_messages"),
        f.count(f.when(useless, 1)).alias("unusable_last_chunks"),
        f.max("num_chunks").alias("max_chunks"),
        f.max("total_bytes").alias("max_message_bytes"),
        f.avg("total_bytes").cast("bigint").alias("mean_message_bytes"),
        f.max(f.when(whole, f.col("span_ms"))).alias("max_span_ms"),
        f.max(f.when(whole, f.col("span_entries"))).alias("max_span_entries"),
    )


def _measured(joined: DataFrame, cluster: str) -> DataFrame:
    """All columns but `recommended`, with what only the settings need."""
    slice_bytes = f.col("largest_slice.bytes").cast("bigint")
    limit = limit_in_evidence(slice_bytes, f.col("largest_slice.length"), f.col("largest_entry_bytes"))
    counts = ("chunked_messages", "incomplete_messages", "unusable_last_chunks", "peak_open_messages",
              "peak_open_bytes", "producer_count")  # fmt: skip
    told: dict[str, Column] = {name: f.coalesce(name, f.lit(0)).cast("bigint") for name in counts}
    told |= {
        "cluster": f.lit(cluster),
        "first_time": f.timestamp_millis("first_ms"),
        "last_time": f.timestamp_millis("last_ms"),
        "chunks_published": f.coalesce(f.col("chunked_messages") > 0, f.lit(False)),
        "slice_bytes": slice_bytes,
        "limit_bytes": limit,
        "open_over_time": f.coalesce("open_over_time", f.array().cast(OPEN_TYPE)),
        "producers": f.transform("numbered", lambda one: one.dropFields("number")),
    }
    columns = [name for name in TABLES["topic_stats"].column_names() if name != "recommended"]
    return joined.select(*(told.get(name, f.col(name)).alias(name) for name in columns), "small_singles")


def _with_settings(measured: DataFrame) -> DataFrame:
    """The rows with the settings that the pure rules recommend; a door into Python, one row per topic."""
    arrow = arrow_schema(TABLES["topic_stats"])

    def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [row | {"recommended": _recommended(row)} for row in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    return measured.mapInArrow(quiet(judge), spark_schema(TABLES["topic_stats"].ddl()))


def _recommended(row: dict[str, Any]) -> list[dict[str, str]]:
    unknown_is_none = ("slice_bytes", "limit_bytes")
    load = {name: row[name] if name in unknown_is_none else row[name] or 0 for name in _LOAD}
    return [asdict(setting) for setting in recommend(TopicLoad(**load))]
