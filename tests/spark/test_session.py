"""Which settings a session has: those somebody chose, and those that fit the work."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from pyspark import SparkConf, SparkContext, accumulators
from pyspark.sql import SparkSession

from pulsar_backlog.commands import audit
from pulsar_backlog.config import load_pipelines
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.spark import s3a
from pulsar_backlog.spark import session as sessions
from pulsar_backlog.spark.session import start_session
from pulsar_backlog.tableio import table_logs, work_size
from pulsar_backlog.tableio.places import table_path
from pulsar_backlog.tableio.spark_log import SparkLog
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tasks import beside
from tests.frames.rows import entry, table_frame

NEEDS_SPARK = True


def tables_of(out: Path, *sizes: int, table: str = "noted_entries") -> str:
    """A folder of tables whose `noted_entries` have files of these sizes."""
    for number, size in enumerate(sizes):
        path = out / "tables" / table / f"ledger={number}" / "part.parquet"
        path.parent.mkdir(parents=True)
        path.touch()
        os.truncate(path, size)
    return str(out)


@pytest.mark.parametrize("sizes", [(), (100,), (100, 11)])
def test_how_large_the_work_is(spark: SparkSession, tmp_path: Path, sizes: tuple[int, ...]) -> None:
    out = tables_of(tmp_path, *sizes)
    tables_of(tmp_path, 1000, table="rejects")
    tables_of(tmp_path, 80_000, table="entries")
    assert work_size.work_bytes(spark, out, reads_entries=False) == sum(sizes) + 1000
    assert work_size.work_bytes(spark, out, reads_entries=True) == sum(sizes) + 1000 + 10_000


@pytest.mark.parametrize("entries", [None, 0, 1])
def test_deltas_log_tells_it_of_a_bucket(spark: SparkSession, tmp_path: Path, entries: int | None) -> None:
    table = TABLES["entries"]
    if entries is not None:
        frame = table_frame(spark, table.name, [entry("t", 1, n) for n in range(entries)])
        frame.write.format("delta").save(table_path(str(tmp_path), table))  # as Spark writes where no folder is
    first = tmp_path / "tables" / table.name / "_delta_log" / f"{0:020}.json"
    added = (
        [json.loads(line).get("add", {"size": 0})["size"] for line in first.read_text().splitlines()]
        if first.exists()
        else []
    )
    assert SparkLog(spark, table_path(str(tmp_path), table)).size_bytes == sum(added)
    assert any(added) is bool(entries)


def test_the_running_session_suits_itself_to_each_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_size, "SMALL_WORK_BYTES", 10)
    small, large = tables_of(tmp_path / "small", 10), tables_of(tmp_path / "large", 11)
    new = str(tmp_path / "new")
    for out, compiled in ((small, "false"), (large, "true"), (None, "true"), (new, "false")):
        assert start_session("any", out) is spark
        assert spark.conf.get("spark.sql.codegen.wholeStage") == compiled
        plan = spark.range(3).selectExpr("id + 1")._jdf.queryExecution().executedPlan().toString()
        assert ("*(1)" in plan) is (compiled == "true")


def test_what_somebody_chose_wins_over_what_fits_the_work(spark: SparkSession, tmp_path: Path) -> None:
    start_session("any", str(tmp_path))
    assert spark.conf.get(work_size.PARTITIONS) == "2"  # the tests' own
    unchosen = work_size.WORK_SETTINGS.items() - {(work_size.PARTITIONS, "4")}
    assert {(key, spark.conf.get(key)) for key, _ in unchosen} == unchosen


def test_a_pipeline_settings_are_those_of_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def end_here(conf: SparkConf) -> None:
        begun.append(dict(conf.getAll()))
        raise InterruptedError

    monkeypatch.setattr(sessions, "_start_java", end_here)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    pipeline = load_pipelines().get("audit")
    chosen = {"spark.driver.memory": "8g", "spark.sql.session.timeZone": "CET"}
    given = {"source": str(tmp_path / "none"), "out": str(tmp_path / "out")}
    monkeypatch.setattr(audit, "_look_first", lambda _: None)
    monkeypatch.setattr(audit, "_run_jobs", lambda *_: sessions._new_session("any", needs_s3a=False))
    with pytest.raises(InterruptedError), monkeypatch.context() as patch:
        patch.setattr("pulsar_backlog.runs.endings.ending", lambda _, run: run())
        audit.run_pipeline(pipeline.model_copy(update={"spark": chosen}), given)
    assert begun[0]["spark.driver.memory"] == "8g"
    assert begun[0]["spark.sql.session.timeZone"] == "UTC"  # what the program depends on nobody can choose
    assert "spark.jars" not in begun[0]


def test_what_may_be_done_meanwhile_begins_before_java_and_with_a_new_session_only(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def end_here(_: SparkConf) -> None:
        begun.append("java")
        raise InterruptedError

    monkeypatch.setattr(beside, "_beginnings", set())
    monkeypatch.setattr(sessions, "_start_java", end_here)
    beside.begin_when_idle(lambda: begun.append("meanwhile"))
    assert start_session("any") is spark
    assert begun == []
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(InterruptedError):
        sessions._new_session("any", needs_s3a=False)
    assert begun == ["meanwhile", "java"]


def test_s3_is_another_file_system_to_spark() -> None:
    with pytest.raises(UsageError, match=r"s3://bucket/audit: Spark knows .* write s3a://bucket/audit"):
        s3a.is_needed([None, "/folder", "s3://bucket/audit"])
    assert s3a.is_needed([None, "/folder", "s3a://bucket/audit"])
    assert not s3a.is_needed([None, "/folder", "gs://bucket/audit"])


def test_the_first_entries_that_spark_writes_are_compiled(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_logs, "tasks_share_disk", lambda: False)
    start_session("any", str(tmp_path / "new"))
    assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
    start_session("any", tables_of(tmp_path / "small", 10))
    assert spark.conf.get("spark.sql.codegen.wholeStage") == "false"


def test_results_are_held_where_entries_are_few(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_size, "DRIVER_WORK_BYTES", 10)
    few, more = tables_of(tmp_path / "few", 10), tables_of(tmp_path / "more", 11)
    for out, held in ((few, True), (more, False), (None, False), (few, True)):
        start_session("any", out)
        assert work_size.collects_to_driver(spark) is held
        assert (spark.conf.get("spark.sql.adaptive.enabled") == "false") is held


def test_who_reads_entries_works_on_all_of_them(spark: SparkSession, tmp_path: Path) -> None:
    noted = tables_of(tmp_path, 10)
    tables_of(tmp_path, work_size.ENTRIES_SHARE * work_size.SMALL_WORK_BYTES, table="entries")
    context = JobContext(lambda: spark, "job", Options(out=noted, cluster="any"), now())
    start_session("any", noted, reads_entries=False)
    for table, held, compiled in (("noted_entries", True, "false"), ("entries", False, "true")):
        context.table(table)
        assert work_size.collects_to_driver(spark) is held
        assert spark.conf.get("spark.sql.codegen.wholeStage") == compiled


def test_a_connection_for_accumulators_that_breaks_prints_nothing(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    """As they do when the JVM is killed: a traceback would stand before the sentence that tells of it."""
    server = accumulators._start_update_server("token", False)  # the session's own serves its JVM alone
    with socket.socket(socket.AF_INET) as connection:
        connection.settimeout(10)
        connection.connect(server.server_address)
        connection.sendall(b"wrong")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""  # the server has given it up
    server.shutdown()
    assert capfd.readouterr().err == ""
