"""A choice by time reads little more than that time's bytes, and loses nothing that clocks and producers moved."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, In, LessThan

import pulsar_backlog
from pulsar_backlog.api.block_times import HEAD_BYTES
from pulsar_backlog.api.ledger_times import LATE
from pulsar_backlog.api.spark_source import BacklogReader, PulsarBacklogSource
from pulsar_backlog.errors import UsageError
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.ledgers.encoding import Offloaded, offload
from tests.ledgers.faulty import FaultyProxy, faulty
from tests.ledgers.sources import put
from tests.wire.encode import entry, number, run

__all__ = ["aws", "s3_server"]

DAY = datetime(2026, 11, 20, tzinfo=UTC)
EVERY = timedelta(seconds=2)
HOUR = (DAY + timedelta(hours=9), DAY + timedelta(hours=10))
FIRST_LEDGER = 100
LEDGER = timedelta(hours=4)
BLOCK_BYTES = 8 * 1024
PAYLOAD = bytes(100)
SPARE = 150 * EVERY
"""Longer than a block's time: one more is read on each side."""


def ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def stored(stored_at: datetime, sent: datetime, key: str = "k", *, broker: bool = True) -> bytes:
    metadata = run(1, b"p") + number(2, 0) + number(3, ms(sent)) + run(6, key.encode())
    return entry(metadata, PAYLOAD, broker=number(1, ms(stored_at)) if broker else None)


def ledger(first: datetime, end: datetime, *, broker: bool = True) -> Offloaded:
    """One that takes a message every two seconds."""
    times = [first + n * EVERY for n in range(int((end - first) / EVERY))]
    return offload([stored(at, at, broker=broker) for at in times], BLOCK_BYTES, created_ms=ms(first))


def day(*, broker: bool = True) -> dict[int, Offloaded]:
    return {FIRST_LEDGER + n: ledger(DAY + n * LEDGER, DAY + (n + 1) * LEDGER, broker=broker) for n in range(6)}


