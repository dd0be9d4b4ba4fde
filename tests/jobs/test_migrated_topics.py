"""A topic of a real 5.0.0-M1 that was migrated: its old partition and its segments are one topic for `--topic`."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pulsar_backlog
from pulsar_backlog.api.spark_source import PUSHDOWN
from pulsar_backlog.commands.compare import run_compare
from pulsar_backlog.terms import EXIT_CLEAN
from tests.auditing import DATA, Audited, rows_of, run_audit, run_job_of

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PULSAR5 = DATA / "pulsar5"
OBJECTS = PULSAR5 / "migrated"
LEGACY = {
    "persistent://acme/shop/legacy-partition-0",
    "segment://acme/shop/legacy/0000-7fff-2",
    "segment://acme/shop/legacy/8000-ffff-3",
}
SINGLE = {"persistent://acme/shop/single", "segment://acme/shop/single/0000-ffff-1"}


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of one of two migrated topics, and its export."""
    out = tmp_path_factory.mktemp("migrated")
    topic = ("topic://acme/shop/legacy",)
    found = run_audit(OBJECTS, out, admin=PULSAR5 / "admin", topic=topic)
    assert run_job_of("export", "export_messages", OBJECTS, out, topic=topic).exit_code == EXIT_CLEAN
    return found


def test_ledgers_of_the_old_partition_are_read_too(audited: Audited) -> None:
    assert {row["topic"] for row in audited.rows("ledgers", "topic")} == LEGACY
    assert {row["topic"] for row in audited.rows("entries", "topic")} == LEGACY


def test_messages_of_the_old_partition_are_exported_too(audited: Audited) -> None:
    assert {row["topic"] for row in audited.rows("messages", "topic")} == LEGACY


def test_the_other_topic_later_without_admin(audited: Audited) -> None:
    found = run_audit(OBJECTS, audited.out, topic=("topic://acme/shop/single",))
    assert {row["topic"] for row in found.rows("ledgers", "topic")} == LEGACY | SINGLE
    assert {row["topic"] for row in found.rows("entries", "topic")} == LEGACY | SINGLE


@pytest.fixture(scope="module")
def everything(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of both topics."""
    return run_audit(OBJECTS, tmp_path_factory.mktemp("both"), admin=PULSAR5 / "admin")


def test_the_api_reads_the_old_partition_too() -> None:
    backlog = pulsar_backlog.open(str(OBJECTS), admin=str(PULSAR5 / "admin"))
    chosen = {"topic": "topic://acme/shop/legacy", "columns": ["topic"]}
    assert set(backlog.entries(**chosen).read_all()["topic"].to_pylist()) == LEGACY  # type: ignore[arg-type]
    assert set(backlog.messages(**chosen).read_all()["topic"].to_pylist()) == LEGACY  # type: ignore[arg-type]
    assert set(backlog.ledgers("topic://acme/shop/s*").read_all()["topic"].to_pylist()) == SINGLE
    assert set(backlog.ledgers("acme/shop/single").read_all()["topic"].to_pylist()) == SINGLE


def test_without_a_layout_the_api_reads_the_segments_alone() -> None:
    backlog = pulsar_backlog.open(str(OBJECTS))
    of_segments = {name for name in LEGACY if name.startswith("segment://")}
    assert set(backlog.ledgers("topic://acme/shop/legacy").read_all()["topic"].to_pylist()) == of_segments


def test_the_data_source_reads_the_old_partition_too(spark: SparkSession) -> None:
    before = spark.conf.get(PUSHDOWN, "false")
    pulsar_backlog.register(spark)
    options = {"admin": str(PULSAR5 / "admin"), "topic": "topic://acme/shop/legacy", "rows": "entries"}
    frame = spark.read.format("pulsar-backlog").options(**options).load(str(OBJECTS))
    assert {row["topic"] for row in frame.select("topic").distinct().collect()} == LEGACY
    spark.conf.set(PUSHDOWN, str(before))


def test_a_comparison_counts_the_old_partition_too(everything: Audited, tmp_path: Path) -> None:
    out = str(everything.out)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = run_compare(out, out, {"out": str(tmp_path), "topic": ("topic://acme/shop/legacy",)})
    assert code == EXIT_CLEAN
    rows = rows_of(tmp_path, "compared_topics", "topic", "verdict")
    assert {row["topic"]: row["verdict"] for row in rows} == dict.fromkeys(LEGACY, "equal")
