"""Each ledger walked once in order: steps of index, broker metadata, broker's clock and publish time, one row each."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.findings import MAX_EVIDENCE

PUBLISH_TOLERANCE_MS = 1000
"""Steps back of publish times up to here are what several producers on one topic look like."""

FARTHEST = 1 << 61
"""No broker counts so far. Indexes beyond it count as this, so that their differences are numbers too."""

STEPS = ("B01", "B02", "B03", "B04", "B06")
"""Codes of what one entry shows against those before it."""
STEPS_TYPE = "array<struct<code:string,count:bigint,extent:bigint,entry_ids:array<bigint>>>"


def ledger_orders(entries: DataFrame) -> DataFrame:
    """One row per ledger: `steps` within it, and what its seams to the ledgers before and after need.

    An entry is compared with its neighbour where it must be (index gaps, presence of metadata), and with all before it
    in the ledger where that says more. Evidence is bounded per ledger, so memory is too. `steps` has, for each code
    that occurs, `code`, `count`, `extent` (missing indexes, or milliseconds) and `entry_ids`.
    """
    noted = _with_numbers(_with_steps(_with_neighbours(_in_brief(entries))))
    place = f.col("entry_id")
    by_ledger = noted.groupBy("topic", "ledger_id").agg(
        f.array(*(_step(code) for code in STEPS)).alias("steps"),
        f.min(place).alias("first_entry_id"),
        f.max(place).alias("last_entry_id"),
        f.min_by("index", place).alias("first_index"),
        f.min_by("messages", place).alias("first_messages"),
        f.max_by("index", f.when(f.col("index").isNotNull(), place)).alias("last_index"),
        f.min_by("has_broker_metadata", place).alias("first_has_metadata"),
        f.max_by("has_broker_metadata", place).alias("last_has_metadata"),
        f.min_by("broker_ms", f.when(f.col("broker_ms").isNotNull(), place)).alias("first_broker_ms"),
        f.max_by("broker_ms", f.when(f.col("broker_ms").isNotNull(), place)).alias("last_broker_ms"),
        f.max("publish_ms").alias("newest_publish_ms"),
        f.min(f.struct("publish_ms", "entry_id")).alias("oldest_publish"),
        f.max(f.struct("seek_ms", "entry_id")).alias("latest"),
        f.min(f.struct("seek_ms", "entry_id")).alias("earliest"),
    )
    return by_ledger.withColumn("steps", f.filter("steps", lambda step: step["count"] > 0))


def _in_brief(entries: DataFrame) -> DataFrame:
    """What is compared. A damaged entry's own fields say nothing; broker metadata is not covered by the checksum."""
    sound = f.col("checksum_state") != "mismatch"
    broker_ms = f.unix_millis("broker_timestamp")
    publish_ms = f.when(sound & f.col("marker_type").isNull(), f.unix_millis("publish_time"))
    messages = f.when(sound, f.greatest(f.coalesce("num_messages_in_batch", f.lit(1)), f.lit(1)))
    index = f.when(f.col("index").isNotNull(), f.greatest(f.least("index", f.lit(FARTHEST)), f.lit(-FARTHEST)))
    return entries.filter(f.col("topic").isNotNull()).select(
        "topic", "ledger_id", "entry_id", index.alias("index"), "has_broker_metadata", messages.alias("messages"),
        broker_ms.alias("broker_ms"), publish_ms.alias("publish_ms"),
        f.coalesce(broker_ms, publish_ms).alias("seek_ms"),
    )  # fmt: skip


def _with_neighbours(brief: DataFrame) -> DataFrame:
    order = Window.partitionBy("topic", "ledger_id").orderBy("entry_id")
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
    """Each step numbered within its ledger, so that a bounded list of them can be kept."""
    so_far = Window.partitionBy("topic", "ledger_id").orderBy("entry_id").rowsBetween(Window.unboundedPreceding, 0)
    return rows.select("*", *(f.count(code).over(so_far).alias(f"number_{code}") for code in STEPS))


def sum_of_steps(extent: Column) -> Column:
    """The sum, as a bigint whatever is added up."""
    return f.least(f.sum(extent.cast("decimal(38,0)")), f.lit(FARTHEST)).cast("bigint")


def _step(code: str) -> Column:
    """How often, how far, and where first. Gaps add up; of times the farthest counts."""
    listed = f.when(f.col(code).isNotNull() & (f.col(f"number_{code}") <= MAX_EVIDENCE), f.col("entry_id"))
    extent = sum_of_steps(f.col(code)) if code in ("B01", "B02") else f.max(code)
    return f.struct(
        f.lit(code).alias("code"),
        f.count(code).alias("count"),
        extent.cast("bigint").alias("extent"),
        f.array_sort(f.collect_list(listed)).alias("entry_ids"),
    )
