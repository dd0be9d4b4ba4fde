"""Which sessions compile their queries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.storage import session as sessions
from pulsar_backlog.storage.session import SMALL_WORK_BYTES, is_small_work, start_session


def entries_of(out: Path, *sizes: int) -> str:
    """A folder of tables whose `entries` have files of these sizes."""
    for number, size in enumerate(sizes):
        path = out / "tables" / "entries" / f"ledger={number}" / "part.parquet"
        path.parent.mkdir(parents=True)
        path.touch()
        os.truncate(path, size)
    return str(out)


@pytest.mark.parametrize(
    ("sizes", "small"),
    [((), True), ((100, SMALL_WORK_BYTES - 100), True), ((100, SMALL_WORK_BYTES - 99), False)],
)
def test_small_work_is_that_of_few_entries(tmp_path: Path, sizes: tuple[int, ...], small: bool) -> None:
    assert is_small_work(entries_of(tmp_path, *sizes), SMALL_WORK_BYTES) is small


def test_nobody_knows_how_much_lies_in_a_bucket() -> None:
    assert not is_small_work("s3a://bucket/audit", SMALL_WORK_BYTES)


def test_the_running_session_suits_itself_to_each_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SMALL_WORK_BYTES", 10)
    small, large = entries_of(tmp_path / "small", 10), entries_of(tmp_path / "large", 11)
    for out, compiled in ((small, "false"), (large, "true"), (None, "true"), (small, "false")):
        assert start_session("any", out) is spark
        assert spark.conf.get("spark.sql.codegen.wholeStage") == compiled
        plan = spark.range(3).selectExpr("id + 1")._jdf.queryExecution().executedPlan().toString()
        assert ("*(1)" in plan) is (compiled == "true")


def test_results_are_held_where_entries_are_few(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "HELD_WORK_BYTES", 10)
    few, more = entries_of(tmp_path / "few", 10), entries_of(tmp_path / "more", 11)
    for out, held in ((few, True), (more, False), (None, False), (few, True)):
        start_session("any", out)
        assert sessions.holds_results(spark) is held
        assert (spark.conf.get("spark.sql.adaptive.enabled") == "false") is held
