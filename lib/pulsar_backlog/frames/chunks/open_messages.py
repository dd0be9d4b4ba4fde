"""How many chunked messages a reader of a topic holds unfinished: along the log, and over time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f


def open_messages(publications: DataFrame, buckets: int) -> DataFrame:
    """One row per topic: `peak_open_messages`, `peak_open_bytes`, `open_over_time` (highest of each stretch of time).

    A message is open from its first stored copy to its last one; one that lacks its end to the end of the log, but not
    one that lacks a chunk before, which every client gives up where the next one comes. Its bytes
    count whole from the start, because Java and C++ clients reserve them so. One whose publish time is no time counts
    along the log only.
    """
    counted = _counted(_events(publications))
    span = Window.partitionBy("topic")
    first_ms, last_ms = f.min("time_ms").over(span), f.max("time_ms").over(span)
    width_ms = f.greatest(f.ceil((last_ms - first_ms + 1) / buckets), f.lit(1))
    timed = counted.select(
        "topic", "open_messages", "open_bytes",
        (f.floor((f.col("time_ms") - first_ms) / width_ms) * width_ms + first_ms).alias("bucket_ms"),
    )  # fmt: skip
    of_bucket = timed.groupBy("topic", "bucket_ms").agg(
        f.max("open_messages").alias("open_messages"), f.max("open_bytes").alias("open_bytes")
    )
    time = f.timestamp_millis(f.col("bucket_ms").cast("bigint"))
    point = f.when(time.isNotNull(), f.struct(time.alias("time"), "open_messages", "open_bytes"))
    return of_bucket.groupBy("topic").agg(
        f.max("open_messages").alias("peak_open_messages"),
        f.max("open_bytes").alias("peak_open_bytes"),
        f.array_sort(f.collect_list(point)).alias("open_over_time"),
    )


def _events(publications: DataFrame) -> DataFrame:
    """A row where a message is opened, and one where it is done; in the log, opening comes before closing."""
    # One chunk opens nothing: its message is delivered at once.
    cut = publications.filter((f.col("num_chunks") > 1) & (f.col("state") != "headless"))
    sent_ms = f.unix_millis("publish_time")
    opened = _event(f.lit(1), f.col("first_ledger_id"), f.col("first_entry_id"), sent_ms)
    done = _event(f.lit(-1), f.col("last_ledger_id"), f.col("last_entry_id"), sent_ms + f.col("span_ms"))
    ends = f.when(f.col("state").isin("whole", "out_of_order", "malformed", "gap"), done)
    events = cut.select("topic", f.explode(f.array_compact(f.array(opened, ends))).alias("event"))
    return events.select("topic", "event.*")


def _event(step: Column, ledger_id: Column, entry_id: Column, time_ms: Column) -> Column:
    return f.struct(
        ledger_id.alias("ledger_id"), entry_id.alias("entry_id"), step.alias("step"),
        (step * f.greatest(f.col("total_bytes"), f.lit(0))).alias("bytes"), time_ms.alias("time_ms"),
    )  # fmt: skip


def _counted(events: DataFrame) -> DataFrame:
    so_far = (
        Window.partitionBy("topic")
        .orderBy("ledger_id", "entry_id", f.col("step").desc())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    return events.select(
        "topic", "time_ms",
        f.sum("step").over(so_far).alias("open_messages"), f.sum("bytes").over(so_far).alias("open_bytes"),
    )  # fmt: skip
