"""Small tables that this process holds, against the same tables through Spark and Delta."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.errors import CommitConflictError, UsageError
from pulsar_backlog.scanning.unit import BATCH_ENTRIES
from pulsar_backlog.tableio import spark_rows, table_cache, table_logs
from pulsar_backlog.tableio.delta_log import CHECKPOINT_COMMITS, DeltaLog
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.spark_rows import frame_of, schema_of
from pulsar_backlog.tableio.staged_files import stage
from pulsar_backlog.tableio.table_cache import small_rows
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.delta_schema import delta_schema
from tests.auditing import Audited
from tests.small_tables import store_of, write_tables

NEEDS_SPARK = True

FINDINGS, SPANS = TABLES["findings"], TABLES["entry_spans"]
MINE, OTHERS = Slice.of(cluster="demo"), Slice.of(cluster="other")


def finding(code: str, ledger_id: int | None = None, **changed: Any) -> dict[str, Any]:
    row = {
        "cluster": "demo", "job": "j", "code": code, "name": "n", "severity": "error", "subject": f"s{ledger_id}",
        "topic": None, "ledger_id": ledger_id, "entry_id": None, "count": 1, "sureness": "certain", "reason": "r",
        "message": "m", "evidence": ["1:2"], "incomplete": False,
    }  # fmt: skip
    return {column: (row | changed)[column] for column in FINDINGS.column_names()}


def log_of(out: Path) -> LocalLog:
    return LocalLog(out / "tables" / "findings")


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table with a row is too large to be held."""
    monkeypatch.setattr(table_cache, "MAX_ROWS", 0)
    monkeypatch.setattr(spark_rows, "MAX_ROWS", 0)


def replace_three_times(spark: SparkSession, out: Path) -> list[Any]:
    """A table of two clusters, one of them replaced, with a null in what is compared."""
    store_of(spark, str(out)).replace(FINDINGS, [finding("C01", 1), finding("C02")], MINE)
    store_of(spark, str(out)).replace(FINDINGS, [finding("C03", 2, cluster="other")], OTHERS)
    part = MINE.without(ledger_id=[1])
    frame = spark.createDataFrame([finding("C04", 5), finding("C05")], schema_of(FINDINGS))
    store_of(spark, str(out)).replace(FINDINGS, frame, part)
    return store_of(spark, str(out)).frame(FINDINGS).orderBy("code").collect()


def frame_of_codes(spark: SparkSession, *codes: str, cluster: str = "demo") -> DataFrame:
    return spark.createDataFrame([finding(code, cluster=cluster) for code in codes], schema_of(FINDINGS))


