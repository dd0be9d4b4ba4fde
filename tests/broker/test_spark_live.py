"""The Spark data source on live topics: rows are those of the Python API; a stream goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import pulsar_backlog
from pulsar_backlog.api.spark_source import PUSHDOWN
from tests.api.spark_sources import in_order, rows_of_api, rows_of_spark
from tests.broker.conftest import Admin
from tests.broker.process import Broker
from tests.broker.publishing import batch, chunks, message, publish
from tests.broker.test_live import subscriptions_soon

NEEDS_SPARK = True

PLACE = ("ledger_id", "entry_id", "batch_index", "payload_sha256")
Places = list[tuple[Any, ...]]


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(PUSHDOWN, "false")
    pulsar_backlog.register(spark)
    yield spark
    spark.conf.set(PUSHDOWN, str(before))


@pytest.fixture
def options(broker: Broker, topic: str) -> dict[str, str]:
    return {"admin_url": broker.admin_url, "token_file": str(broker.token_file), "topic": topic}


def expected(broker: Broker, rows: str, options: dict[str, str]) -> list[dict[str, Any]]:
    where = {name: value for name, value in options.items() if name != "topic"}
    return rows_of_api(broker.service_url, rows, where, topic=options["topic"])


def places(rows: list[dict[str, Any]]) -> Places:
    return sorted((tuple(row[name] for name in PLACE) for row in rows), key=str)


def test_batch_reads(broker: Broker, admin: Admin, topic: str, options: dict[str, str], session: SparkSession) -> None:
    publish(broker, topic, [message(0, b"zero"), batch(1, [b"a", b"b"]), *chunks(3, os.urandom(900), 3, [0, 1, 2])])
    admin.request("PUT", f"/v2/{topic.replace('://', '/')}/unload")  # what follows is in a ledger of its own
    later = publish(broker, topic, [message(4, b"four"), batch(5, [b"c"]), message(6, b"six")])
    for rows in ("messages", "entries"):
        found = rows_of_spark(session, broker.service_url, rows, options)
        assert found == expected(broker, rows, options)
        assert len({row["ledger_id"] for row in found}) == 2
        reader = session.read.format("pulsar-backlog").options(**options, rows=rows).load(broker.service_url)
        wanted = (f.col("ledger_id") == later[0][0]) & (f.col("entry_id") > 0) & (f.col("topic") == topic)
        chosen = in_order(reader.where(wanted).toArrow())
        assert chosen == [row for row in found if (row["ledger_id"], row["entry_id"]) in later[1:]]
        assert len(chosen) == 2
    assert subscriptions_soon(admin, topic, []) == []  # nothing of the readers stays


def test_a_stream_goes_on_where_it_stopped(
    broker: Broker, admin: Admin, topic: str, options: dict[str, str], session: SparkSession, tmp_path: Path
) -> None:
    long = chunks(1, os.urandom(900), 3, [0, 1, 2])
    publish(broker, topic, [message(0, b"zero"), *long[:2]])
    first = streamed(session, broker, options, tmp_path)
    assert len(first) == 1  # the long message is not there yet
    publish(broker, topic, [long[2], message(4, b"four")])
    admin.request("PUT", f"/v2/{topic.replace('://', '/')}/unload")
    publish(broker, topic, [batch(5, [b"a", b"b"])])
    second = streamed(session, broker, options, tmp_path)
    assert second == places(expected(broker, "messages", options))
    assert len(second) == len(first) + 4
    assert streamed(session, broker, options, tmp_path) == second
    assert subscriptions_soon(admin, topic, []) == []


def streamed(session: SparkSession, broker: Broker, options: dict[str, str], folder: Path) -> Places:
    """All that the stream has delivered, after it delivered what is there now."""
    rows = session.readStream.format("pulsar-backlog").options(**options).load(broker.service_url).select(*PLACE)
    query = rows.writeStream.format("delta").option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()
    return places([row.asDict() for row in session.read.format("delta").load(str(folder / "out")).collect()])