@pytest.fixture
def proxy(s3_server: S3Server, aws: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with faulty(s3_server.endpoint) as found:
        yield found


def fill(server: S3Server, bucket: str, ledgers: dict[int, Offloaded]) -> None:
    objects: dict[str, tuple[bytes, dict[str, str]]] = {}
    for ledger_id, one in ledgers.items():
        name = f"0f8fad5b-d9cb-469f-a165-70867728950e-ledger-{ledger_id}"
        objects |= {name: (one.data, {}), f"{name}-index": (one.index, {})}
    server.fill(bucket, objects)


def test_an_hour_of_a_day_is_little_more_than_its_bytes(s3_server: S3Server, proxy: FaultyProxy) -> None:
    ledgers = day()
    fill(s3_server, "day", ledgers)
    first, end = HOUR
    backlog = pulsar_backlog.open("s3://day", endpoint=proxy.endpoint)
    assert len(backlog.topics()) == 1
    listing = proxy.sent  # indexes, and the head of each block: of blocks of 64 MiB, unlike these, it is nothing
    rows = backlog.messages(since=first, until=end).read_all()
    assert rows.column("publish_time").to_pylist() == [first + n * EVERY for n in range(1800)]
    hour = sum(len(one.data) for one in ledgers.values()) / 24
    assert hour < proxy.sent - listing < 1.3 * hour


def reader_of(source: Path, filters: list[Any], **options: str) -> BacklogReader:
    made = PulsarBacklogSource({"path": str(source), **options})
    reader = made.reader(made.schema())
    assert isinstance(reader, BacklogReader)
    assert list(reader.pushFilters(filters)) == filters
    return reader


def rows_of(reader: BacklogReader) -> list[dict[str, Any]]:
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("column", ["publish_time", "broker_timestamp"])
@pytest.mark.parametrize("rows", ["messages", "entries"])
def test_filters_of_spark_read_no_other_block(tmp_path: Path, rows: str, column: str) -> None:
    """Blocks outside the hour are overwritten: what reads them finds broken entries."""
    first, end = HOUR
    for ledger_id, one in day().items():
        data = bytearray(one.data)
        begin = DAY + (ledger_id - FIRST_LEDGER) * LEDGER
        starts = [begin + entry_id * EVERY for entry_id in one.first_ids]
        for at, start, after in zip(one.offsets, starts, [*starts[1:], begin + LEDGER], strict=True):
            if after < first - LATE - SPARE or start > end + LATE + SPARE:
                stop = one.offsets[one.offsets.index(at) + 1] if at != one.offsets[-1] else len(data)
                data[at + HEAD_BYTES : stop] = b"\xff" * (stop - at - HEAD_BYTES)
        put(tmp_path, Offloaded(bytes(data), one.index, one.offsets, one.first_ids, one.entries), ledger_id)
    found = rows_of(reader_of(tmp_path, [GreaterThanOrEqual((column,), first), LessThan((column,), end)], rows=rows))
    assert [row[column] for row in found] == [first + n * EVERY for n in range(1801)][: len(found)]
    assert len(found) in (1800, 1801)  # Spark looks at each row again


def test_without_brokers_times_a_ledger_is_read_whole(tmp_path: Path) -> None:
    """A message that a cluster sent on for hours late is no sign of when its neighbours were stored."""
    begin = DAY + timedelta(hours=8)
    bodies = [stored(begin + n * EVERY, begin + n * EVERY, broker=False) for n in range(2000)]
    one = offload(bodies, BLOCK_BYTES, created_ms=ms(begin))
    for first_id in one.first_ids[1:]:
        bodies[first_id] = stored(begin, begin, broker=False)
    put(tmp_path, offload(bodies, BLOCK_BYTES, created_ms=ms(begin)))
    since = begin + 1000 * EVERY
    found = pulsar_backlog.open(str(tmp_path)).messages(since=since).read_all().column("entry_id").to_pylist()
    assert found == [n for n in range(1000, 2000) if n not in one.first_ids]


def test_one_damaged_time_hides_no_block(tmp_path: Path) -> None:
    begin = DAY + timedelta(hours=8)
    bodies = [stored(begin + n * EVERY, begin + n * EVERY) for n in range(4000)]
    one = offload(bodies, BLOCK_BYTES, created_ms=ms(begin))
    middle = one.first_ids[len(one.first_ids) // 2]
    bodies[middle] = stored(begin + timedelta(days=300), begin + middle * EVERY)
    put(tmp_path, offload(bodies, BLOCK_BYTES, created_ms=ms(begin)))
    for first, end in ((0, 20), (1500, 2200), (3980, 4000)):
        found = pulsar_backlog.open(str(tmp_path)).messages(since=begin + first * EVERY, until=begin + end * EVERY)
        assert found.read_all().column("entry_id").to_pylist() == list(range(first, end))


@pytest.mark.parametrize("broker", [True, False])
def test_a_producer_that_waited_and_clocks_that_differ_lose_nothing(tmp_path: Path, *, broker: bool) -> None:
    """At the edge of two ledgers: sent before the second was created, and stored in it; and a clock that is ahead."""
    edge = DAY + LEDGER
    waited = [stored(edge + n * EVERY, edge - timedelta(minutes=4), broker=broker) for n in range(3)]
    ahead = [stored(edge - (3 - n) * EVERY, edge + timedelta(minutes=2), broker=broker) for n in range(3)]
    put(tmp_path, offload([stored(DAY, DAY, broker=broker), *ahead], BLOCK_BYTES, created_ms=ms(DAY)), 100, UUIDS[0])
    put(tmp_path, offload(waited, BLOCK_BYTES, created_ms=ms(edge)), 101, UUIDS[1])
    put(tmp_path, offload(waited, BLOCK_BYTES, created_ms=ms(edge + LEDGER)), 102, UUIDS[2])
    backlog = pulsar_backlog.open(str(tmp_path))
    before = backlog.messages(since=edge - timedelta(minutes=5), until=edge).read_all().column("ledger_id").to_pylist()
    assert before == [101, 101, 101]
    after = backlog.messages(since=edge, until=edge + LEDGER).read_all().column("ledger_id").to_pylist()
    assert after == [100, 100, 100]


def test_lateness_that_is_allowed_finds_what_was_sent_on_later(tmp_path: Path) -> None:
    """Messages that replication sent on an hour later, into a ledger created after the times that are wanted."""
    edge = DAY + LEDGER
    sent = edge - timedelta(hours=1)
    put(tmp_path, offload([stored(DAY, DAY)], BLOCK_BYTES, created_ms=ms(DAY)), 100, UUIDS[0])
    put(tmp_path, offload([stored(edge + EVERY, sent)], BLOCK_BYTES, created_ms=ms(edge)), 101, UUIDS[1])
    put(tmp_path, offload([stored(edge + LEDGER, edge)], BLOCK_BYTES, created_ms=ms(edge + LEDGER)), 102, UUIDS[2])
    hour = {"since": sent, "until": sent + timedelta(minutes=1)}
    backlog = pulsar_backlog.open(str(tmp_path))
    for rows in (backlog.messages, backlog.entries):
        assert rows(**hour).read_all().num_rows == 0
        found = rows(**hour, allowed_lateness_seconds=7200).read_all()
        assert found.column("ledger_id").to_pylist() == [101]
    options = {name: time.isoformat() for name, time in hour.items()}
    assert rows_of(reader_of(tmp_path, [], **options)) == []
    found = rows_of(reader_of(tmp_path, [], **options, allowed_lateness_seconds="7200"))
    assert [row["ledger_id"] for row in found] == [101]


@pytest.mark.parametrize("seconds", [-1, 10**9 + 1])
def test_lateness_has_bounds(tmp_path: Path, seconds: int) -> None:
    put(tmp_path, offload([stored(DAY, DAY)], BLOCK_BYTES))
    with pytest.raises(UsageError, match="allowed_lateness_seconds"):
        pulsar_backlog.open(str(tmp_path)).messages(allowed_lateness_seconds=seconds)
    with pytest.raises(UsageError, match="allowed_lateness_seconds"):
        PulsarBacklogSource({"path": str(tmp_path), "allowed_lateness_seconds": str(seconds)}).schema()


UUIDS = [f"0f8fad5b-d9cb-469f-a165-70867728950{n}" for n in range(3)]


def test_a_key_that_spark_asks_for_is_the_stored_one(tmp_path: Path) -> None:
    """`partition_key` of a key in base64 is the base64: who compares with it gets it, unlike the option `key`."""
    coded = run(1, b"p") + number(2, 0) + number(3, 1000) + run(6, b"azE=") + number(17, 1)
    plain = run(1, b"p") + number(2, 0) + number(3, 1000)
    put(tmp_path, offload([entry(coded), entry(plain + run(6, b"k1")), entry(plain + run(6, b"k2")), entry(plain)]))
    for filters, expected in (
        ([EqualTo(("partition_key",), "azE=")], [0]),
        ([In(("partition_key",), ("azE=", "k2"))], [0, 2]),
        ([EqualTo(("partition_key",), "k1")], [1]),
    ):
        for rows in ("messages", "entries"):
            assert [row["entry_id"] for row in rows_of(reader_of(tmp_path, filters, rows=rows))] == expected
    both = reader_of(tmp_path, [EqualTo(("partition_key",), "k1")], key="k1")
    assert [row["entry_id"] for row in rows_of(both)] == [1]


def test_a_filter_on_a_masked_column_is_about_what_is_shown(tmp_path: Path) -> None:
    plain = run(1, b"p") + number(2, 0) + number(3, 1000)
    put(tmp_path, offload([entry(plain + run(6, b"k1")), entry(plain + run(6, b"k2"))]))
    masked = reader_of(tmp_path, [EqualTo(("partition_key",), "***")], mask="partition_key=redact")
    assert [row["partition_key"] for row in rows_of(masked)] == ["***", "***"]
    producer = reader_of(tmp_path, [EqualTo(("producer_name",), "***")], mask="producer_name=redact")
    assert [row["producer_name"] for row in rows_of(producer)] == ["***", "***"]
