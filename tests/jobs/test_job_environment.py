"""What a job meets outside of itself, a full disk or another run: one sentence, exit 2, and nothing done is lost."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.runs import claims
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, run_job
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.spark_rows import schema_of
from pulsar_backlog.tables import TABLES
from tests.auditing import copy_ledgers, run_audit, run_one, run_scan
from tests.places import held_elsewhere, mounted
from tests.small_tables import store_of

NEEDS_SPARK = True


def fill(folder: Path, leave: int) -> Path:
    """A file that leaves so many bytes of its disk."""
    path = folder / "filler"
    path.write_bytes(bytes(shutil.disk_usage(folder).free - leave))
    return path


def test_a_full_disk_stops_the_job_and_nothing_else(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copy_ledgers(tmp_path / "objects", [5, 22, 24])
    with mounted(tmp_path / "disk", "size=20m") as disk:
        assert run_one("inventory_ledgers", source, disk / "out").exit_code == 0
        monkeypatch.setattr(claims, "MIN_FREE_BYTES", 0)
        filler = fill(disk, 4096)
        stopped = run_one("scan_entries", source, disk / "out")
        assert stopped.exit_code == 2
        assert stopped.stderr.startswith("pulsar-backlog scan_entries: a disk is full; what was committed stays. Left ")
        assert f" MB for {disk / 'out'}" in stopped.stderr
        assert stopped.stderr.count("\n") == 1
        assert not list((disk / "out" / "tables" / "entries").glob("*.parquet"))
        filler.unlink()
        continued = run_one("scan_entries", source, disk / "out")
        assert continued.exit_code == 0
        undisturbed = run_scan(source, tmp_path / "undisturbed")
        assert continued.rows("entries") == undisturbed.rows("entries")


def test_an_audit_beside_another_one_is_refused(tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [5])
    with held_elsewhere(tmp_path / "out") as other:
        for run in (run_audit, lambda *places: run_one("inventory_ledgers", *places)):
            refused = run(source, tmp_path / "out")
            assert refused.exit_code == 2
            assert f"by another run: pulsar-backlog audit, process {other.pid} on " in refused.stderr
            assert "Traceback" not in refused.stderr
    assert not (tmp_path / "out" / "tables").exists()


@pytest.mark.parametrize("name", ["runs", "rejects"])
def test_who_comes_second_where_there_is_no_lock_is_told_so(
    spark: SparkSession, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As two audits into one bucket: Delta lets only the first of two commits through."""
    table = TABLES[name]
    none: Any = spark.createDataFrame([], schema_of(table))

    def body(context: JobContext) -> JobResult:
        with store_of(context.spark, context.out).stage(table, Slice()) as late:
            assert late is not None
            store_of(spark, context.out).replace(table, none, Slice())  # the other run
            late.commit([])
        return JobResult("digest")

    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    assert run_job("test", parser, ["--out", str(tmp_path / "out")], body) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"pulsar-backlog test: another run wrote to the tables in {tmp_path / 'out'} at the same time"
    )
    assert said.count("\n") == 1
