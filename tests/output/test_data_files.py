"""The bounds that a file's statistics give: wrong ones make queries skip rows that are there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.output import data_files
from pulsar_backlog.output.data_files import MAX_BOUND_CHARACTERS, DataFileWriter, FolderPlace, write_data_file
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema, task_schema
from pulsar_backlog.tables.contract import Column, Table, required
from tests.blank_rows import complete_row
from tests.frames.rows import table_rows
from tests.processes import fresh_python

NEEDS_SPARK = True

TABLE = Table(
    name="rows",
    comment="Rows.",
    columns=(required("n", "bigint", "Number."), Column("text", "string", "Text."), Column("at", "timestamp", "Time.")),
    key=("n",),
    slice_columns=("n",),
    statistics=("n", "text", "at"),
    unique=("n",),
)
SCHEMA = pa.schema([
    pa.field("n", pa.int64(), nullable=False), pa.field("text", pa.string()), pa.field("at", pa.timestamp("us", "UTC")),
])  # fmt: skip
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def the_file(folder: Path) -> Path:
    (found,) = folder.glob("part-*.zstd.parquet")
    return found


def write(folder: Path, *batches: list[dict[str, Any]]) -> dict[str, Any]:
    writer = DataFileWriter(FolderPlace(folder, "part-"), SCHEMA, TABLE)
    for rows in batches:
        writer.add(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
    file = writer.close()
    assert file is not None
    path = the_file(folder)
    assert (file.name, file.size_bytes) == (path.name, path.stat().st_size)
    return dict(json.loads(file.stats))


def row(n: int, text: str | None, at: datetime | None) -> dict[str, Any]:
    return {"n": n, "text": text, "at": at}


def test_bounds_hold_over_all_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "ROW_GROUP_ROWS", 2)
    first = [row(5, "m", NOON), row(-3, None, None)]
    second = [row(9, "a", NOON - timedelta(days=1)), row(7, "\U0001f600", NOON + timedelta(milliseconds=5))]
    stats = write(tmp_path, first, second, [row(8, "m", None)])
    assert stats == {
        "numRecords": 5,
        "minValues": {"n": -3, "text": "a", "at": "2026-11-20T12:00:00.000Z"},
        "maxValues": {"n": 9, "text": "\U0001f600", "at": "2026-11-21T12:00:00.005Z"},
        "nullCount": {"n": 0, "text": 1, "at": 2},
    }
    assert pq.read_metadata(the_file(tmp_path)).num_row_groups == 3
    assert pq.read_table(the_file(tmp_path)).to_pylist() == [*first, *second, row(8, "m", None)]


def test_a_large_batch_is_many_row_groups(tmp_path: Path) -> None:
    """Who wants one span, or one message, decodes no more than a row group."""
    spans = TABLES["entry_spans"]
    lists = {name: list(range(10_000)) for name in ("lengths", "message_counts", "publish_times_ms")}
    rows = [complete_row(spans, {"first_entry_id": number, **lists}) for number in range(100)]
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(spans))
    (written,) = write_data_file([batch], FolderPlace(tmp_path, ""), arrow_schema(spans), spans)
    file = pq.ParquetFile(tmp_path / written.column("name")[0].as_py())
    groups = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    assert sum(groups) == 100
    assert max(groups) * 160_000 <= spans.row_group_bytes
    assert min(groups[:-1]) * 2 * 160_000 > spans.row_group_bytes
    assert file.read() == pa.Table.from_batches([batch])


def test_a_column_of_nulls_has_bounds_like_the_others(tmp_path: Path) -> None:
    """delta-rs skips a file where a bound is missing beside others, also for who asks for nulls."""
    stats = write(tmp_path, [row(1, None, None)])
    assert stats["minValues"] == stats["maxValues"] == {"n": 1, "text": "", "at": "1970-01-01T00:00:00.000Z"}
    assert stats["nullCount"] == {"n": 0, "text": 1, "at": 1}


def test_numbers_that_are_all_null_take_the_bounds_of_all(tmp_path: Path) -> None:
    """Spark answers `min` by the bounds: one of no number would be its answer."""
    table = replace(TABLE, statistics=("many", "text"))
    schema = pa.schema([pa.field("many", pa.int64()), pa.field("text", pa.string())])
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), schema, table)
    writer.add(pa.RecordBatch.from_pylist([{"many": None, "text": "a"}], schema=schema))
    file = writer.close()
    assert file is not None
    assert json.loads(file.stats) == {"numRecords": 1, "nullCount": {"many": 1, "text": 0}}


def test_dictionaries_of_tasks_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers get plain texts, and the bounds are those of what occurs, whatever else a dictionary holds."""
    monkeypatch.setattr(data_files, "ROW_GROUP_ROWS", 4)
    table = replace(TABLE, repeated=("text",))
    schema = task_schema(table)
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), schema, table)
    for first, texts in ((0, ["m", "z", None]), (3, ["b", "m"]), (5, ["q", "q", "q"])):
        dictionary = pa.array(["unused", "a", *dict.fromkeys(filter(None, texts))])
        indices = pc.index_in(pa.array(texts), dictionary).cast(pa.int32())
        columns = [
            pa.array(range(first, first + len(texts)), pa.int64()),
            pa.DictionaryArray.from_arrays(indices, dictionary),
            pa.nulls(len(texts), pa.timestamp("us", "UTC")),
        ]
        writer.add(pa.RecordBatch.from_arrays(columns, schema=schema))
    file = writer.close()
    assert file is not None
    assert json.loads(file.stats)["minValues"]["text"] == "b"
    assert json.loads(file.stats)["maxValues"]["text"] == "z"
    assert json.loads(file.stats)["nullCount"]["text"] == 1
    found = pq.read_table(the_file(tmp_path))
    assert found.schema == SCHEMA
    assert found["text"].to_pylist() == ["m", "z", None, "b", "m", "q", "q", "q"]


