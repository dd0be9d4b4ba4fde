"""Upkeep of a table: the same rows in fewer files, and no file deleted that a reader may still need."""

from __future__ import annotations

import json
import os
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyarrow import parquet
from pyspark.sql import SparkSession

from pulsar_backlog.errors import CommitConflictError
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.tableio import maintenance, table_cache
from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.maintenance import Upkeep, join_while_small, keep_up, upkeep_of
from pulsar_backlog.tableio.places import LOG_FOLDER
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.spark_maintenance import upkeep_by_spark
from pulsar_backlog.tableio.staged_files import stage
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tableio.table_logs import log_without_spark
from pulsar_backlog.tables import TABLES
from tests.frames.rows import entry, table_rows
from tests.small_tables import store_of, write_tables

NEEDS_SPARK = True

ENTRIES = TABLES["entries"]
LEDGERS = range(7)
HOURS = 48


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def log_of(out: Path) -> DeltaLog:
    log = log_without_spark(str(out), ENTRIES)
    assert log is not None
    return log


def due(out: Path, hours: int = HOURS) -> Upkeep:
    return upkeep_of(log_of(out), ENTRIES, hours, now_ms())


def done(spark: SparkSession, out: Path) -> Upkeep:
    return keep_up(store_of(spark, str(out)), log_of(out), ENTRIES, due(out))


def files(out: Path) -> set[str]:
    return {path.name for path in (out / "tables" / "entries").glob("*.parquet")}


def rows(out: Path) -> list[tuple[int, int]]:
    table = DeltaTable(out / "tables" / "entries").to_pyarrow_table(columns=["ledger_id", "entry_id"])
    return sorted((row["ledger_id"], row["entry_id"]) for row in table.to_pylist())


def grow_old(out: Path, hours: int) -> None:
    """Let everything in the folder have been there for so long."""
    ago = time.time() - hours * 3600
    for path in (out / "tables").glob(f"*/{LOG_FOLDER}/*.json"):
        path.write_text(_DELETED.sub(lambda match: f"{match[1]}{int(ago * 1000)}", path.read_text()))
    for path in (out / "tables").glob(f"*/{LOG_FOLDER}/*.checkpoint.parquet"):  # the same times stand in it
        path.unlink()
        (path.parent / "_last_checkpoint").unlink()
        DeltaTable(path.parent.parent).create_checkpoint()
    for path in (out / "tables").rglob("*"):
        if path.is_file():
            os.utime(path, (ago, ago))


_DELETED = re.compile(r'("deletionTimestamp": )\d+')


def add(out: Path, *ledger_ids: int) -> None:
    """Three entries of each ledger, in a file and commit of their own."""
    with stage(log_of(out), ENTRIES) as staged:
        made = [entry("t", ledger_id, n) | {"cluster": "demo"} for ledger_id in ledger_ids for n in range(3)]
        staged.commit(staged.write(table_rows("entries", made)))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """`entries` of seven ledgers."""
    (tmp_path / "tables").mkdir()
    for ledger_id in LEDGERS:
        add(tmp_path, ledger_id)
    return tmp_path


def test_small_files_become_one_with_the_same_rows(spark: SparkSession, out: Path) -> None:
    before, old = rows(out), files(out)
    assert len(old) == len(LEDGERS)
    version = DeltaTable(out / "tables" / "entries").version()
    kept_up = done(spark, out)
    assert (len(kept_up.joined), kept_up.joined_into, kept_up.checkpoint) == (len(LEDGERS), 1, True)
    assert rows(out) == before
    assert files(out) > old, "a reader that began before still finds what it is about to read"
    (name,) = [path for path, *_ in log_of(out).files()]
    bounds = json.loads(
        (out / "tables" / "entries" / LOG_FOLDER / f"{version + 1:020}.json").read_text().splitlines()[-1]
    )
    assert bounds["add"]["dataChange"] is False, "who follows the table sees no new rows"
    assert json.loads(bounds["add"]["stats"])["minValues"]["ledger_id"] == LEDGERS[0]
    assert log_of(out).rows_of("demo") == len(before)
    assert due(out).is_due is False, f"{name} is all there is to read"
    assert spark.read.format("delta").load(str(out / "tables" / "entries")).count() == len(before)
    with opened(str(out), "SELECT count(*) AS n FROM entries WHERE ledger_id = 3") as connection:
        assert rows_of(connection, "SELECT count(*) AS n FROM entries WHERE ledger_id = 3") == [{"n": 3}]


