"""Files that tasks write themselves, against what Spark's own Delta writer makes of the same rows."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.catalog import Catalog

from pulsar_backlog.errors import CommitConflictError, UsageError
from pulsar_backlog.frames.scanning.scan import SCAN_TABLES, entries_frame, scan_files
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.output.data_files import FolderPlace
from pulsar_backlog.tableio.commits import DirectWrite
from pulsar_backlog.tableio.delta import (
    make_table,
    read_table,
    replace_slice,
    schema_of,
    table_version,
)
from pulsar_backlog.tableio.direct import direct_write
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tables import TABLES
from tests.auditing import copy_ledgers

ENTRIES, RUNS = TABLES["entries"], TABLES["runs"]
LEDGERS = (22, 27, 79, 258)  # chunks, a uuid in two messages, an entry without checksum, a part of a topic


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return open_source(str(copy_ledgers(tmp_path_factory.mktemp("ledgers"), LEDGERS)))


@pytest.fixture(scope="module")
def units(source: Source) -> list[ScanUnit]:
    return [unit for copy in take_inventory(source).copies for unit in units_of(copy)]


def everything() -> Column:
    """The slice of a table that holds nothing else."""
    return f.lit(True)


def scanned(spark: SparkSession, source: Source, units: list[ScanUnit], direct: DirectWrite, out: Path) -> list[Row]:
    """The files of a scan; those of other tables than `entries` belong to none."""
    places = {name: FolderPlace(out / name, "part-") for name in SCAN_TABLES} | {"entries": direct.place}
    files, _accounts, _runs = scan_files(spark, source, units, "demo", places)
    return files.collect()


def write_directly(spark: SparkSession, source: Source, units: list[ScanUnit], out: Path) -> None:
    with direct_write(spark, str(out), ENTRIES, everything()) as direct:
        assert direct is not None
        direct.commit(scanned(spark, source, units, direct, out))


def added(out: Path) -> list[dict[str, Any]]:
    """The statistics of all files that the table's commits added."""
    commits = sorted((out / "tables" / "entries" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
    return [json.loads(action["add"]["stats"]) for action in actions if "add" in action]


def sorted_rows(df: DataFrame) -> list[Any]:
    return df.orderBy("ledger_id", "entry_id").collect()


def test_rows_are_those_of_sparks_writer(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    write_directly(spark, source, units, tmp_path / "direct")
    replace_slice(entries_frame(spark, source, units, "demo")[0], str(tmp_path / "spark"), ENTRIES, everything())
    ours, theirs = (read_table(spark, str(tmp_path / way), ENTRIES) for way in ("direct", "spark"))
    assert ours.schema == theirs.schema
    assert ours.count() > len(LEDGERS)
    assert sorted_rows(ours) == sorted_rows(theirs)


def test_statistics_are_those_of_sparks_writer(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    write_directly(spark, source, units, tmp_path / "direct")
    frame = entries_frame(spark, source, units, "demo")[0].coalesce(1)
    replace_slice(frame, str(tmp_path / "spark"), ENTRIES, everything())
    (ours,), (theirs,) = added(tmp_path / "direct"), added(tmp_path / "spark")
    for stats in (ours, theirs):
        for bound in ("minValues", "maxValues"):
            # Delta cuts long text after 32 characters; a longer bound says more.
            stats[bound] = {name: str(value)[:32] for name, value in stats[bound].items()}
    assert ours == {name: theirs[name] for name in ours}


def test_a_slice_that_holds_rows_is_replaced_in_the_same_commit(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    write_directly(spark, source, units, tmp_path)
    before = sorted_rows(read_table(spark, str(tmp_path), ENTRIES))
    again = [unit for unit in units if unit.ledger_id == LEDGERS[0]]
    with direct_write(spark, str(tmp_path), ENTRIES, f.col("ledger_id") == LEDGERS[0]) as direct:
        assert direct is not None
        direct.commit(scanned(spark, source, again, direct, tmp_path / "facts"))
    assert table_version(spark, str(tmp_path), ENTRIES) == 1
    assert sorted_rows(read_table(spark, str(tmp_path), ENTRIES)) == before
    with direct_write(spark, str(tmp_path), ENTRIES, f.col("ledger_id").isin(*LEDGERS[:2])) as direct:
        assert direct is not None
        direct.commit([])
    left = [row for row in before if row["ledger_id"] not in LEDGERS[:2]]
    assert left
    assert sorted_rows(read_table(spark, str(tmp_path), ENTRIES)) == left


def test_files_that_no_row_names_count_for_nothing_and_go(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    """As tasks leave them that are lost on the way, or overtaken by another attempt."""
    write_directly(spark, source, units, tmp_path / "once")
    with direct_write(spark, str(tmp_path / "twice"), ENTRIES, everything()) as direct:
        assert direct is not None
        scanned(spark, source, units, direct, tmp_path)
        direct.commit(scanned(spark, source, units, direct, tmp_path))
        written = len(list((tmp_path / "twice/tables/entries").glob("*.parquet")))
    once, twice = (read_table(spark, str(tmp_path / way), ENTRIES) for way in ("once", "twice"))
    assert sorted_rows(once) == sorted_rows(twice)
    assert len(list((tmp_path / "twice/tables/entries").glob("*.parquet"))) == written // 2


def test_a_failure_leaves_neither_rows_nor_files(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    def write_and_fail() -> None:
        with direct_write(spark, str(tmp_path), ENTRIES, everything()) as direct:
            assert direct is not None
            scanned(spark, source, units, direct, tmp_path)
            assert list(direct.place.folder.glob("*.parquet"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail()
    assert not list((tmp_path / "tables" / "entries").glob("*.parquet"))
    assert read_table(spark, str(tmp_path), ENTRIES).isEmpty()


@pytest.mark.parametrize("made_before", [True, False])
def test_two_writers_at_once_cannot_both_commit(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, made_before: bool
) -> None:
    if made_before:
        make_table(spark, str(tmp_path), ENTRIES)
    with (
        pytest.raises(CommitConflictError),
        direct_write(spark, str(tmp_path), ENTRIES, everything()) as late,
    ):
        assert late is not None
        write_directly(spark, source, units, tmp_path)
        late.commit(scanned(spark, source, units, late, tmp_path))
    rows = read_table(spark, str(tmp_path), ENTRIES)
    assert rows.count() == rows.select("ledger_id", "entry_id").distinct().count()


def test_a_failure_after_the_commit_leaves_the_rows(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    def write_then_fail() -> None:
        with direct_write(spark, str(tmp_path), ENTRIES, everything()) as direct:
            assert direct is not None
            direct.commit(scanned(spark, source, units, direct, tmp_path))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_then_fail()
    assert len(sorted_rows(read_table(spark, str(tmp_path), ENTRIES))) > len(LEDGERS)


def test_a_fault_of_spark_after_the_commit_leaves_the_rows(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AnalysisException("the cache cannot be made new")

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "refreshByPath", refuse)
        with pytest.raises(AnalysisException, match="cannot be made new"):
            write_directly(spark, source, units, tmp_path)
    assert len(sorted_rows(read_table(spark, str(tmp_path), ENTRIES))) > len(LEDGERS)


def test_a_commit_that_fails_leaves_no_files(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    folder = tmp_path / "tables" / "entries"

    def write_without_a_log() -> None:
        with direct_write(spark, str(tmp_path), ENTRIES, everything()) as direct:
            assert direct is not None
            files = scanned(spark, source, units, direct, tmp_path)
            (folder / "_delta_log").write_text("no folder: the commit cannot be written")
            assert list(folder.glob("*.parquet"))
            direct.commit(files)

    with pytest.raises(OSError, match="_delta_log"):
        write_without_a_log()
    assert not list(folder.glob("*.parquet"))


def test_an_interrupted_commit_leaves_the_files_which_may_be_part_of_the_table(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalLog, "commit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_directly(spark, source, units, tmp_path)
    assert list((tmp_path / "tables" / "entries").glob("*.parquet"))


def test_the_folders_are_on_the_disk_before_the_commit_and_the_commit_after_it(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, commit = os.fsync, LocalLog.commit

    def note_sync(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def note_commit(*arguments: Any) -> int:
        done.append("commit")
        return commit(*arguments)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(LocalLog, "commit", note_commit)
    write_directly(spark, source, units, tmp_path)
    tables, log = tmp_path / "tables", tmp_path / "tables" / "entries" / "_delta_log"
    *before, unnamed, last = done
    assert before == [*map(str, (tables / "entries", tables, tmp_path)), "commit"]
    assert Path(unnamed).parent == log
    assert last == str(log)


def test_a_scan_of_nothing_makes_the_table_and_no_more(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    write_directly(spark, source, [], tmp_path)
    write_directly(spark, source, [], tmp_path)
    assert table_version(spark, str(tmp_path), ENTRIES) == 0
    assert read_table(spark, str(tmp_path), ENTRIES).schema == schema_of(ENTRIES)


def rows_of_runs(spark: SparkSession, **changed: Any) -> DataFrame:
    row = {
        "cluster": "demo", "run_id": "1", "job": "j", "started": datetime(2026, 11, 21, tzinfo=UTC), "seconds": 1.5,
        "source": "s", "fingerprint": "f", "options": {}, "rows": {"entries": 3}, "bytes_read": 0, "versions": {},
        "exit_code": 0,
    }  # fmt: skip
    return spark.createDataFrame([row | changed], schema_of(RUNS))


def test_a_slice_can_be_replaced_again_and_again(spark: SparkSession, tmp_path: Path) -> None:
    for run_id, seconds in (("1", 1.5), ("2", 2.5), ("1", 3.5), ("1", 3.5)):
        frame = rows_of_runs(spark, run_id=run_id, seconds=seconds)
        replace_slice(frame, str(tmp_path), RUNS, f.col("run_id") == run_id)
    rows = read_table(spark, str(tmp_path), RUNS).orderBy("run_id").collect()
    assert [(row["run_id"], row["seconds"], row["rows"]) for row in rows] == [
        ("1", 3.5, {"entries": 3}), ("2", 2.5, {"entries": 3}),
    ]  # fmt: skip


def test_what_is_cached_of_a_table_does_not_outlive_a_write(spark: SparkSession, tmp_path: Path) -> None:
    replace_slice(rows_of_runs(spark), str(tmp_path), RUNS, everything())
    cached = read_table(spark, str(tmp_path), RUNS).cache()
    assert cached.count() == 1
    replace_slice(rows_of_runs(spark, run_id="2"), str(tmp_path), RUNS, f.col("run_id") == "2")
    assert read_table(spark, str(tmp_path), RUNS).count() == 2
    cached.unpersist()


def test_a_row_outside_the_slice_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="a row lies outside its slice"):
        replace_slice(rows_of_runs(spark), str(tmp_path), RUNS, f.col("run_id") == "2")
    assert not list(tmp_path.glob("tables/runs/*.parquet"))


def test_a_table_of_another_contract_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    older = replace(RUNS, columns=RUNS.columns[:-1])
    make_table(spark, str(tmp_path), older)
    with pytest.raises(UsageError, match="written by another version"):
        replace_slice(rows_of_runs(spark), str(tmp_path), RUNS, everything())
