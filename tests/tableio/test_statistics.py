"""Statistics of files decide which files a query reads: every reader finds by them every row that is there.

Each table has four files, written as jobs write them: of nulls where those may be, of values, of values mixed with
nulls, and of texts that are too long for bounds and times that the log rounds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.output.data_files import MAX_BOUND_CHARACTERS
from pulsar_backlog.sql.duck import opened
from pulsar_backlog.sql.duck_values import quoted
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.staged_files import stage
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema
from tests.blank_rows import NOON, complete_row
from tests.delta_extension import delta_connection
from tests.ledgers.conftest import S3Server, aws, s3_server

NEEDS_SPARK = True

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

LONG = "z" * MAX_BOUND_CHARACTERS
VALUES: dict[str, tuple[Any, ...]] = {
    "string": ("b", "a", f"{LONG}ä", f"{LONG}\U0001f600"),
    "bigint": (7, -3, 2**62, 0),
    "int": (7, -3, 2**30, 0),
    "double": (0.5, -2.0, 1e300, 0.0),
    "boolean": (True, False, True, False),
    "timestamp": (NOON, NOON - timedelta(days=1), NOON + timedelta(microseconds=1999), NOON + timedelta(days=1)),
}
"""Of simple types: two for a file of values, two for one that is hard to bound."""


def rows(table: Table, nulls: tuple[bool, bool], values: int) -> pa.Table:
    """Two rows of a file: each with nulls where those may be, or the value of that number and the one after it."""
    made = [
        {
            column.name: None if column.nullable and null else VALUES[column.type][values + at]
            for column in table.columns
            if column.type in VALUES
        }
        for at, null in enumerate(nulls)
    ]
    complete = [complete_row(table, row) for row in made]
    return pa.Table.from_pylist(complete, schema=arrow_schema(table))


def files_of(table: Table) -> list[pa.Table]:
    both, neither, first = (True, True), (False, False), (True, False)
    return [rows(table, both, 0), rows(table, neither, 0), rows(table, first, 0), rows(table, neither, 2)]


def write(out: Path, table: Table) -> None:
    for rows_of_file in files_of(table):
        log = LocalLog(out / "tables" / table.name)
        with stage(log, table) as staged:
            staged.commit(staged.write(rows_of_file))


def filtered(table: Table) -> Iterator[tuple[str, Any, int]]:
    """Of each column that may have statistics each value, null too, and how many rows have it."""
    everything = pa.concat_tables(files_of(table))
    for column in table.columns:
        if column.type in VALUES and (column.name in table.statistics or not table.statistics):
            values = everything[column.name].to_pylist()
            for value in sorted(set(values), key=str):
                yield column.name, value, values.count(value)


Count = Callable[[str, Any], int]


def wrong(table: Table, count: Count) -> list[tuple[str, Any, int, int]]:
    """What a reader counts otherwise than it is."""
    counted = [(name, value, rows, count(name, value)) for name, value, rows in filtered(table)]
    assert len(counted) > 2
    return [one for one in counted if one[2] != one[3]]


def wrong_to_us(out: str, table: Table) -> list[tuple[str, Any, int, int]]:
    """The same of `sql` and all that asks as it does."""
    with opened(out, table.name) as connection:
        return wrong(table, by_duckdb(connection, table.name))


def by_delta_rs(table: DeltaTable) -> Count:
    dataset = table.to_pyarrow_dataset()
    return lambda name, value: dataset.to_table(filter=_equals(pc.field(name), value)).num_rows


def by_pandas(table: DeltaTable) -> Count:
    def count(name: str, value: Any) -> int:
        filters = _equals(pc.field(name), value) if value is None else [(name, "=", value)]
        return len(table.to_pandas(columns=[name], filters=filters))

    return count


def by_duckdb(connection: duckdb.DuckDBPyConnection, relation: str) -> Count:
    def count(name: str, value: Any) -> int:
        same = "IS NULL" if value is None else f"= {_literal(value)}"
        query = f"SELECT count(*) FROM {relation} WHERE {quoted(name)} {same}"
        (rows,) = connection.execute(query).fetchone() or (-1,)
        return int(rows)

    return count


def by_polars(frame: pl.LazyFrame) -> Count:
    def count(name: str, value: Any) -> int:
        same = pl.col(name).is_null() if value is None else pl.col(name) == value
        return int(frame.filter(same).select(pl.len()).collect().item())

    return count


def by_spark(spark: SparkSession, path: str, table: Table) -> Count:
    """All counts by one job."""
    frame = spark.read.format("delta").load(path)
    asked = [(name, value) for name, value, _ in filtered(table)]
    found = [
        frame.filter(f.col(name).eqNullSafe(f.lit(value))).select(f.lit(number).alias("number"))
        for number, (name, value) in enumerate(asked)
    ]
    rows = Counter(row["number"] for row in reduce(DataFrame.union, found).collect())
    return lambda name, value: rows[asked.index((name, value))]


def _equals(field: Any, value: Any) -> Any:
    return field.is_null() if value is None else field == pa.scalar(value)


def _literal(value: Any) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    for table in TABLES.values():
        write(folder, table)
    return folder


def as_before(path: Path, empty: bool) -> None:
    """Give the adds of a table's commits statistics as earlier versions wrote them."""
    for commit in (path / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                stats = json.loads(action["add"]["stats"])
                unknown = [name for name, low in stats.get("minValues", {}).items() if low == "" or len(str(low)) > 99]
                for bound in ("minValues", "maxValues"):
                    known = {name: value for name, value in stats.get(bound, {}).items() if name not in unknown}
                    stats[bound] = {} if empty else known
                action["add"]["stats"] = json.dumps(stats)
            if "metaData" in action:
                action["metaData"]["configuration"].pop("delta.dataSkippingNumIndexedCols", None)
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


def fill(server: S3Server, bucket: str, folder: Path) -> str:
    paths = (path for path in folder.rglob("*") if path.is_file())
    server.fill(bucket, {f"eu-1/{path.relative_to(folder)}": (path.read_bytes(), {}) for path in paths})
    return f"s3://{bucket}/eu-1"


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server, out: Path) -> str:
    return fill(s3_server, "statistics", out)


