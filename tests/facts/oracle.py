"""What `facts/` must say, in SQL over all entries: windows and groupings, nothing that adds up. Only tests run this."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.facts.sizes import CELLS
from pulsar_backlog.facts.steps import FARTHEST, PUBLISH_TOLERANCE_MS, STEPS
from pulsar_backlog.findings import MAX_EVIDENCE

Row = dict[str, Any]


def ledger_facts(entries: DataFrame) -> dict[int, Row]:
    """By ledger, columns of `ledger_facts`."""
    frames = (
        _counted(entries),
        _backwards(entries),
        ledger_orders(entries),
        _odd(entries),
        _codecs(entries),
        _cells(entries),
    )
    facts: dict[int, Row] = {}
    for frame in frames:
        for row in frame.collect():
            facts.setdefault(row["ledger_id"], {"odd": [], "cell_ms": None, "cells": []}).update(
                row.asDict(recursive=True)
            )
    return facts


def producers(entries: DataFrame) -> dict[tuple[str, str], Row]:
    """By topic and producer, columns of `producer_facts`."""
    rows = (row.asDict(recursive=True) for row in producer_facts(entries).collect())
    return {(row["topic"], row["producer_name"]): row for row in rows}


def _counted(entries: DataFrame) -> DataFrame:
    batch = f.when(f.col("num_chunks_from_msg") > 1, 0).otherwise(f.coalesce("num_messages_in_batch", f.lit(1)))
    fields = f.coalesce(f.col("uuid"), f.col("chunk_id").cast("string"), f.col("num_chunks_from_msg").cast("string"))
    is_chunk = fields.isNotNull() & f.col("marker_type").isNull() & f.col("topic").isNotNull()
    broker_ms, publish_ms = f.unix_millis("broker_timestamp"), f.unix_millis("publish_time")
    stored_ms = f.coalesce(broker_ms, publish_ms)
    return entries.groupBy("ledger_id").agg(
        f.count("*").alias("entries"),
        f.sum(f.col("length").cast("bigint")).alias("bytes"),
        f.sum(f.when(f.col("marker_type").isNull(), batch).otherwise(0)).alias("messages"),
        _count(f.col("marker_type").isNull() & f.col("num_messages_in_batch").isNotNull()).alias("batches"),
        _count(is_chunk).alias("chunk_entries"),
        f.count("uuid").alias("entries_with_uuid"),
        _count(f.col("checksum_state") == "mismatch").alias("checksum_mismatch"),
        _count(f.col("checksum_state") == "absent").alias("checksum_absent"),
        f.count("broker_timestamp").alias("broker_timestamps"),
        _count(f.col("publish_time").isNull()).alias("publish_time_nulls"),
        _count(f.col("length") <= 0).alias("non_positive_lengths"),
        f.min("entry_id").alias("first_entry_id"),
        f.max("entry_id").alias("last_entry_id"),
        (f.count("*") - f.count_distinct("entry_id")).alias("not_ascending"),
        f.max(f.col("offset") + f.coalesce("block_length", "length")).alias("last_byte"),
        f.max(f.col("length").cast("bigint")).alias("largest_entry_bytes"),
        f.min("index").alias("lowest_index"),
        f.max("index").alias("highest_index"),
        f.min(stored_ms).alias("oldest_stored_ms"),
        f.max(stored_ms).alias("newest_stored_ms"),
        f.max(f.abs(publish_ms - broker_ms)).alias("max_publish_skew_ms"),
    )


def _backwards(entries: DataFrame) -> DataFrame:
    before = Window.partitionBy("ledger_id").orderBy("entry_id")
    with_previous = entries.select(
        "ledger_id", "index", "publish_time_ms", "broker_timestamp",
        f.lag("index").over(before).alias("index_before"),
        f.lag("broker_timestamp").over(before).alias("broker_before"),
        f.lag("publish_time_ms").over(before).alias("publish_ms_before"),
    )  # fmt: skip
    return with_previous.groupBy("ledger_id").agg(
        _count(f.col("index") <= f.col("index_before")).alias("index_backwards"),
        _count(f.col("broker_timestamp") < f.col("broker_before")).alias("broker_time_backwards"),
        _count(f.col("publish_time_ms") < f.col("publish_ms_before")).alias("publish_time_backwards"),
    )


def _odd(entries: DataFrame) -> DataFrame:
    of_flag = f.create_map(*map(f.lit, ("unknown_fields", "E03", "time_out_of_range", "E04", "text_not_utf8", "E06")))
    states = f.array(
        f.when(f.col("checksum_state") == "mismatch", "E01"), f.when(f.col("checksum_state") == "absent", "E05")
    )
    flags = f.transform(
        f.coalesce("flags", f.array().cast("array<string>")), lambda flag: f.coalesce(of_flag[flag], f.lit("E07"))
    )
    coded = entries.select(
        "ledger_id", "entry_id", f.explode(f.array_union(flags, f.array_compact(states))).alias("code")
    )
    grouped = coded.groupBy("ledger_id", "code").agg(
        f.count("*").alias("count"),
        f.slice(f.array_sort(f.collect_list("entry_id")), 1, MAX_EVIDENCE).alias("entry_ids"),
    )
    return grouped.groupBy("ledger_id").agg(
        f.array_sort(f.collect_list(f.struct("code", "count", "entry_ids"))).alias("odd")
    )


def _codecs(entries: DataFrame) -> DataFrame:
    codec = f.coalesce("compression", f.lit("NONE"))
    grouped = (
        entries.withColumn("codec", f.when(codec.startswith("UNKNOWN"), "UNKNOWN").otherwise(codec))
        .groupBy("ledger_id", "codec")
        .count()
    )
    return grouped.groupBy("ledger_id").agg(
        f.map_from_entries(f.collect_list(f.struct("codec", "count"))).alias("codecs")
    )


def _cells(entries: DataFrame) -> DataFrame:
    stored_ms = f.coalesce(f.unix_millis("broker_timestamp"), f.unix_millis("publish_time"))
    timed = entries.select("ledger_id", "length", "uuid", stored_ms.alias("ms")).filter("ms IS NOT NULL")
    widths = f.transform(f.sequence(f.lit(0), f.lit(50)), lambda power: f.pow(f.lit(2.0), power).cast("bigint"))
    spans = timed.groupBy("ledger_id").agg(f.min("ms").alias("low"), f.max("ms").alias("high"))
    cell_ms = f.filter(widths, lambda width: f.floor(f.col("high") / width) - f.floor(f.col("low") / width) < CELLS)[0]
    start = f.floor(f.col("ms") / f.col("cell_ms")) * f.col("cell_ms")
    grouped = (
        timed.join(spans.select("ledger_id", cell_ms.alias("cell_ms")), on="ledger_id", how="inner")
        .withColumn("start_ms", start)
        .groupBy("ledger_id", "cell_ms", "start_ms")
        .agg(
            f.count("*").alias("entries"), f.sum(f.col("length").cast("bigint")).alias("bytes"),
            f.count("uuid").alias("chunk_entries"),
        )
    )  # fmt: skip
    cell = f.struct("start_ms", "entries", "bytes", "chunk_entries")
    return grouped.groupBy("ledger_id", "cell_ms").agg(f.array_sort(f.collect_list(cell)).alias("cells"))


def ledger_orders(entries: DataFrame) -> DataFrame:
    """One row per ledger: `steps` within it, and what its seams to the ledgers before and after need."""
    noted = _with_numbers(_with_steps(_with_neighbours(_in_brief(entries))))
    place = f.col("entry_id")
    by_ledger = noted.groupBy("ledger_id").agg(
        f.array(*(_step(code) for code in STEPS)).alias("steps"),
        f.min_by("raw_index", place).alias("first_index"),
        f.min_by("messages", place).alias("first_messages"),
        f.min_by("first_message_index", place).alias("first_message_index"),
        f.max_by("raw_index", place).alias("last_entry_index"),
        f.max_by("raw_index", f.when(f.col("raw_index").isNotNull(), place)).alias("last_index"),
        f.min_by("has_broker_metadata", place).alias("first_has_metadata"),
        f.max_by("has_broker_metadata", place).alias("last_has_metadata"),
        f.min_by("broker_ms", f.when(f.col("broker_ms").isNotNull(), place)).alias("first_broker_ms"),
        f.max_by("broker_ms", f.when(f.col("broker_ms").isNotNull(), place)).alias("last_broker_ms"),
        f.max("publish_ms").alias("newest_publish_ms"),
        f.min(f.when(f.col("publish_ms").isNotNull(), f.struct("publish_ms", "entry_id"))).alias("oldest_publish"),
        f.max(f.when(f.col("seek_ms").isNotNull(), f.struct("seek_ms", "entry_id"))).alias("latest"),
        f.min(f.when(f.col("seek_ms").isNotNull(), f.struct("seek_ms", "entry_id"))).alias("earliest"),
    )
    return by_ledger.withColumn("steps", f.filter("steps", lambda step: step["count"] > 0))


def _counted_batch() -> Column:
    """An entry of a transaction moves the broker's index on by one, whatever it holds."""
    return f.when(f.col("txnid_most_bits").isNull(), f.col("num_messages_in_batch"))


