"""Tables of an earlier version of a contract: read and written on; null is what was not known then."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES, Column, Table
from tests.blank_rows import NOON
from tests.frames.rows import table_rows

NEEDS_SPARK = True

GONE = TABLES["gone_ledgers"]
PLACES = Column("places", "array<struct<ledger:bigint,at:struct<offset:bigint>>>", "Places.", nullable=False)
WIDER = replace(
    PLACES, type="array<struct<ledger:bigint,uri:string,at:struct<offset:bigint,length:int>>>", fields_since=2
)
OLD = replace(GONE, columns=(*GONE.columns, PLACES))
NEW = replace(
    OLD,
    columns=(*OLD.columns[:2], Column("why", "string", "Why.", since=2), *OLD.columns[2:-1], WIDER,
        Column("sizes", "array<struct<copy:string,bytes:bigint>>", "Sizes.", since=2)),
)  # fmt: skip
SIZES = [{"copy": "a", "bytes": 5}]
HERE = [{"ledger": 1, "at": {"offset": 7}}]
THERE = [{"ledger": 1, "uri": "there", "at": {"offset": 7, "length": 8}}]
NO_LONGER = [{"ledger": 1, "uri": None, "at": {"offset": 7, "length": None}}]
"""`HERE` as it is read of the newer contract."""


COLUMNS = ["ledger_id", "why", "sizes", "places"]


def row(ledger_id: int, **more: Any) -> dict[str, Any]:
    known = {"cluster": "c", "ledger_id": ledger_id, "scanned": True, "expected": False, "gone_time": NOON}
    known["places"] = THERE if more else HERE
    return known | more


def store(spark: SparkSession, out: Path) -> TableStore:
    return TableStore(str(out), lambda: spark)


def everywhere(spark: SparkSession, out: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any, Any]]:
    """Ledger, why and sizes, as each reader has them; all must have the same, and the same places."""
    monkeypatch.setitem(TABLES, OLD.name, NEW)
    table_cache.clear()
    small = store(spark, out).small_rows(NEW)
    found = [] if small is None else [small.select(COLUMNS).to_pylist()]
    frame = store(spark, out).frame(NEW).select(*COLUMNS)
    found.append([one.asDict(recursive=True) for one in frame.collect()])
    query = f"SELECT {', '.join(COLUMNS)} FROM {OLD.name}"
    with opened(str(out), query) as connection:
        found.append(rows_of(connection, query))
    plain = [sorted((one["ledger_id"], one["why"], one["sizes"]) for one in rows) for rows in found]
    assert plain == [plain[0]] * len(plain)
    for one in (one for rows in found for one in rows):
        assert one["places"] == (NO_LONGER if one["why"] is None else THERE)
    return plain[0]


@pytest.fixture(params=["in this process", "by tasks"])
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables and large ones."""
    if request.param == "by tasks":
        monkeypatch.setattr(table_cache, "MAX_ROWS", -1)


@pytest.mark.usefixtures("bound")
def test_an_older_table_is_read_written_on_and_read_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tables").mkdir()
    mine = Slice.of(cluster="c")
    store(spark, tmp_path).replace(OLD, [row(1), row(2)], mine)
    assert everywhere(spark, tmp_path, monkeypatch) == [(1, None, None), (2, None, None)]
    assert DeltaTable(tmp_path / "tables" / OLD.name).version() == 0, "reading changes nothing"

    changed = [row(2, why="new", sizes=SIZES)]
    store(spark, tmp_path).replace(NEW, changed, mine.where(ledger_id=2))
    assert everywhere(spark, tmp_path, monkeypatch) == [(1, None, None), (2, "new", SIZES)]
    added = [row(3, why="newer")]
    store(spark, tmp_path).replace(NEW, added, mine.where(ledger_id=3))
    assert everywhere(spark, tmp_path, monkeypatch) == [(1, None, None), (2, "new", SIZES), (3, "newer", None)]
    table = DeltaTable(tmp_path / "tables" / OLD.name)
    assert [field.name for field in table.schema().fields] == [*OLD.column_names(), "why", "sizes"]
    by_delta = spark.read.format("delta").load(str(tmp_path / "tables" / OLD.name)).select("places").collect()
    places = [one.asDict(recursive=True)["places"] for one in by_delta]
    assert sorted(places, key=str) == sorted([NO_LONGER, THERE, THERE], key=str)


