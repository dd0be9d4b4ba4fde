"""The data source: rows of entries next to the scan, and one hour of a day by its bytes.

The day lies on an S3 server on loopback (that of the tests) behind a proxy that counts. Its blocks are small, so the
head of each block, which the listing reads, is told apart: of blocks of 64 MiB it is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pulsar_backlog
from bench.measuring import interleaved, median_ratio, warm_up
from bench.scorecard import Goal, Scorecard
from bench.subjects import Backlog, scan, to_nothing
from tests.ledgers.conftest import running_s3_server
from tests.ledgers.encoding import offload
from tests.ledgers.faulty import FaultyProxy, faulty
from tests.wire.encode import entry, number, run

DAY = datetime(2026, 11, 20, tzinfo=UTC)
LEDGERS = 6
HOUR = (DAY + timedelta(hours=9), DAY + timedelta(hours=10))
BUCKET = "day"
BLOCK_BYTES = 128 * 1024
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


def rows_of_entries(spark: SparkSession, backlog: Backlog) -> DataFrame:
    """`rows=entries` as a frame that has not run yet."""
    return spark.read.format("pulsar-backlog").option("rows", "entries").load(str(backlog.folder))


def copied_scan(spark: SparkSession, backlog: Backlog) -> DataFrame:
    """The scan's frame with the copy of each row that Spark puts over a source of rows: no source can be quicker."""
    return scan(spark, backlog).withColumn("one_more", f.lit(1))


def measure_rows(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """All columns of all entries into nothing, by the data source and by the scan's frame."""
    pulsar_backlog.register(spark)
    ways = {"scan alone": scan, "scan and Spark's copy": copied_scan, "rows=entries": rows_of_entries}
    actions = {name: partial(_run, way, spark, backlog) for name, way in ways.items()}
    for action in actions.values():
        warm_up(action)
    timings = interleaved(actions, repetitions)
    card.tell_rates(timings, backlog.entries / 1e6, "M entries/s")
    ratio = median_ratio(timings["scan alone"], timings["rows=entries"])
    missing = abs(backlog.entries - rows_of_entries(spark, backlog).count())
    card.goals += [
        Goal("rows=entries, against the scan", ratio, "x", at_least=0.8),
        Goal("entries that it has not", missing, "", at_most=0),
    ]


def _run(way: Callable[[SparkSession, Backlog], DataFrame], spark: SparkSession, backlog: Backlog) -> None:
    to_nothing(way(spark, backlog))


@contextmanager
def a_day(entries: int) -> Iterator[tuple[FaultyProxy, int]]:
    """A bucket of a day of entries of 1 KB behind a proxy that counts bytes; and the bytes of an hour of it."""
    every = timedelta(days=1) / entries
    payload = np.random.default_rng(1).bytes(1024)
    with running_s3_server() as server, faulty(server.endpoint) as proxy:
        size = 0
        for at in range(LEDGERS):
            first = DAY + at * timedelta(days=1) / LEDGERS
            times = [_ms(first + n * every) for n in range(entries // LEDGERS)]
            one = offload([_entry(time, payload) for time in times], BLOCK_BYTES, created_ms=times[0])
            name = f"0f8fad5b-d9cb-469f-a165-70867728950e-ledger-{100 + at}"
            server.fill(BUCKET, {name: (one.data, {}), f"{name}-index": (one.index, {})})
            size += len(one.data)
        yield proxy, size // 24


def _ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def _entry(time_ms: int, payload: bytes) -> bytes:
    return entry(run(1, b"p") + number(2, 0) + number(3, time_ms), payload, broker=number(1, time_ms))


def measure_hour(spark: SparkSession, entries: int, card: Scorecard) -> None:
    """A filter on publish times: bytes that were fetched, without and with those of the listing."""
    pulsar_backlog.register(spark)
    first, end = HOUR
    with a_day(entries) as (proxy, hour):
        pulsar_backlog.open(f"s3://{BUCKET}", endpoint=proxy.endpoint).topics()
        listing = proxy.sent
        frame = spark.read.format("pulsar-backlog").option("endpoint", proxy.endpoint).load(f"s3://{BUCKET}")
        before = proxy.sent  # the schema needs none
        found = frame.where((frame.publish_time >= first) & (frame.publish_time < end)).count()
        fetched = proxy.sent - before
    parts = {"hour": hour, "listing": listing, "fetched": fetched}
    card.tell("bytes of one hour of a day", parts, ", ".join(f"{name} {size:,}" for name, size in parts.items()))
    card.goals += [
        Goal("bytes of a filtered hour, listings aside", (fetched - listing) / hour, "x", at_most=1.3),
        Goal("rows of the hour that it has not", abs(found - entries // 24), "", at_most=1),
    ]