def test_a_table_without_statistics_has_numbers_of_rows_alone(tmp_path: Path) -> None:
    """An empty list of bounds is a bound that nothing meets, to delta-rs."""
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), SCHEMA, replace(TABLE, statistics=()))
    writer.add(pa.RecordBatch.from_pylist([row(1, "a", NOON)], schema=SCHEMA))
    file = writer.close()
    assert file is not None
    assert json.loads(file.stats) == {"numRecords": 1}


MOST = MAX_BOUND_CHARACTERS


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        ("a", "z" * MOST, ("a", "z" * MOST)),
        ("a", "z" * (MOST + 1), ("a", "z" * MOST + "\U0010ffff")),
        ("y" * (MOST + 1), "z", ("y" * MOST, "z")),
        ("a", "z" * MOST + "\U0010ffff", None),  # nothing short sorts behind it
    ],
)
def test_long_text_has_the_bounds_of_its_beginning(
    tmp_path: Path, low: str, high: str, bounds: tuple[str, str] | None
) -> None:
    stats = write(tmp_path, [row(1, low, NOON), row(2, high, NOON)])
    found = (stats["minValues"]["text"], stats["maxValues"]["text"]) if "minValues" in stats else None
    assert found == bounds
    assert found is None or found[0] <= low < high <= found[1]


def test_years_have_four_digits(tmp_path: Path) -> None:
    stats = write(tmp_path, [row(1, "a", datetime(1, 1, 1, tzinfo=UTC)), row(2, "a", datetime.max.replace(tzinfo=UTC))])
    assert (stats["minValues"]["at"], stats["maxValues"]["at"]) == (
        "0001-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",
    )


def test_without_rows_there_is_no_file(tmp_path: Path) -> None:
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), SCHEMA, TABLE)
    assert writer.close() is None
    assert not list(tmp_path.iterdir())


def test_a_null_where_none_may_be_stops_the_file(tmp_path: Path) -> None:
    loose = pa.schema([field.with_nullable(True) for field in SCHEMA])
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), SCHEMA, TABLE)
    writer.add(pa.RecordBatch.from_pylist([{"n": None, "text": None, "at": None}], schema=loose))
    with pytest.raises((pa.ArrowInvalid, ValueError), match="n"):
        writer.close()


EMPTY_LISTS = """
import sys
from pathlib import Path
import pyarrow as pa
from pulsar_backlog.output.data_files import DataFileWriter, FolderPlace
from pulsar_backlog.tables.contract import Table, required
inner = pa.list_(pa.field("element", pa.int32()))
outer = pa.list_(pa.field("element", inner))
nowhere = pa.foreign_buffer(8, 0)
lists = pa.Array.from_buffers(inner, 0, [None, nowhere], children=[pa.array([], pa.int32())])
offsets = pa.array([0, 0], pa.int32()).buffers()[1]
rows = pa.RecordBatch.from_arrays([pa.Array.from_buffers(outer, 1, [None, offsets], children=[lists])], ["a"])
table = Table("t", "", (required("a", "array<array<int>>", ""),), ("a",), ())
DataFileWriter(FolderPlace(Path(sys.argv[1]), "part-"), rows.schema, table).add(rows)
"""