def _in_brief(entries: DataFrame) -> DataFrame:
    """What is compared. A damaged entry's own fields say nothing; broker metadata is not covered by the checksum."""
    sound = f.col("checksum_state") != "mismatch"
    broker_ms = f.unix_millis("broker_timestamp")
    publish_ms = f.when(sound & f.col("marker_type").isNull(), f.unix_millis("publish_time"))
    counted = f.coalesce(_counted_batch(), f.lit(1))
    messages = f.when(sound, f.greatest(counted, f.lit(1)))
    others = f.when(sound, counted - f.lit(1).cast("bigint"))
    index = f.when(f.col("index").isNotNull(), f.greatest(f.least("index", f.lit(FARTHEST)), f.lit(-FARTHEST)))
    return entries.select(
        "ledger_id", "entry_id", index.alias("index"), "has_broker_metadata", messages.alias("messages"),
        broker_ms.alias("broker_ms"), publish_ms.alias("publish_ms"), f.col("index").alias("raw_index"),
        f.try_subtract("index", others).alias("first_message_index"),
        f.coalesce(broker_ms, publish_ms).alias("seek_ms"),
    )  # fmt: skip


def _with_neighbours(brief: DataFrame) -> DataFrame:
    order = Window.partitionBy("ledger_id").orderBy("entry_id")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    return brief.select(
        "*",
        (f.col("entry_id") == f.lag("entry_id").over(order) + 1).alias("adjoins"),
        f.lag("index").over(order).alias("index_before"),
        f.lag("has_broker_metadata").over(order).alias("metadata_before"),
        f.last("index", ignorenulls=True).over(before).alias("last_index_before"),
        f.last("broker_ms", ignorenulls=True).over(before).alias("broker_ms_before"),
        f.max("publish_ms").over(before).alias("newest_publish_before"),
    )