def test_an_append_to_an_older_table_leaves_its_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tables").mkdir()
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    mine = Slice.of(cluster="c")
    store(spark, tmp_path).replace(OLD, [row(1)], mine.where(ledger_id=1))
    store(spark, tmp_path).replace(NEW, [row(2, why="new")], mine.where(ledger_id=2))
    assert len(DeltaTable(tmp_path / "tables" / OLD.name).file_uris()) == 2  # of two versions
    assert everywhere(spark, tmp_path, monkeypatch) == [(1, None, None), (2, "new", None)]


def test_delta_itself_widens_a_table_that_only_spark_reaches(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, mine = tmp_path / "a%b", Slice.of(cluster="c")
    store(spark, out).replace(OLD, [row(1)], mine.where(ledger_id=1))
    monkeypatch.setitem(TABLES, OLD.name, NEW)
    read = store(spark, out).frame(NEW).select(*COLUMNS).collect()
    assert [one.asDict(recursive=True) for one in read] == [dict(zip(COLUMNS, (1, None, None, NO_LONGER), strict=True))]
    store(spark, out).replace(NEW, [row(2, why="new", sizes=SIZES)], mine.where(ledger_id=2))
    rows = store(spark, out).frame(NEW).select(*COLUMNS).orderBy("ledger_id").collect()
    assert [one.asDict(recursive=True)["places"] for one in rows] == [NO_LONGER, THERE]


@pytest.mark.parametrize(
    "other",
    [
        replace(OLD, columns=(*OLD.columns, Column("needed", "string", "Never null.", nullable=False))),
        replace(OLD, columns=OLD.columns[:-1]),  # of a later version: what it holds is not thrown away
        replace(OLD, columns=(*OLD.columns[:-1], replace(PLACES, type="string"))),
        replace(OLD, columns=(*OLD.columns[:-1], replace(PLACES, type="array<struct<ledger:bigint>>"))),
        replace(OLD, columns=(*OLD.columns[:-1], replace(PLACES, type="array<struct<ledger:string,at:bigint>>"))),
    ],
)
def test_another_contract_is_refused(spark: SparkSession, tmp_path: Path, other: Table) -> None:
    store(spark, tmp_path).replace(OLD, [row(1)], Slice.of(cluster="c"))
    with pytest.raises(UsageError, match="written by another version"):
        store(spark, tmp_path).replace(other, [], Slice.of(cluster="c"))


def test_the_contract_counts_its_versions() -> None:
    assert (OLD.version, NEW.version) == (1, 2)
    for table in TABLES.values():
        added = [column for column in table.columns if column.since > 1]
        assert all(column.nullable for column in added), "older rows have null there"


LATER = [(table, column) for table in TABLES.values() for column in table.columns if column.since > 1]
SAMPLES = {
    "string": "x", "int": 1, "bigint": 1, "timestamp": NOON, "array<string>": ["x"], "array<bigint>": [1],
    "boolean": True,
}  # fmt: skip
"""A value of each type of a later column, and of the fields of its structs."""


def sample(ddl: str) -> Any:
    """A value of a type."""
    return SAMPLES.get(ddl) or [
        {name: SAMPLES[kind] for name, kind in re.findall(r"(\w+):(\w+)", ddl.partition("<")[2])}
    ]


def test_columns_that_came_later_say_so() -> None:
    """An earlier release wrote `segments` without them."""
    assert {column.name for table, column in LATER if table.name == "segments"} == {"registered", "kin_sureness"}


@pytest.mark.parametrize(("table", "later"), LATER, ids=lambda one: one.name)
def test_a_filter_on_a_later_column_finds_what_was_written_before_it(
    table: Table, later: Column, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "tables").mkdir()
    columns = tuple(column for column in table.columns if column.since == 1)
    ascending = tuple(name for name in table.ascending if name in {column.name for column in columns})
    first = replace(table, columns=columns, ascending=ascending)
    (blank,) = table_rows(table.name, [{"cluster": "old"}]).to_pylist()
    store(spark, tmp_path).replace(
        first, [{name: blank[name] for name in first.column_names()}], Slice.of(cluster="old")
    )
    table_cache.clear()  # another release wrote it
    new = {**blank, "cluster": "new", later.name: sample(later.type)}
    store(spark, tmp_path).replace(table, [new], Slice.of(cluster="new"))
    for condition, wanted in (("IS NULL", "old"), ("IS NOT NULL", "new")):
        query = f"SELECT cluster FROM {table.name} WHERE {later.name} {condition}"
        with opened(str(tmp_path), query) as connection:
            assert rows_of(connection, query) == [{"cluster": wanted}]
        frame = store(spark, tmp_path).frame(table).filter(f"{later.name} {condition}")
        assert [row["cluster"] for row in frame.collect()] == [wanted]
