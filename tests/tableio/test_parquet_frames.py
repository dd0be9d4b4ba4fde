"""Tables that Spark reads as files, against the same tables through Delta's reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.tableio import parquet_frames, spark_rows, table_cache
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.parquet_frames import frame_of_files
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tables import TABLES
from tests.auditing import Audited
from tests.small_tables import store_of
from tests.tableio.test_table_cache import FINDINGS, frame_of_codes, log_of, replace_three_times

NEEDS_SPARK = True

pytestmark = pytest.mark.usefixtures("all_large")


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_cache, "MAX_ROWS", 0)
    monkeypatch.setattr(spark_rows, "MAX_ROWS", 0)


@pytest.mark.parametrize("name", [name for name in TABLES if name not in parquet_frames.SKIPPING])
def test_rows_are_those_of_deltas_reader(spark: SparkSession, bundled: Audited, name: str) -> None:
    folder = bundled.out / "tables" / name
    if not folder.exists():
        pytest.skip("an audit does not write it")
    log = LocalLog(folder)
    ours = frame_of_files(spark, log, TABLES[name])
    theirs = spark.read.format("delta").load(str(folder))
    if ours is None:
        assert not log.files()
        assert theirs.isEmpty()
        return
    assert ours.dtypes == theirs.dtypes
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


@pytest.mark.parametrize(
    ("name", "is_pattern"), [("a b#c", False), ("\u00fc+&=:", False), ("x?", True), ("{x}[x]*", True)]
)
def test_a_folders_name_is_no_pattern(spark: SparkSession, tmp_path: Path, name: str, is_pattern: bool) -> None:
    """Spark would read files of a folder whose name is a pattern several times, even where told that it is none."""
    replace_three_times(spark, tmp_path / "x")
    replace_three_times(spark, tmp_path / name)
    plain = frame_of_files(spark, log_of(tmp_path / name), FINDINGS)
    assert (plain is None) == is_pattern
    read = store_of(spark, str(tmp_path / name)).frame(FINDINGS)
    assert sorted(row["code"] for row in read.collect()) == ["C01", "C03", "C04", "C05"]


def test_replaced_rows_are_not_read_again_and_a_frame_stays_what_it_was(spark: SparkSession, tmp_path: Path) -> None:
    store_of(spark, str(tmp_path)).replace(FINDINGS, frame_of_codes(spark, "C01"), Slice.of(cluster="demo"))
    before = store_of(spark, str(tmp_path)).frame(FINDINGS)
    store_of(spark, str(tmp_path)).replace(FINDINGS, frame_of_codes(spark, "C02"), Slice.of(cluster="demo"))
    after = store_of(spark, str(tmp_path)).frame(FINDINGS)
    assert [row["code"] for row in after.collect()] == ["C02"]
    assert [row["code"] for row in before.collect()] == ["C01"]


def test_many_files_are_left_to_delta(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_three_times(spark, tmp_path)
    assert frame_of_files(spark, log_of(tmp_path), FINDINGS) is not None
    monkeypatch.setattr(parquet_frames, "MAX_FILES", 1)
    assert frame_of_files(spark, log_of(tmp_path), FINDINGS) is None
    assert store_of(spark, str(tmp_path)).frame(FINDINGS).count() == 4


def test_a_table_with_deleted_rows_is_left_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    replace_three_times(spark, tmp_path)
    where = f"delta.`{tmp_path / 'tables' / 'findings'}`"
    spark.sql(f"ALTER TABLE {where} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {where} WHERE code = 'C05'")
    assert frame_of_files(spark, log_of(tmp_path), FINDINGS) is None
    assert store_of(spark, str(tmp_path)).frame(FINDINGS).filter(Slice.of(code="C05").column()).isEmpty()