def test_lists_that_spark_leaves_without_offsets_are_not_looked_into(tmp_path: Path) -> None:
    """Java's Arrow gives lists of no items an offsets buffer of no bytes; who reads its first offset crashes."""
    done = fresh_python("-c", EMPTY_LISTS, str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_numbers_that_ascend_are_stored_as_differences(tmp_path: Path) -> None:
    numbers = Column("numbers", "array<bigint>", "Numbers.")
    table = replace(TABLE, columns=(*TABLE.columns, numbers), ascending=("n", "at", "numbers"), unique=("text",))
    schema = SCHEMA.append(pa.field("numbers", pa.list_(pa.int64())))
    rows = [row(n, f"text {n}", NOON + timedelta(seconds=n)) | {"numbers": [n, n + 3]} for n in range(5000)]
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), schema, table)
    writer.add(pa.RecordBatch.from_pylist(rows, schema=schema))
    assert writer.close() is not None
    group = pq.ParquetFile(the_file(tmp_path)).metadata.row_group(0)
    encodings = {group.column(at).path_in_schema: set(group.column(at).encodings) for at in range(group.num_columns)}
    differences = {path for path, names in encodings.items() if "DELTA_BINARY_PACKED" in names}
    assert differences == {"n", "at", "numbers.list.element"}
    assert not any("DICTIONARY" in name for names in encodings.values() for name in names)
    assert pq.read_table(the_file(tmp_path)).to_pylist() == rows


@pytest.mark.parametrize("table", [table for table in TABLES.values() if table.unrepeated()], ids=lambda one: one.name)
def test_each_engine_reads_what_is_stored_as_differences(table: Table, spark: SparkSession, tmp_path: Path) -> None:
    """The least and the largest number, and null where a column may be; Spark reads in columns and row by row."""
    schema = arrow_schema(table)
    (row,) = table_rows(table.name, [{"cluster": "c"}]).to_pylist()
    least, most = (
        row | {name: _extreme(schema.field(name), most) for name in table.ascending} for most in (False, True)
    )
    rows = [row, least, most, row]
    writer = DataFileWriter(FolderPlace(tmp_path, "part-"), schema, table)
    writer.add(pa.RecordBatch.from_pylist(rows, schema=schema))
    assert writer.close() is not None
    path = str(the_file(tmp_path))
    wanted = pa.Table.from_pylist(rows, schema=schema).select(table.ascending)
    assert pq.read_table(path, columns=list(table.ascending)).equals(wanted)
    by_duckdb = duckdb.read_parquet(path, connection=duckdb.connect())
    assert by_duckdb.select(*table.ascending).to_arrow_table().cast(wanted.schema).equals(wanted)
    for in_columns in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", in_columns)
        try:
            by_spark = spark.read.parquet(path).select(*table.ascending).toArrow()
        finally:
            spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
        assert by_spark.cast(wanted.schema).equals(wanted)


def _extreme(field: pa.Field, most: bool) -> Any:
    """The largest or the smallest value of a column of numbers, times or lists of numbers."""
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    if pa.types.is_timestamp(kind):
        return NOON + timedelta(days=300_000 if most else -300_000)
    value = (2 ** (kind.bit_width - 1) - 1) if most else -(2 ** (kind.bit_width - 1))
    return [value, 0, value] if pa.types.is_list(field.type) else value


@pytest.mark.parametrize(("codes", "low"), [([0, 0], "a"), ([None, 0], "a"), ([None, None], "")])
def test_bounds_of_a_dictionary_with_one_text(tmp_path: Path, codes: list[int | None], low: str) -> None:
    """Of a text that no row has there is no bound."""
    texts = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(["a"]))
    schema = SCHEMA.set(1, pa.field("text", texts.type))
    columns = [pa.array([1, 2]), texts, pa.array([NOON, NOON], SCHEMA.field("at").type)]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    (written,) = write_data_file([batch], FolderPlace(tmp_path, ""), schema, TABLE)
    stats = json.loads(written.column("stats")[0].as_py())
    assert (stats["minValues"]["text"], stats["maxValues"]["text"]) == (low, low)
    assert stats["nullCount"]["text"] == codes.count(None)