def _with_steps(rows: DataFrame) -> DataFrame:
    """For each code a column with how far the entry steps out of order; null where it does not."""
    skipped = f.col("index") - f.col("index_before") - f.col("messages")
    again = f.coalesce("messages", f.lit(1)) - (f.col("index") - f.col("last_index_before"))
    differs = f.col("has_broker_metadata") != f.col("metadata_before")
    late_ms = f.col("newest_publish_before") - f.col("publish_ms")
    back_ms = f.col("broker_ms_before") - f.col("broker_ms")
    return rows.select(
        "*",
        f.when(f.col("adjoins") & (skipped > 0), skipped).alias("B01"),
        f.when(again > 0, again).alias("B02"),
        f.when(differs, f.lit(0)).alias("B03"),
        f.when(back_ms > 0, back_ms).alias("B04"),
        f.when(late_ms > PUBLISH_TOLERANCE_MS, late_ms).alias("B06"),
    )


def _with_numbers(rows: DataFrame) -> DataFrame:
    so_far = Window.partitionBy("ledger_id").orderBy("entry_id").rowsBetween(Window.unboundedPreceding, 0)
    return rows.select("*", *(f.count(code).over(so_far).alias(f"number_{code}") for code in STEPS))


def _step(code: str) -> Column:
    """How often, how far, and where first. Gaps add up; of times the farthest counts."""
    listed = f.when(f.col(code).isNotNull() & (f.col(f"number_{code}") <= MAX_EVIDENCE), f.col("entry_id"))
    added = f.least(f.sum(f.col(code).cast("decimal(38,0)")), f.lit(FARTHEST)).cast("bigint")
    return f.struct(
        f.lit(code).alias("code"),
        f.count(code).alias("count"),
        (added if code in ("B01", "B02") else f.max(code)).cast("bigint").alias("extent"),
        f.array_sort(f.collect_list(listed)).alias("entry_ids"),
    )


def producer_facts(entries: DataFrame) -> DataFrame:
    """One row per topic and producer."""
    message = f.col("marker_type").isNull()
    chunk = message & (f.col("num_chunks_from_msg") > 1)
    single = message & f.col("num_chunks_from_msg").isNull() & f.col("num_messages_in_batch").isNull()
    sound = f.col("checksum_state") != "mismatch"
    stored_ms = f.when(sound, f.coalesce(f.unix_millis("broker_timestamp"), f.unix_millis("publish_time")))
    others = f.coalesce(_counted_batch(), f.lit(1)) - f.lit(1).cast("bigint")
    first_index = f.when(sound, f.try_subtract("index", others))
    header = f.struct(f.col("payload_offset").cast("bigint").alias("bytes"), "ledger_id", "entry_id")
    slice_ = f.struct(
        f.col("payload_length").cast("bigint").alias("bytes"), f.col("length").cast("bigint").alias("length"),
        "ledger_id", "entry_id",
    )  # fmt: skip
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
            f.max(f.when(message & sound, f.struct("ledger_id", "entry_id", "sequence_id"))).alias("last"),
            f.max(f.when(message, f.struct("ledger_id", "entry_id"))).alias("last_message"),
            f.max(f.col("length").cast("bigint")).alias("largest_entry_bytes"),
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
