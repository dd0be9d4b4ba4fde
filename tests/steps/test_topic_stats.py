"""Statistics of topics on small tables: what is counted, what is open at once, and the limit that slices show."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.steps import topic_stats as steps
from pulsar_backlog.steps.topic_stats import topic_stats
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import NOON_MS, at, entry, fact_rows, table_rows

NEEDS_SPARK = True

Rows = list[dict[str, Any]]


def sent(first: int, last: int, state: str = "whole", **given: Any) -> dict[str, Any]:
    """A publication of three chunks and 100 bytes in ledger 1, sent when its first chunk was stored."""
    place = {"first_ledger_id": 1, "first_entry_id": first, "last_ledger_id": 1, "last_entry_id": last}
    times = {"publish_time_ms": NOON_MS + first, "publish_time": at(first), "span_ms": last - first}
    return {
        "state": state,
        "num_chunks": 3,
        "total_bytes": 100,
        "span_entries": last - first + 1,
        **place,
        **times,
        **given,
    }


OPEN = {
    "one after the other": ([sent(0, 2), sent(3, 5)], 1),
    "interleaved": ([sent(0, 4), sent(1, 5)], 2),
    "one ends where the next begins": ([sent(0, 3), sent(3, 5)], 2),  # no log has that, but nothing may be negative
    "an orphan stays": ([sent(0, 1, "orphan_prefix"), sent(2, 4), sent(5, 7)], 2),
    "two orphans": ([sent(0, 1, "orphan_prefix"), sent(2, 3, "in_flight"), sent(5, 7)], 3),
    "a gap is noticed": ([sent(0, 1, "gap"), sent(2, 4), sent(5, 7, "gap")], 1),
    "no time": ([sent(0, 4, publish_time_ms=2**63 - 1, publish_time=None), sent(1, 5, publish_time=None)], 2),
    "headless opens nothing": ([sent(0, 1, "headless"), sent(2, 4)], 1),
    "one chunk opens nothing": ([sent(0, 0, num_chunks=1), sent(2, 4)], 1),
}


def stats(engine: str, spark: SparkSession, entries: Rows, messages: Rows) -> dict[str, dict[str, Any]]:
    """Topic -> row of `topic_stats`."""
    tables = {"chunked_messages": table_rows("chunked_messages", messages), **fact_rows(entries)}
    with asked_of(engine, job_context(spark), tables) as asked:
        asked.materialize("producers", asked.sql("log", "producers", {}))
        return {row["topic"]: row for row in listed(topic_stats(asked, "c"))}


@pytest.fixture(scope="module", params=ENGINES)
def opened(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "MAX_BUCKETS", 4)
        entries = [entry(topic, 1, 0) for topic in OPEN]
        messages = [{"topic": topic, **row} for topic, (rows, _) in OPEN.items() for row in rows]
        return stats(request.param, spark, entries, messages)


@pytest.mark.parametrize("topic", OPEN)
def test_the_most_that_are_open_at_once(opened: dict[str, Any], topic: str) -> None:
    peak = OPEN[topic][1]
    assert (opened[topic]["peak_open_messages"], opened[topic]["peak_open_bytes"]) == (peak, 100 * peak)


def test_open_over_time_is_bounded_and_keeps_the_peak(opened: dict[str, Any]) -> None:
    points = opened["two orphans"]["open_over_time"]
    assert len(points) <= 4
    assert max(point["open_messages"] for point in points) == 3
    assert [point["time"] for point in points] == sorted(point["time"] for point in points)
    assert opened["no time"]["open_over_time"] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_of_a_topic(spark: SparkSession, engine: str) -> None:
    chunk = {"uuid": "u", "num_chunks_from_msg": 3, "length": 600, "payload_offset": 90, "payload_length": 510}
    entries = [
        *(entry("t", 1, n, producer_name="big", chunk_id=n, **chunk) for n in range(3)),
        entry("t", 1, 3, producer_name="big"),  # a small message beside its chunks
        entry("t", 1, 4, producer_name="small", num_messages_in_batch=7, index=10),
        entry("t", 1, 5, producer_name="broker", marker_type=21),
        entry("plain", 2, 0),
    ]
    messages = [
        {"topic": "t", **sent(0, 2)},
        {"topic": "t", **sent(6, 7, "headless", missing_chunk_ids=[0], total_bytes=50)},
    ]
    rows = stats(engine, spark, entries, messages)
    row = rows["t"]
    settings = {one["setting"]: one["value"] for one in row.pop("recommended")}
    producers, over_time = row.pop("producers"), row.pop("open_over_time")
    assert row == {
        "cluster": "c", "topic": "t", "entries": 6, "bytes": 2100, "markers": 1, "single_messages": 1,
        "single_bytes": 40, "batches": 1, "batched_messages": 7, "chunk_entries": 3, "chunk_bytes": 1530,
        "first_time": at(0), "last_time": at(5000),
        "chunks_published": True, "chunked_messages": 2, "incomplete_messages": 1, "unusable_last_chunks": 1,
        "max_chunks": 3, "max_message_bytes": 100, "mean_message_bytes": 75, "max_span_ms": 2, "max_span_entries": 3,
        "peak_open_messages": 1, "peak_open_bytes": 100, "largest_header_bytes": 90, "slice_bytes": 510,
        "limit_bytes": None, "largest_entry_bytes": 600, "producer_count": 2,
    }  # fmt: skip
    assert [(p["producer_name"], p["chunk_entries"], p["chunks_per_second"]) for p in producers] == [
        ("big", 3, 1.5), ("small", 0, None),
    ]  # fmt: skip
    assert settings["enableBatching"] == "true, on a second producer"
    assert len(over_time) == 2
    assert (rows["plain"]["chunks_published"], rows["plain"]["recommended"]) == (False, [])
