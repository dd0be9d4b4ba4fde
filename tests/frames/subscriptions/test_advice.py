"""Advice takes what clients make of a backlog: real folds and models on small logs, through Spark."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.chunks.clients.reopened import models_to_ask
from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, Picked
from pulsar_backlog.cursors.acked import AckedSet, BitMap
from pulsar_backlog.frames.subscriptions.advice import advised_stalls
from pulsar_backlog.frames.subscriptions.stall_join import join_stalls
from pulsar_backlog.sql.engines import spark_engine
from pulsar_backlog.steps.chunk_rows import model_rows, name_chunk_entries
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.subscriptions.states import by_topic, state_of
from pulsar_backlog.tableio.spark_rows import conform
from pulsar_backlog.tables import TABLES
from tests.chunks.build import edge, row
from tests.engines import job_context
from tests.frames.rows import NOON_MS, table_frame

CLUSTER = {"cluster": "c"}
LATER_MS, EARLIER_MS = NOON_MS, NOON_MS - 5000


def chunk(word: str, entry_id: int) -> ChunkRow:
    """`A1` is chunk 1 of 3 under the uuid A, `a1` the same at an earlier publish time."""
    uuid = word[0].upper()
    return row(
        int(word[1]), entry_id, 3, chunk_uuid=uuid, publish_time_ms=LATER_MS if word[0].isupper() else EARLIER_MS,
        broker_timestamp_ms=NOON_MS, sequence_id=ord(uuid),
    )  # fmt: skip


class Log:
    """Tables of a topic whose log is written as words; `.` is a plain message."""

    def __init__(self, spark: SparkSession, topic: str, text: str) -> None:
        self.topic = topic
        rows = [chunk(word, at) for at, word in enumerate(text.split()) if word != "."]
        self.end = (7, len(text.split()) - 1)
        at = edge(end_time_ms=NOON_MS + 3_600_000)
        folds = [fold_family([r for r in rows if r.chunk_uuid == uuid], at) for uuid in {r.chunk_uuid for r in rows}]
        self.publications = [self._in_table(asdict(one)) for fold in folds for one in fold.publications]
        self.chunks = [self._in_table(asdict(one)) for fold in folds for one in fold.roles]
        self.noted = [
            CLUSTER
            | {
                "topic": topic, "ledger_id": r.ledger_id, "entry_id": r.entry_id, "uuid": r.chunk_uuid,
                "chunk_id": r.chunk_id, "num_chunks_from_msg": 3, "total_chunk_msg_size": r.total_bytes,
                "payload_length": r.payload_length, "publish_time_ms": r.publish_time_ms,
                "uncompressed_size": r.uncompressed_size, "checksum_state": "valid",
            }
            for r in rows
        ]  # fmt: skip

    def _in_table(self, made: dict[str, Any]) -> dict[str, Any]:
        lists = {
            "manifest": Picked._fields,
            "missing_bytes": ("start", "end"),
        }
        told = {
            name: [dict(zip(lists[name], one, strict=True)) for one in value] if name in lists else value
            for name, value in made.items()
        }
        return CLUSTER | {"topic": self.topic} | told


def advised(spark: SparkSession, text: str, acked: str = "", type_: str | None = "Exclusive") -> dict[str, Any]:
    """Rows of `stalls` by message, of a subscription that read everything and acknowledged the marked entries."""
    log = Log(spark, "persistent://t/n/one", text)
    done = BitMap([at for at, mark in enumerate(acked) if mark == "#"])
    view = SubscriptionView("s", type_, (7, -1), (7, max(done)) if done else None, (7, log.end[1] + 1))
    mark = next((at for at in range(len(text) + 1) if at not in done), 0) - 1
    if mark >= 0:
        view = SubscriptionView("s", type_, (7, mark), (7, max(done)) if max(done) > mark else None, view.read_position)
    states = by_topic([(log.topic, state_of(view, AckedSet(view.mark_delete, {7: done} if done else {}), {}, None))])
    publications = table_frame(spark, "chunked_messages", log.publications)
    judged = partial(
        join_stalls, publications, table_frame(spark, "chunks", log.chunks), log_ends={log.topic: log.end},
        cluster="c", partitions=2,
    )  # fmt: skip
    tables = {"noted_entries": table_frame(spark, "noted_entries", log.noted), "chunked_messages": publications}
    with spark_engine(job_context(spark), tables) as asked:
        name_chunk_entries(asked)
        rows = asked.frame(model_rows(asked))
    found = advised_stalls(judged, states, rows, models_to_ask(()), 2, DataFrame.cache)
    return {
        r["chunk_uuid"] if r["publish_time_ms"] == LATER_MS else r["chunk_uuid"].lower(): r
        for r in conform(found, TABLES["stalls"]).collect()
    }


def test_a_whole_message_that_every_client_delivers_is_waited_for(spark: SparkSession) -> None:
    rows = advised(spark, "A0 A1 A2 .", "...#")
    assert (rows["A"]["kind"], rows["A"]["action"]) == ("whole_hole", "wait")


def test_a_whole_message_behind_an_unfinished_one_of_its_uuid_is_exported(spark: SparkSession) -> None:
    """Java and Go deliver it. C++ and Python do not, however often they are opened."""
    rows = advised(spark, "a0 a1 A0 A1 A2 .", ".....#")
    assert (rows["A"]["kind"], rows["A"]["action"]) == ("whole_hole", "export_then_acknowledge")
    assert "python does not deliver it as sent" in rows["A"]["advice"]
    assert rows["a"]["action"] == "export_then_acknowledge"
    assert "export that one" in rows["a"]["advice"]


def test_what_reuses_a_uuid_and_is_delivered_by_all_is_no_stall(spark: SparkSession) -> None:
    assert advised(spark, "a0 a1 a2 A0 A1 A2", "") == {}
    assert advised(spark, "a0 a1 a2 A0 A1 A2", "###...") == {}


def test_what_the_acknowledged_took_with_it_decides(spark: SparkSession) -> None:
    """The one before is whole in the log, but what is left of it is a beginning without an end."""
    rows = advised(spark, "a0 a1 a2 A0 A1 A2 .", "..#...#")
    assert rows["A"]["action"] == "export_then_acknowledge"
    rows = advised(spark, "a0 a1 a2 A0 A1 A2 .", "###...#")
    assert rows["A"]["action"] == "wait"


def test_a_reset_is_advised_only_where_it_helps_every_client(spark: SparkSession) -> None:
    assert advised(spark, "A0 A1 A2", "##")["A"]["action"] == "reset_to_first_chunk"
    # Acknowledged without end, the earlier one of the uuid does not come again.
    assert advised(spark, "a0 a1 A0 A1 A2", "####")["A"]["action"] == "reset_to_first_chunk"


def test_what_stands_before_it_on_a_shared_subscription_is_named(spark: SparkSession) -> None:
    rows = advised(spark, "B1 B2 A0 A1 A2 .", ".....#", "Shared")
    assert rows["A"]["action"] == "wait"
    assert "does not get past the entry at 7:" in rows["A"]["advice"]


@pytest.mark.parametrize("type_", ["Exclusive", "Failover", "Key_Shared", None])
def test_every_type_is_asked_about(spark: SparkSession, type_: str | None) -> None:
    assert advised(spark, "a0 a1 A0 A1 A2 .", ".....#", type_)["A"]["action"] == "export_then_acknowledge"
