"""Files that tasks write themselves, against what Spark's own Delta writer makes of the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from delta.exceptions import ConcurrentAppendException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.frames.scan import entries_frame, entry_files
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.storage.delta import read_table, replace_slice, table_version
from pulsar_backlog.storage.files import direct_write
from pulsar_backlog.tables import TABLES
from tests.auditing import copy_ledgers

ENTRIES = TABLES["entries"]
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


def write_directly(spark: SparkSession, source: Source, units: list[ScanUnit], out: Path) -> None:
    with direct_write(spark, str(out), ENTRIES, everything()) as direct:
        assert direct is not None
        files, _accounts = entry_files(spark, source, units, "demo", direct.folder, direct.prefix)
        direct.commit(files.collect())


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


def test_a_slice_that_holds_rows_is_left_to_sparks_writer(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    write_directly(spark, source, units, tmp_path)
    with direct_write(spark, str(tmp_path), ENTRIES, f.col("ledger_id") == LEDGERS[0]) as direct:
        assert direct is None
    with direct_write(spark, str(tmp_path), ENTRIES, f.col("ledger_id") == 1) as direct:
        assert direct is not None


def test_a_failure_leaves_neither_rows_nor_files(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    def write_and_fail() -> None:
        with direct_write(spark, str(tmp_path), ENTRIES, everything()) as direct:
            assert direct is not None
            entry_files(spark, source, units, "demo", direct.folder, direct.prefix)[0].collect()
            assert list(direct.folder.glob("*.parquet"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail()
    assert not list((tmp_path / "tables" / "entries").glob("*.parquet"))
    assert read_table(spark, str(tmp_path), ENTRIES).isEmpty()


def test_two_writers_at_once_cannot_both_commit(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    with (
        pytest.raises(ConcurrentAppendException),
        direct_write(spark, str(tmp_path), ENTRIES, everything()) as late,
    ):
        assert late is not None
        write_directly(spark, source, units, tmp_path)
        files, _accounts = entry_files(spark, source, units, "demo", late.folder, late.prefix)
        late.commit(files.collect())
    rows = read_table(spark, str(tmp_path), ENTRIES)
    assert rows.count() == rows.select("ledger_id", "entry_id").distinct().count()


def test_a_failure_after_the_commit_leaves_the_rows(
    spark: SparkSession, source: Source, units: list[ScanUnit], tmp_path: Path
) -> None:
    def write_then_fail() -> None:
        with direct_write(spark, str(tmp_path), ENTRIES, everything()) as direct:
            assert direct is not None
            direct.commit(entry_files(spark, source, units, "demo", direct.folder, direct.prefix)[0].collect())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_then_fail()
    assert len(sorted_rows(read_table(spark, str(tmp_path), ENTRIES))) > len(LEDGERS)


def test_a_scan_of_nothing_commits_nothing(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    write_directly(spark, source, [], tmp_path)
    assert table_version(spark, str(tmp_path), ENTRIES) == 0
