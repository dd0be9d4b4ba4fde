"""Digests of what jobs read of topics: the same by both engines, and blind to what decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql import engines
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps.topic_changes import TopicChanges
from pulsar_backlog.steps.topic_inputs import FOLD_TABLES, changes_of_fold
from pulsar_backlog.tableio import table_cache
from tests.blank_rows import NOON
from tests.small_tables import write_tables

NEEDS_SPARK = True

A, B = "persistent://lab/n/a", "persistent://lab/n/b"
LEDGER = {"cluster": "c", "copy": "u", "kind": "jcloud", "selected": True, "data_bytes": 9, "closed_time": NOON}
SCAN = {"cluster": "c", "copy": "u", "data_bytes": 9, "frames": 3, "decoded": 3, "complete": True}
STATE = {name: TopicState(name, last_confirmed=(1, 2), known_until_ms=5) for name in (A, B)}


def changes(
    spark: SparkSession, out: Path, state: Mapping[str, TopicState] | None = None, **options: Any
) -> TopicChanges:
    table_cache.clear()
    context = JobContext(lambda: spark, "assemble_chunks", Options(out=str(out), cluster="c", **options), NOON)
    with context.resources, query_engine(context, FOLD_TABLES) as engine:
        return changes_of_fold(context, engine, ClusterState(state or STATE, frozenset(), ()))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    ledgers = [LEDGER | {"topic": A, "ledger_id": 1}, LEDGER | {"topic": B, "ledger_id": 2, "data_etag": "e"}]
    ledgers += [LEDGER | {"topic": f"{A}-{number}", "ledger_id": number} for number in range(10, 16)]
    scans = [SCAN | {"topic": A, "ledger_id": 1}, SCAN | {"topic": B, "ledger_id": 2, "data_etag": "e"}]
    facts = [{"cluster": "c", "topic": topic, "ledger_id": id_} for topic, id_ in ((A, 1), (B, 2))]
    gone = [{"cluster": "c", "topic": A, "ledger_id": 0, "scanned": True, "gone_time": NOON}]
    runs = [{"cluster": "c", "run_id": "r", "job": "scan_entries", "started": NOON}]
    return write_tables(
        tmp_path / "out", ledgers=ledgers, scans=scans, ledger_facts=facts, gone_ledgers=gone, runs=runs
    )


def test_the_engine_does_not_matter(spark: SparkSession, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_rows = changes(spark, out)
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    by_files = changes(spark, out)
    monkeypatch.setattr(engines, "MAX_BYTES", -1)
    by_spark = changes(spark, out)
    assert {A, B} < by_rows.now.keys()
    assert by_rows.now == by_files.now == by_spark.now
    assert by_rows.of_cluster == by_files.of_cluster == by_spark.of_cluster is not None


def test_time_counts_where_it_may_decide(spark: SparkSession, out: Path) -> None:
    changes(spark, out).finish(open_topics=[A])
    assert changes(spark, out).topics == frozenset()
    later = {name: replace(one, known_until_ms=6) for name, one in STATE.items()}
    assert changes(spark, out, later).topics == {A}


@pytest.mark.parametrize(
    "more",
    [
        {"ledgers": [LEDGER | {"topic": None, "ledger_id": 3}]},
        {"scans": [SCAN | {"topic": None, "ledger_id": 3}]},
        {"ledgers": [LEDGER | {"topic": "segment://lab/n/s/0000-ffff-0", "ledger_id": 3}]},
        {"scans": [SCAN | {"topic": A, "ledger_id": 3, "checksum_mismatch": 10_001}]},
    ],
)
def test_what_hangs_together_is_done_whole(more: dict[str, Any], spark: SparkSession, out: Path) -> None:
    changes(spark, out).finish()
    write_tables(out, **more)
    assert changes(spark, out).of_cluster is None
    assert changes(spark, out).topics is None


def test_what_was_not_read_to_its_end_is_done_each_time(spark: SparkSession, out: Path) -> None:
    facts = [{"cluster": "c", "topic": A, "ledger_id": 3}]
    write_tables(out, scans=[SCAN | {"topic": A, "ledger_id": 3, "complete": False}], ledger_facts=facts)
    assert changes(spark, out).now[A] is None
    assert changes(spark, out).now[B] is not None


def test_what_an_earlier_release_read_is_done_until_it_is_read_again(spark: SparkSession, out: Path) -> None:
    """A later night reads it again, and its books are then the same as before."""
    write_tables(out, scans=[SCAN | {"topic": A, "ledger_id": 3}])
    assert changes(spark, out).now[A] is None
    assert changes(spark, out).now[B] is not None


def test_options_that_choose_count_for_nothing(spark: SparkSession, out: Path) -> None:
    one = changes(spark, out)
    assert changes(spark, out, topic=[A], admin="elsewhere").now == one.now
    assert changes(spark, out, grace_seconds=1).now != one.now


def test_a_run_that_was_ended_leaves_no_digest(spark: SparkSession, out: Path) -> None:
    changes(spark, out).finish()
    assert changes(spark, out).topics == frozenset()
    replace(changes(spark, out), topics=frozenset([A])).begin()
    assert changes(spark, out).topics is None
