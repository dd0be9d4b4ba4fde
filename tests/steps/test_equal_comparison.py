"""Two logs that are equal are known by kilobytes of digests; of two that differ in places only these are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from pulsar_backlog.options import given_options
from pulsar_backlog.replicas.buckets import COLUMNS, bucket_rows
from pulsar_backlog.replicas.digests import origin_hashes
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.sql.digests import Digests
from pulsar_backlog.steps.cluster_comparison import Comparison, TopicPair
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

TOPIC = "persistent://shop/eu/orders"
MESSAGES, IN_LEDGER, EVERY_MS = 200_000, 50_000, 100
"""Ten a second, five and a half hours long."""


def digests_of_side(side: str, lacks: tuple[int, ...] = ()) -> pa.Table:
    """Rows of `message_digests`, but for messages of some numbers."""
    number = np.setdiff1d(np.arange(MESSAGES), lacks)
    rows = len(number)
    named = {
        "producer_name": pa.repeat(pa.scalar("p"), rows), "sequence_id": pa.array(number),
        "publish_time_ms": pa.array(1_763_000_000_000 + number * EVERY_MS),
    }  # fmt: skip
    origin = origin_hashes(pa.table(named))[0].view(np.int64)
    made = {
        **named, "cluster": pa.repeat(pa.scalar("c"), rows), "side": pa.repeat(pa.scalar(side), rows),
        "topic": pa.repeat(pa.scalar(TOPIC), rows), "ledger_id": pa.array(number // IN_LEDGER),
        "entry_id": pa.array(number % IN_LEDGER), "batch_index": pa.repeat(pa.scalar(-1), rows),
        "outcome": pa.repeat(pa.scalar("exported"), rows), "verified": pa.repeat(pa.scalar(True), rows),
        "origin": pa.array(origin), "content": pa.array(origin * 3), "ordinal": pa.repeat(pa.scalar(0), rows),
    }  # fmt: skip
    schema = arrow_schema(TABLES["message_digests"])
    arrays = [made[one.name].cast(one.type) if one.name in made else pa.nulls(rows, one.type) for one in schema]
    return pa.table(arrays, schema=schema)


def side_of(name: str) -> AuditedSide:
    return AuditedSide(name, name, name, given_options({"source": name}), [], [], [], [], [])


@contextmanager
def compared(lacks: tuple[int, ...] = ()) -> Iterator[tuple[dict[str, object], Digests]]:
    sides = [digests_of_side("a"), digests_of_side("b", lacks)]
    messages = pa.concat_tables(sides)
    buckets = [
        pa.Table.from_batches(bucket_rows(one.select([*COLUMNS, "batch_index"]).to_batches(max_chunksize=10_000)))
        for one in sides
    ]
    books = [
        {"cluster": "c", "side": side, "topic": TOPIC, "ledger_id": ledger, "unreadable": 0, "unopened": 0}
        for side in ("a", "b") for ledger in range(MESSAGES // IN_LEDGER)
    ]  # fmt: skip
    with duckdb.connect() as connection:
        connection.register("stored", messages)
        refused = "" if lacks else "REPLACE (CASE WHEN error('read: ' || entry_id) IS NULL THEN content END AS content)"
        connection.execute(f"CREATE VIEW message_digests AS SELECT * {refused} FROM stored")
        connection.register("digest_buckets", pa.concat_tables(buckets))
        connection.register("digest_ledgers", pa.Table.from_pylist(books))
        digests = Digests(connection, "c")
        comparison = Comparison(digests, side_of("a"), side_of("b"), "c")
        (one,) = comparison.topics([TopicPair(TOPIC, TOPIC)])
        yield one.row, digests


def test_what_is_equal_is_known_by_kilobytes() -> None:
    """No row of `message_digests` is looked at, which are 40 MB here."""
    with compared() as (row, digests):
        assert (row["verdict"], row["messages_a"], row["buckets_read"]) == ("equal", MESSAGES, 0)
        assert 0 < digests.read.total() < 16 * 1024


@pytest.mark.parametrize("lacks", [(100_000,), (7, 60_000, 199_000)])
def test_only_buckets_that_differ_are_read(lacks: tuple[int, ...]) -> None:
    """A bucket of the lowest level is a second, so ten messages; it and its neighbours at the edges of ledgers."""
    with compared(lacks) as (row, digests):
        assert (row["verdict"], row["missing_b"]) == ("differs", len(lacks))
        assert row["buckets_read"] <= 2 * len(lacks)
        assert digests.read["message_digests"] < len(lacks) * 16 * 1024
        assert digests.read["digest_buckets"] < (1 + len(lacks)) * 128 * 1024