@pytest.mark.parametrize("more", [0, 1])
def test_files_of_tasks_are_joined_at_once_where_they_are_many(more: int, spark: SparkSession, out: Path) -> None:
    add(out, 50, 3000)  # before and behind those of the others
    for ledger_id in range(100, 100 + maintenance.MANY_FILES - len(LEDGERS) - 2 + more):
        add(out, ledger_id)
    before, version = rows(out), log_of(out).version
    joined = join_while_small(store_of(spark, str(out)), ENTRIES)
    assert joined == (maintenance.MANY_FILES if more else 0)
    assert log_of(out).version == version + more
    assert len(log_of(out).files()) == (1 if more else maintenance.MANY_FILES - 1)
    assert rows(out) == before
    if more:
        (only,) = log_of(out).files()
        stored = parquet.read_table(out / "tables" / "entries" / only.path, columns=["ledger_id", "entry_id"])
        assert [tuple(row.values()) for row in stored.to_pylist()] == before, "by the key, whichever file was first"
    assert spark.read.format("delta").load(str(out / "tables" / "entries")).count() == len(before)
    commit = (out / "tables" / "entries" / LOG_FOLDER / f"{log_of(out).version:020}.json").read_text()
    assert ('"dataChange": false' in commit) == bool(more), "who follows the table sees no new rows"


def test_a_table_that_no_driver_holds_is_left_to_maintenance(
    spark: SparkSession, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "MANY_FILES", 2)
    monkeypatch.setattr(table_cache, "MANY_BYTES", log_of(out).size_bytes - 1)
    assert join_while_small(store_of(spark, str(out)), ENTRIES) == 0
    assert len(log_of(out).files()) == len(LEDGERS)


def test_a_table_that_got_few_files_since_is_left_alone(spark: SparkSession, out: Path) -> None:
    done(spark, out)
    add(out, 99)
    assert len(log_of(out).files()) == 2
    assert due(out).joined == []


def test_files_go_once_no_reader_can_need_them(spark: SparkSession, out: Path) -> None:
    old = files(out)
    done(spark, out)
    folder = out / "tables" / "entries"
    (folder / "part-of-a-killed-run.zstd.parquet").write_bytes(b"rows")
    assert due(out).unused == {}, "they may be read, or about to be named by a commit"
    grow_old(out, HOURS - 1)
    assert due(out).unused == {}
    grow_old(out, HOURS + 1)
    (folder / "part-of-a-running-one.zstd.parquet").write_bytes(b"rows")
    unused = due(out).unused
    assert set(unused) == {*old, "part-of-a-killed-run.zstd.parquet"}
    assert unused["part-of-a-killed-run.zstd.parquet"] == len(b"rows")
    before = rows(out)
    done(spark, out)
    assert files(out) == {"part-of-a-running-one.zstd.parquet", *(path for path, *_ in log_of(out).files())}
    assert rows(out) == before


def test_a_reader_in_the_middle_of_a_query_goes_on(spark: SparkSession, out: Path) -> None:
    expected = rows(out)
    with opened(str(out), "SELECT * FROM entries") as connection:
        pages = connection.execute("SELECT ledger_id, entry_id FROM entries").to_arrow_reader(1)
        first = pages.read_next_batch().to_pylist()
        done(spark, out)
        read = [*first, *(row for page in pages for row in page.to_pylist())]
    assert sorted((row["ledger_id"], row["entry_id"]) for row in read) == expected


