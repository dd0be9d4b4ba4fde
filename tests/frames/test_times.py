"""Milliseconds from the wire as timestamps, whatever a producer wrote."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from pulsar_backlog.frames.times import time_of_ms


def test_only_times_a_table_can_hold(spark: SparkSession) -> None:
    written = [0, 1_700_000_000_123, 253_402_300_799_999, 253_402_300_800_000, -1, 2**63 - 1, -(2**63), None]
    frame = spark.createDataFrame([(n, ms) for n, ms in enumerate(written)], "n int, ms bigint")
    rows = frame.select("n", time_of_ms("ms").cast("string").alias("t")).orderBy("n").collect()
    assert [row.t for row in rows] == [
        "1970-01-01 00:00:00", "2023-11-14 22:13:20.123", "9999-12-31 23:59:59.999", None, None, None, None, None,
    ]  # fmt: skip
    nested = spark.createDataFrame([((2**63 - 1,),)], "oldest struct<ms: bigint>")
    assert nested.select(time_of_ms("oldest.ms").alias("t")).collect()[0].t is None
    assert datetime(9999, 12, 31, 23, 59, 59, 999000, UTC).timestamp() * 1000 == written[2]