@pytest.fixture(scope="module", params=["no-bounds", "some-bounds"])
def before(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server
) -> tuple[str, str]:
    """A folder and a bucket of the same tables as earlier versions wrote them."""
    folder = tmp_path_factory.mktemp("before")
    for table in TABLES.values():
        write(folder, table)
        as_before(folder / "tables" / table.name, request.param == "no-bounds")
    return str(folder), fill(s3_server, request.param, folder)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_in_a_folder(out: Path, table: Table) -> None:
    path = out / "tables" / table.name
    delta = DeltaTable(path)
    connection = duckdb.connect()
    connection.register("rows", delta.to_pyarrow_dataset())
    readers = {
        "delta-rs": by_delta_rs(delta),
        "pandas": by_pandas(delta),
        "DuckDB": by_duckdb(connection, "rows"),
        "DuckDB's extension": by_duckdb(delta_connection(), f"delta_scan('{path}')"),
        "polars": by_polars(pl.scan_delta(str(path))),
        "polars through pyarrow": by_polars(pl.scan_delta(str(path), use_pyarrow=True)),
    }
    assert {reader: wrong(table, count) for reader, count in readers.items()} == {reader: [] for reader in readers}
    assert wrong_to_us(str(out), table) == []


def kinds(table: Table) -> set[tuple[str, bool, bool, bool]]:
    """What decides how columns are bounded, and so found: type, nulls, and which of the table have bounds."""
    chosen = bool(table.statistics)
    simple = [one for one in table.columns if one.type in VALUES]
    return {(one.type, one.nullable, chosen, not chosen or one.name in table.statistics) for one in simple}


def few() -> list[Table]:
    """Tables that together have a column of each kind, for readers that take a second for each table."""
    found: list[Table] = []
    missing = set().union(*map(kinds, TABLES.values()))
    while missing:
        found.append(max(TABLES.values(), key=lambda table: len(kinds(table) & missing)))
        missing -= kinds(found[-1])
    return found


@pytest.mark.parametrize("table", few(), ids=lambda table: table.name)
def test_in_a_bucket(bucket: str, s3_server: S3Server, aws: pytest.MonkeyPatch, table: Table) -> None:
    aws.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    options = {
        "endpoint_url": s3_server.endpoint, "allow_http": "true", "region": "us-east-1",
        "access_key_id": "key", "secret_access_key": "secret",
    }  # fmt: skip
    uri = f"{bucket}/tables/{table.name}"
    delta = DeltaTable(uri, storage_options=options)
    connection = duckdb.connect()
    connection.register("rows", delta.to_pyarrow_dataset())
    readers = {
        "delta-rs": by_delta_rs(delta),
        "DuckDB": by_duckdb(connection, "rows"),
        "polars": by_polars(pl.scan_delta(uri, storage_options=options)),
        "polars through pyarrow": by_polars(pl.scan_delta(uri, storage_options=options, use_pyarrow=True)),
    }
    assert {reader: wrong(table, count) for reader, count in readers.items()} == {reader: [] for reader in readers}
    assert wrong_to_us(bucket, table) == []


@pytest.mark.parametrize("table", few(), ids=lambda table: table.name)
def test_in_spark(spark: SparkSession, out: Path, table: Table) -> None:
    assert wrong(table, by_spark(spark, str(out / "tables" / table.name), table)) == []


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_of_earlier_versions_are_read_right(
    before: tuple[str, str], s3_server: S3Server, aws: pytest.MonkeyPatch, table: Table
) -> None:
    aws.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    assert {out: wrong_to_us(out, table) for out in before} == {out: [] for out in before}
