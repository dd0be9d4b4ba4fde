"""A slice holds the same rows for Spark, for Arrow and for one row; and needs no session for rows that are here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES
from tests.tableio.test_table_cache import finding

NEEDS_SPARK = True

QUOTED = 'a\'b\\ "c" `d` % $1 ü'
ROWS: list[dict[str, Any]] = [
    {"cluster": "demo", "topic": QUOTED, "ledger_id": 1},
    {"cluster": "demo", "topic": "t", "ledger_id": 2**62},
    {"cluster": "demo", "topic": None, "ledger_id": None},  # a finding about no ledger
    {"cluster": "other", "topic": "t", "ledger_id": 1},
]
SLICES = {
    Slice(): [0, 1, 2, 3],
    Slice.of(cluster="demo"): [0, 1, 2],
    Slice.of(cluster="demo", ledger_id=[1, 2**62]): [0, 1],
    Slice.of(cluster="demo").where(topic=[QUOTED]): [0],
    Slice.of(cluster="demo").without(ledger_id=[1]): [1, 2],
    Slice.of(cluster="demo").without(ledger_id=()): [0, 1, 2],
    Slice.of(cluster="demo").where(ledger_id=()): [],
    Slice.of(cluster=["demo", "other"]).without(topic=["t"]).where(ledger_id=1): [0],
}


@pytest.mark.parametrize("part", SLICES, ids=range(len(SLICES)))  # sets are printed in any order
def test_all_say_the_same(spark: SparkSession, part: Slice) -> None:
    schema = pa.schema({"cluster": pa.string(), "topic": pa.string(), "ledger_id": pa.int64()})
    rows = pa.Table.from_pylist(ROWS, schema=schema)
    frame = spark.createDataFrame(rows.append_column("row", pa.array(range(len(ROWS)))))
    expected = SLICES[part]
    assert [number for number, row in enumerate(ROWS) if part.holds(row)] == expected
    assert [number for number, inside in enumerate(part.mask(rows).to_pylist()) if inside] == expected
    assert [row["row"] for row in frame.filter(part.column()).orderBy(f.col("row")).collect()] == expected
    assert part.mask(rows.slice(0, 0)).to_pylist() == []


def test_a_small_table_is_replaced_without_a_session(tmp_path: Path) -> None:
    def begin() -> NoReturn:
        raise AssertionError("no session is needed")

    store, table = TableStore(str(tmp_path), begin), TABLES["findings"]
    part = Slice.of(cluster="demo")
    assert store.replace(table, [finding("C01", 1), finding("C02")], part) == 2
    assert store.replace(table, [finding("C03")], part.without(ledger_id=[1])) == 1
    assert store.version(table) == 1
    rows = store.small_rows(table)
    assert rows is not None
    assert sorted(rows["code"].to_pylist()) == ["C01", "C03"]
    with pytest.raises(ValueError, match="a row lies outside its slice"):
        store.replace(table, [finding("C04", 1)], part.without(ledger_id=[1]))
