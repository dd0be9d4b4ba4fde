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
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.catalog import Catalog

from pulsar_backlog.errors import CommitConflictError, UsageError
from pulsar_backlog.frames.scanning.scan import entries_frame, scan_files
from pulsar_backlog.frames.scanning.task import SCAN_TABLES, ScanTask
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.output.data_files import FolderPlace
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.spark_rows import schema_of
from pulsar_backlog.tableio.staged_files import StagedFiles
from pulsar_backlog.tables import TABLES
from tests.auditing import copy_ledgers
from tests.small_tables import store_of

NEEDS_SPARK = True

ENTRIES, RUNS = TABLES["entries"], TABLES["runs"]
LEDGERS = (22, 27, 79, 258)  # chunks, a uuid in two messages, an entry without checksum, a part of a topic


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return open_source(str(copy_ledgers(tmp_path_factory.mktemp("ledgers"), LEDGERS)))


@pytest.fixture(scope="module")
def units(source: Source) -> list[ScanUnit]:
    return [unit for copy in take_inventory(source).copies for unit in units_of(copy)]


def scanned(spark: SparkSession, source: Source, units: list[ScanUnit], staged: StagedFiles, out: Path) -> list[Row]:
    """The files of a scan; those of other tables than `entries` belong to none."""
    places = {name: FolderPlace(out / name, "part-") for name in SCAN_TABLES} | {"entries": staged.place}
    files, _accounts, _runs = scan_files(spark, ScanTask(source, "demo", places), units)
    return files.collect()


def write_directly(spark: SparkSession, source: Source, units: list[ScanUnit], out: Path) -> None:
    with store_of(spark, str(out)).stage(ENTRIES, Slice()) as staged:
        assert staged is not None
        staged.commit(scanned(spark, source, units, staged, out))


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
    store_of(spark, str(tmp_path / "spark")).replace(ENTRIES, entries_frame(spark, source, units, "demo")[0], Slice())
    ours, theirs = (store_of(spark, str(tmp_path / way)).frame(ENTRIES) for way in ("direct", "spark"))
    assert ours.schema == theirs.schema
    assert ours.count() > len(LEDGERS)
    assert sorted_rows(ours) == sorted_rows(theirs)