def test_the_log_keeps_what_a_reader_of_the_last_hours_may_begin_with(spark: SparkSession, out: Path) -> None:
    done(spark, out)
    log = out / "tables" / "entries" / LOG_FOLDER
    checkpoint = log_of(out).version
    grow_old(out, HOURS + 1)
    # Somebody wrote since; whoever read the hint a moment ago begins with the old checkpoint, and finds all after it.
    old = due(out).old_log
    assert set(old) == {f"{version:020}.json" for version in range(checkpoint)}
    os.utime(log / f"{checkpoint:020}.checkpoint.parquet")
    assert due(out).old_log == {}, "the checkpoint is new: readers who began before need the commits"
    grow_old(out, HOURS + 1)
    before = rows(out)
    done(spark, out)
    assert sorted(path.name for path in log.glob("*.json")) == [f"{checkpoint:020}.json"]
    assert rows(out) == before
    assert spark.read.format("delta").load(str(log.parent)).count() == len(before)


def test_other_rows_than_the_files_have_are_not_committed(
    spark: SparkSession, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, version = rows(out), log_of(out).version
    monkeypatch.setattr(maintenance, "snapshot", lambda *given: _SNAPSHOT(*given).limit(2))
    with pytest.raises(ValueError, match="21 rows in small files, 2 written"):
        done(spark, out)
    assert (rows(out), log_of(out).version) == (before, version)


_SNAPSHOT = maintenance.snapshot


def test_of_two_writers_the_later_one_is_refused(spark: SparkSession, out: Path) -> None:
    log, needed = log_of(out), due(out)
    part = Slice.of(cluster="demo", ledger_id=LEDGERS[0])
    store_of(spark, str(out)).replace(ENTRIES, [], part)
    expected = rows(out)
    with pytest.raises(CommitConflictError):
        keep_up(store_of(spark, str(out)), log, ENTRIES, needed)
    assert rows(out) == expected, "what the other one removed stays removed"


def test_many_bytes_become_several_files_of_neighbours(
    spark: SparkSession, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = max(size for _path, size, _rows in log_of(out).files())
    monkeypatch.setattr(maintenance, "FILE_BYTES", 3 * size)
    before = rows(out)
    assert due(out).joined == [], "seven files for three are not worth it"
    for ledger_id in range(100, 105):
        add(out, ledger_id)
        before += [(ledger_id, n) for n in range(3)]
    assert 2 <= done(spark, out).joined_into <= 4
    assert rows(out) == before
    actions: Any = DeltaTable(out / "tables" / "entries").get_add_actions(flatten=True)
    bounds = sorted(zip(actions["min.ledger_id"].to_pylist(), actions["max.ledger_id"].to_pylist(), strict=True))
    assert all(one[1] <= two[0] for one, two in pairwise(bounds)), "a query opens few files"


def test_a_small_table_in_many_files_needs_no_session(tmp_path: Path) -> None:
    table_cache.clear()
    for code in ("C01", "C02", "C03", "C04"):
        write_tables(tmp_path, findings=[{"cluster": "demo", "code": code}])
    table, log = TABLES["findings"], log_without_spark(str(tmp_path), TABLES["findings"])
    assert log is not None

    def begin() -> Any:
        raise AssertionError("no session is needed")

    store = TableStore(str(tmp_path), begin)
    assert keep_up(store, log, table, upkeep_of(log, table, HOURS, now_ms())).joined_into == 1
    found = store.small_rows(table)
    assert found is not None
    assert sorted(found["code"].to_pylist()) == ["C01", "C02", "C03", "C04"]
    assert len(DeltaTable(tmp_path / "tables" / "findings").file_uris()) == 1


def test_a_folder_that_only_spark_reaches_is_kept_up_by_delta(spark: SparkSession, out: Path) -> None:
    place = out.with_name("100%41")
    out.rename(place)
    assert log_without_spark(str(place), ENTRIES) is None
    folder = place / "tables" / "entries"
    before = spark.read.format("delta").load(str(folder)).count()
    grow_old(place, 200)
    dry = upkeep_by_spark(spark, str(place), ENTRIES, HOURS, do=False)
    assert (dry.files, dry.joined, dry.unused) == (len(LEDGERS), [], {})
    kept_up = upkeep_by_spark(spark, str(place), ENTRIES, HOURS, do=True)
    assert (len(kept_up.joined), kept_up.joined_into) == (len(LEDGERS), 1)
    assert len(list(folder.glob("*.parquet"))) == len(LEDGERS) + 1, "readers go on"
    spark.catalog.clearCache()
    assert spark.read.format("delta").load(str(folder)).count() == before