@pytest.mark.parametrize("way", ["held", "written by tasks", "written by Spark"])
def test_who_replaces_a_slice_hears_how_many_rows_it_has(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way != "held":
        request.getfixturevalue("all_large")
    if way == "written by Spark":
        monkeypatch.setattr(table_logs, "tasks_share_disk", lambda: False)
    store_of(spark, str(tmp_path)).replace(FINDINGS, frame_of_codes(spark, "C01", cluster="other"), OTHERS)
    for codes in (("C01", "C02"), ("C03",), ()):
        assert store_of(spark, str(tmp_path)).replace(FINDINGS, frame_of_codes(spark, *codes), MINE) == len(codes)
        assert store_of(spark, str(tmp_path)).frame(FINDINGS).filter(MINE.column()).count() == len(codes)


def test_the_log_tells_a_clusters_rows_where_no_file_has_several(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert log_of(tmp_path).rows_of("demo") == 0
    replace_three_times(spark, tmp_path / "held")  # one file of both clusters
    assert log_of(tmp_path / "held").rows_of("demo") is None
    assert log_of(tmp_path / "held").rows_of("zero") == 0
    request.getfixturevalue("all_large")
    replace_three_times(spark, tmp_path / "each")
    assert [log_of(tmp_path / "each").rows_of(cluster) for cluster in ("demo", "other", "none")] == [3, 1, 0]


def test_slices_are_replaced_as_through_spark(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ours = replace_three_times(spark, tmp_path / "held")
    assert small_rows(str(tmp_path / "held"), FINDINGS) is not None
    request.getfixturevalue("all_large")
    theirs = replace_three_times(spark, tmp_path / "spark")
    assert small_rows(str(tmp_path / "spark"), FINDINGS) is None
    assert [row["code"] for row in ours] == ["C01", "C03", "C04", "C05"]
    assert ours == theirs
    assert store_of(spark, str(tmp_path / "held")).frame(FINDINGS).dtypes == [
        (field.name, field.dataType.simpleString()) for field in schema_of(FINDINGS).fields
    ]


@pytest.mark.parametrize("name", [name for name in TABLES if name not in table_cache.UNCACHED_TABLES])
def test_tables_are_read_as_spark_reads_them(
    spark: SparkSession, bundled: Audited, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = TABLES[name].key
    if not (bundled.out / "tables" / name).exists():
        pytest.skip("an audit does not write it")
    ours = store_of(spark, str(bundled.out)).frame(TABLES[name]).orderBy(*key).collect()
    monkeypatch.setattr(table_cache, "UNCACHED_TABLES", (name,))
    table_cache.clear()
    theirs = store_of(spark, str(bundled.out)).frame(TABLES[name]).orderBy(*key).collect()
    assert ours == theirs


def test_the_contract_in_the_log_is_that_of_spark(spark: SparkSession) -> None:
    for table in TABLES.values():
        assert delta_schema(table) == json.loads(schema_of(table).json())


def test_a_row_outside_the_slice_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a row lies outside its slice"):
        store_of(spark, str(tmp_path)).replace(FINDINGS, [finding("C01", cluster="other")], MINE)
    assert log_of(tmp_path).version == -1


def test_a_null_where_none_may_be_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises((ValueError, pa.ArrowInvalid)):
        store_of(spark, str(tmp_path)).replace(FINDINGS, [finding("C01", severity=None)], MINE)
    assert log_of(tmp_path).version == -1
    assert not list(tmp_path.rglob("*.parquet"))


def test_nothing_new_is_no_commit(spark: SparkSession, tmp_path: Path) -> None:
    store_of(spark, str(tmp_path)).replace(FINDINGS, [], MINE)
    store_of(spark, str(tmp_path)).replace(FINDINGS, [], MINE)
    assert log_of(tmp_path).version == 0
    assert store_of(spark, str(tmp_path)).frame(FINDINGS).isEmpty()


def test_of_two_writers_the_second_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    store_of(spark, str(tmp_path)).create(FINDINGS)
    first, second = log_of(tmp_path), log_of(tmp_path)
    first.commit(FINDINGS, [])
    with pytest.raises(CommitConflictError):
        second.commit(FINDINGS, [])
    assert sorted(path.name for path in (tmp_path / "tables/findings/_delta_log").iterdir()) == [
        f"{0:020}.json", f"{1:020}.json",
    ]  # fmt: skip


def test_a_folder_that_only_spark_finds_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "a 100%25 odd"
    for code in ("C01", "C02"):
        store_of(spark, str(out)).replace(FINDINGS, [finding(code)], Slice.of(code=code))
    assert small_rows(str(out), FINDINGS) is None
    assert store_of(spark, str(out)).version(FINDINGS) == 2
    assert sorted(row["code"] for row in store_of(spark, str(out)).frame(FINDINGS).collect()) == ["C01", "C02"]


def test_a_log_is_summed_up_and_read_on(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "an odd [name]*"
    for number in range(CHECKPOINT_COMMITS + 3):
        store_of(spark, str(out)).replace(FINDINGS, [finding(f"C{number:02}")], Slice.of(code=f"C{number:02}"))
    (summed,) = (out / "tables/findings/_delta_log").glob("*.checkpoint.parquet")
    assert summed.name.startswith(f"{CHECKPOINT_COMMITS:020}")
    table_cache.clear()
    rows = small_rows(str(out), FINDINGS)
    assert rows is not None
    assert rows.num_rows == CHECKPOINT_COMMITS + 3


def test_spark_reads_and_goes_on_with_what_was_committed(spark: SparkSession, tmp_path: Path) -> None:
    replace_three_times(spark, tmp_path)
    path = str(tmp_path / "tables" / "findings")
    assert spark.read.format("delta").load(path).count() == 4
    spark.createDataFrame([finding("C09")], schema_of(FINDINGS)).write.format("delta").mode("append").save(path)
    rows = small_rows(str(tmp_path), FINDINGS)
    assert rows is not None
    assert sorted(rows["code"].to_pylist()) == ["C01", "C03", "C04", "C05", "C09"]
    assert DeltaTable(path).metadata().description == FINDINGS.comment


def test_a_table_that_was_changed_so_that_plain_writers_may_not_write_it_is_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    store_of(spark, str(tmp_path)).replace(FINDINGS, [finding("C01"), finding("C02")], MINE)
    log = log_of(tmp_path)
    path = log.folder / "_delta_log" / f"{log.version + 1:020}.json"
    path.write_text(json.dumps({"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}) + "\n")
    assert small_rows(str(tmp_path), FINDINGS) is None
    store_of(spark, str(tmp_path)).replace(FINDINGS, [finding("C03", cluster="other")], OTHERS)
    store_of(spark, str(tmp_path)).replace(FINDINGS, [finding("C04")], Slice.of(code=("C01", "C04")))
    last = sorted(path.parent.glob("*.json"))[-1]
    assert "Delta-Lake" in last.read_text()
    rows = store_of(spark, str(tmp_path)).frame(FINDINGS).collect()
    assert sorted(row["code"] for row in rows) == ["C02", "C03", "C04"]


def test_a_table_made_anew_at_the_same_place_is_another(spark: SparkSession, tmp_path: Path) -> None:
    import shutil

    for code in ("C01", "C02"):
        store_of(spark, str(tmp_path)).replace(FINDINGS, [finding(code)], MINE)
        rows = small_rows(str(tmp_path), FINDINGS)
        assert rows is not None
        assert rows["code"].to_pylist() == [code]
        shutil.rmtree(tmp_path / "tables")


def test_a_log_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    log = tmp_path / "tables" / "findings" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("no action\n")
    # No fault of the source, which an audit survives: it would go on to show the verdict of the one before.
    with pytest.raises(UsageError, match=r"damaged or gone.*delta-rs cannot read"):
        small_rows(str(tmp_path), FINDINGS)


@pytest.mark.parametrize("harm", [lambda data: data[:-9], lambda data: b"", lambda data: data[:4] + data[-300:]])
def test_a_file_that_is_damaged_is_told(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    write_tables(tmp_path, findings=[finding("C01", 1)])
    (file,) = (tmp_path / "tables" / "findings").glob("*.parquet")
    assert small_rows(str(tmp_path), FINDINGS) is not None
    file.write_bytes(harm(file.read_bytes()))
    table_cache.clear()
    with pytest.raises(UsageError, match=rf"{file.name}, a file of a table, is damaged or gone: put it back"):
        small_rows(str(tmp_path), FINDINGS)
    file.unlink()
    with pytest.raises(UsageError, match=rf"{file.name}, a file of a table, is damaged or gone: put it back"):
        small_rows(str(tmp_path), FINDINGS)


def test_times_and_maps_come_back_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    row = {
        "cluster": "demo", "run_id": "1", "job": "j", "started": datetime(2026, 11, 21, 1, 2, 3, 4, UTC),
        "seconds": 1.5, "source": "s", "fingerprint": "f", "options": {"a": "1"}, "rows": {"entries": 3},
        "bytes_read": 0, "versions": {}, "exit_code": 0,
    }  # fmt: skip
    store_of(spark, str(tmp_path)).replace(TABLES["runs"], [row], Slice.of(run_id="1"))
    made = pa.Table.from_pylist([row], schema=arrow_schema(TABLES["runs"]))
    table_cache.clear()
    assert small_rows(str(tmp_path), TABLES["runs"]) == made
    (found,) = store_of(spark, str(tmp_path)).frame(TABLES["runs"]).collect()
    assert (found["rows"], found["options"], found["versions"]) == ({"entries": 3}, {"a": "1"}, {})


def test_rows_behind_a_piece_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    """As a table holds them whose first file has none: an audit whose first job found nothing."""
    out = str(tmp_path)
    store_of(spark, out).replace(FINDINGS, [], MINE)
    store_of(spark, out).replace(
        FINDINGS, spark.createDataFrame([finding("C01", 1), finding("C02")], schema_of(FINDINGS)), MINE
    )
    assert [row["code"] for row in store_of(spark, out).frame(FINDINGS).orderBy("code").collect()] == ["C01", "C02"]
    schema = arrow_schema(FINDINGS)
    pieces = pa.concat_tables([schema.empty_table(), pa.Table.from_pylist([finding("C03")], schema=schema)])
    assert frame_of(spark, pieces, schema_of(FINDINGS)).count() == 1


def spans(entries: int, count: int) -> pa.Table:
    """Spans of so many entries each that are as regular as can be, so that they take the least in a file."""
    schema = arrow_schema(SPANS)
    starts = np.arange(count, dtype=np.int64) * entries
    numbers = {"first_entry_id": starts, "last_entry_id": starts + entries - 1, "entries": np.full(count, entries)}
    lists = {"lengths": 0, "message_counts": 0, "publish_times_ms": 1, "broker_times_ms": 1}
    offsets = pa.array(np.arange(count + 1) * entries, pa.int32())

    def column(field: pa.Field) -> pa.Array:
        if field.name in lists:
            values = 1000 + np.arange(count * entries) * lists[field.name]
            return pa.ListArray.from_arrays(offsets, pa.array(values, field.type.value_type))
        if field.name in numbers:
            return pa.array(numbers[field.name])
        if field.nullable:
            return pa.nulls(count, field.type)
        return pa.repeat(pa.scalar("demo" if pa.types.is_string(field.type) else 7, field.type), count)

    return pa.Table.from_arrays([column(field) for field in schema], schema=schema)


def test_long_lists_are_not_held_however_small_their_files(spark: SparkSession, tmp_path: Path) -> None:
    store = store_of(spark, str(tmp_path))
    store.replace(SPANS, spans(10, 40), MINE)
    table_cache.clear()
    assert len(store.small_rows(SPANS) or ()) == 40
    log = written_by_a_task(tmp_path, spans(BATCH_ENTRIES, 40))  # 60 MB in memory
    assert log.size_bytes < 150_000
    assert store.small_rows(SPANS) is None
    assert store.is_small(SPANS) is False
    assert len(table_cache.many_rows(log, SPANS) or ()) == 40
    assert table_cache.many_rows(written_by_a_task(tmp_path, spans(BATCH_ENTRIES, 160)), SPANS) is None


def written_by_a_task(out: Path, rows: pa.Table) -> DeltaLog:
    """The log of a table that has these rows in place of others."""
    log = table_logs.log_without_spark(str(out), SPANS)
    assert log is not None
    with stage(log, SPANS, [file.path for file in log.files()]) as staged:
        staged.commit(staged.write(rows))
    now = table_logs.log_without_spark(str(out), SPANS)
    assert now is not None
    return now