def test_statistics_are_those_of_sparks_writer(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    write_directly(spark, source, units, tmp_path / "direct")
    frame = entries_frame(spark, source, units, "demo")[0].coalesce(1)
    store_of(spark, str(tmp_path / "spark")).replace(ENTRIES, frame, Slice())
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
    before = sorted_rows(store_of(spark, str(tmp_path)).frame(ENTRIES))
    again = [unit for unit in units if unit.ledger_id == LEDGERS[0]]
    with store_of(spark, str(tmp_path)).stage(ENTRIES, Slice.of(ledger_id=LEDGERS[0])) as staged:
        assert staged is not None
        staged.commit(scanned(spark, source, again, staged, tmp_path / "facts"))
    assert store_of(spark, str(tmp_path)).version(ENTRIES) == 1
    assert sorted_rows(store_of(spark, str(tmp_path)).frame(ENTRIES)) == before
    with store_of(spark, str(tmp_path)).stage(ENTRIES, Slice.of(ledger_id=LEDGERS[:2])) as staged:
        assert staged is not None
        staged.commit([])
    left = [row for row in before if row["ledger_id"] not in LEDGERS[:2]]
    assert left
    assert sorted_rows(store_of(spark, str(tmp_path)).frame(ENTRIES)) == left


def test_files_that_no_row_names_count_for_nothing_and_go(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    """As tasks leave them that are lost on the way, or overtaken by another attempt."""
    write_directly(spark, source, units, tmp_path / "once")
    with store_of(spark, str(tmp_path / "twice")).stage(ENTRIES, Slice()) as staged:
        assert staged is not None
        scanned(spark, source, units, staged, tmp_path)
        staged.commit(scanned(spark, source, units, staged, tmp_path))
        written = len(list((tmp_path / "twice/tables/entries").glob("*.parquet")))
    once, twice = (store_of(spark, str(tmp_path / way)).frame(ENTRIES) for way in ("once", "twice"))
    assert sorted_rows(once) == sorted_rows(twice)
    assert len(list((tmp_path / "twice/tables/entries").glob("*.parquet"))) == written // 2


def test_a_failure_leaves_neither_rows_nor_files(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    def write_and_fail() -> None:
        with store_of(spark, str(tmp_path)).stage(ENTRIES, Slice()) as staged:
            assert staged is not None
            scanned(spark, source, units, staged, tmp_path)
            assert list(staged.place.folder.glob("*.parquet"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail()
    assert not list((tmp_path / "tables" / "entries").glob("*.parquet"))
    assert store_of(spark, str(tmp_path)).frame(ENTRIES).isEmpty()


@pytest.mark.parametrize("made_before", [True, False])
def test_two_writers_at_once_cannot_both_commit(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, made_before: bool
) -> None:
    if made_before:
        store_of(spark, str(tmp_path)).create(ENTRIES)
    with (
        pytest.raises(CommitConflictError),
        store_of(spark, str(tmp_path)).stage(ENTRIES, Slice()) as late,
    ):
        assert late is not None
        write_directly(spark, source, units, tmp_path)
        late.commit(scanned(spark, source, units, late, tmp_path))
    rows = store_of(spark, str(tmp_path)).frame(ENTRIES)
    assert rows.count() == rows.select("ledger_id", "entry_id").distinct().count()


def test_a_failure_after_the_commit_leaves_the_rows(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    def write_then_fail() -> None:
        with store_of(spark, str(tmp_path)).stage(ENTRIES, Slice()) as staged:
            assert staged is not None
            staged.commit(scanned(spark, source, units, staged, tmp_path))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_then_fail()
    assert len(sorted_rows(store_of(spark, str(tmp_path)).frame(ENTRIES))) > len(LEDGERS)


def test_a_fault_of_spark_after_the_commit_leaves_the_rows(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AnalysisException("the cache cannot be made new")

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "refreshByPath", refuse)
        with pytest.raises(AnalysisException, match="cannot be made new"):
            write_directly(spark, source, units, tmp_path)
    assert len(sorted_rows(store_of(spark, str(tmp_path)).frame(ENTRIES))) > len(LEDGERS)


def test_a_commit_that_fails_leaves_no_files(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    folder = tmp_path / "tables" / "entries"

    def write_without_a_log() -> None:
        with store_of(spark, str(tmp_path)).stage(ENTRIES, Slice()) as staged:
            assert staged is not None
            files = scanned(spark, source, units, staged, tmp_path)
            (folder / "_delta_log").write_text("no folder: the commit cannot be written")
            assert list(folder.glob("*.parquet"))
            staged.commit(files)

    with pytest.raises(OSError, match="_delta_log"):
        write_without_a_log()
    assert not list(folder.glob("*.parquet"))


def test_an_interrupted_commit_leaves_the_files_which_may_be_part_of_the_table(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalLog, "commit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_directly(spark, source, units, tmp_path)
    assert list((tmp_path / "tables" / "entries").glob("*.parquet"))


def test_files_and_folders_are_on_the_disk_before_the_commit_and_the_commit_after_it(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, commit = os.fsync, LocalLog.commit

    def note_sync(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def note_commit(*arguments: Any, **named: Any) -> int:
        done.append("commit")
        return commit(*arguments, **named)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(LocalLog, "commit", note_commit)
    write_directly(spark, source, units, tmp_path)
    tables, log = tmp_path / "tables", tmp_path / "tables" / "entries" / "_delta_log"
    *before, unnamed, last = done
    files = [str(path) for path in (tables / "entries").glob("*.parquet")]
    assert sorted(before[: len(files)]) == sorted(files)
    assert before[len(files) :] == [*map(str, (tables / "entries", tables, tmp_path)), "commit"]
    assert Path(unnamed).parent == log
    assert last == str(log)


def test_a_scan_of_nothing_makes_the_table_and_no_more(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    write_directly(spark, source, [], tmp_path)
    write_directly(spark, source, [], tmp_path)
    assert store_of(spark, str(tmp_path)).version(ENTRIES) == 0
    assert store_of(spark, str(tmp_path)).frame(ENTRIES).schema == schema_of(ENTRIES)


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
        store_of(spark, str(tmp_path)).replace(RUNS, frame, Slice.of(run_id=run_id))
    rows = store_of(spark, str(tmp_path)).frame(RUNS).orderBy("run_id").collect()
    assert [(row["run_id"], row["seconds"], row["rows"]) for row in rows] == [
        ("1", 3.5, {"entries": 3}), ("2", 2.5, {"entries": 3}),
    ]  # fmt: skip


def test_what_is_cached_of_a_table_does_not_outlive_a_write(spark: SparkSession, tmp_path: Path) -> None:
    store_of(spark, str(tmp_path)).replace(RUNS, rows_of_runs(spark), Slice())
    cached = store_of(spark, str(tmp_path)).frame(RUNS).cache()
    assert cached.count() == 1
    store_of(spark, str(tmp_path)).replace(RUNS, rows_of_runs(spark, run_id="2"), Slice.of(run_id="2"))
    assert store_of(spark, str(tmp_path)).frame(RUNS).count() == 2
    cached.unpersist()


def test_a_row_outside_the_slice_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="a row lies outside its slice"):
        store_of(spark, str(tmp_path)).replace(RUNS, rows_of_runs(spark), Slice.of(run_id="2"))
    assert not list(tmp_path.glob("tables/runs/*.parquet"))


def test_a_table_of_another_contract_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    older = replace(RUNS, columns=RUNS.columns[:-1])
    store_of(spark, str(tmp_path)).create(older)
    with pytest.raises(UsageError, match="written by another version"):
        store_of(spark, str(tmp_path)).replace(RUNS, rows_of_runs(spark), Slice())
