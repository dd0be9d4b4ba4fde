"""Parquet files of a Delta table, written where the rows are made: no row passes through the JVM.

Tasks write the file of their rows themselves, to where the table lies, and the driver commits all files at once
(`tableio/staged_files.py`). File statistics are those of the Delta protocol (PROTOCOL.md of delta-io/delta, "Per-file
Statistics"): what a query filters by decides which files it opens.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pulsar_backlog.ledgers.buckets.addresses import output_bucket
from pulsar_backlog.tables.contract import Table
from pulsar_backlog.whole_files import sync_soon

FILES_DDL = "table string not null, name string not null, size_bytes bigint not null, stats string not null"
"""What a task returns of the file it wrote, see `DataFile`."""

ROW_GROUP_ROWS = 131_072
"""Rows held before they are written, at most: about 60 MB of entries."""

MAX_BOUND_CHARACTERS = 256
"""Of a longer text its bound has the beginning, so that hostile names do not swell the log."""

_LAST_CHARACTER = chr(0x10FFFF)
_EPOCH = "1970-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class DataFile:
    """A finished file.

    Attributes:
        table: name of its table.
        name: file name within the table's folder.
        size_bytes: its size.
        stats: statistics, as JSON of the Delta protocol.
    """

    table: str
    name: str
    size_bytes: int
    stats: str


class DataFileWriter:
    """Collects batches into one Parquet file with its statistics; nothing is made before the first row."""

    def __init__(self, place: Place, schema: pa.Schema, table: Table) -> None:
        self._place, self._schema, self._table = place, schema, table
        self._name = f"{place.prefix}{uuid4()}.zstd.parquet"
        self._file: NewFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._bounds = {name: _Bounds() for name in table.statistics}
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; they are written once a row group is full."""
        # Not `nbytes`: it reads offsets that Java's Arrow leaves out of empty lists, and crashes.
        size, most = batch.get_total_buffer_size(), self._table.row_group_bytes
        step = max(1, batch.num_rows * most // max(size, 1))
        for first in range(0, batch.num_rows, step):
            part = batch.slice(first, step)
            self._waiting.append(part)
            self._waiting_rows += part.num_rows
            self._waiting_bytes += size * part.num_rows // batch.num_rows
            if step < batch.num_rows or self._waiting_rows >= ROW_GROUP_ROWS or self._waiting_bytes >= most:
                self._flush()

    def close(self) -> DataFile | None:
        """Write what waits and end the file; None when there was no row."""
        if self._waiting_rows:
            self._flush()
        if self._writer is None or self._file is None:
            return None
        self._writer.close()
        return DataFile(self._table.name, self._name, self._file.keep(), self._stats())

    def _flush(self) -> None:
        # A null in a column that must not be null stops here.
        rows = pa.Table.from_batches(self._waiting).unify_dictionaries().cast(self._schema)
        if self._writer is None:
            self._file = self._place.new_file(self._name)
            self._writer = parquet_writer(self._file.sink, self._schema, self._table)
        self._writer.write_table(rows, row_group_size=rows.num_rows)
        for name, bounds in self._bounds.items():
            bounds.widen(rows.column(name))
        self._rows += rows.num_rows
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def _stats(self) -> str:
        """Statistics with bounds of all columns that should have some, or of none.

        A bound that is missing beside others is one that no value meets to delta-rs, so that it skips the file.
        """
        stats: dict[str, Any] = {"numRecords": self._rows}
        if self._bounds:
            stats["nullCount"] = {name: bounds.nulls for name, bounds in self._bounds.items()}
            limits = {name: bounds.limits(self._schema.field(name).type) for name, bounds in self._bounds.items()}
            limits_known = {name: limit for name, limit in limits.items() if limit is not None}
            if len(limits_known) == len(limits):
                stats["minValues"] = {name: low for name, (low, _) in limits_known.items()}
                stats["maxValues"] = {name: high for name, (_, high) in limits_known.items()}
        return json.dumps(stats)


def parquet_writer(sink: Path | BinaryIO, schema: pa.Schema, table: Table) -> pq.ParquetWriter:
    """A writer with the settings of all our files; where rows come with dictionaries, readers get plain texts."""
    is_plain = not any(pa.types.is_dictionary(field.type) for field in schema)
    settings = encodings(schema, table) | {"store_schema": is_plain}
    return pq.ParquetWriter(sink, schema, compression="zstd", compression_level=1, **settings)


def encodings(schema: pa.Schema, table: Table) -> dict[str, Any]:
    """How a writer puts down values: numbers as differences where a table says so, what repeats by a dictionary."""
    return {
        "use_dictionary": list(set(table.column_names()).difference(table.unrepeated())),
        "column_encoding": {_numbers_of(schema.field(name)): "DELTA_BINARY_PACKED" for name in table.ascending},
    }


def _numbers_of(field: pa.Field) -> str:
    """Where Parquet has the numbers of a column that may be a list."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name


def rows_in_file(file: Any) -> int:
    """How many rows a finished file has, of a row of `FILES_DDL`."""
    return int(json.loads(file["stats"])["numRecords"])


class NewFile(Protocol):
    """A file that is being written."""

    @property
    def sink(self) -> Path | BinaryIO:
        """What Parquet's writer takes."""

    def keep(self) -> int:
        """Let it lie in its place, whole: its bytes. It is there to stay when it is committed (`DeltaLog.settle`)."""


class Place(Protocol):
    """Where files of a table's new rows go; it is sent to tasks."""

    @property
    def prefix(self) -> str:
        """What the names of its files begin with."""

    def new_file(self, name: str) -> NewFile:
        """Begin a file."""


@dataclass(frozen=True)
class FolderPlace:
    """A folder that tasks and driver share."""

    folder: Path
    prefix: str

    def new_file(self, name: str) -> NewFile:
        """Begin a file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return _InFolder(self.folder / name)


@dataclass(frozen=True)
class _InFolder:
    sink: Path

    def keep(self) -> int:
        sync_soon(self.sink)
        return self.sink.stat().st_size


@dataclass(frozen=True)
class BucketPlace:
    """A prefix of a bucket, as Spark calls it. An object is whole or not there.

    Attributes:
        address: of the table.
        endpoint: of its service, where it is not the cloud's own; credentials are those of the machine that writes.
        prefix: what names of files begin with.
    """

    address: str
    endpoint: str | None
    prefix: str

    def new_file(self, name: str) -> NewFile:
        """Begin a file."""
        return _InBucket(self, name)


class _InBucket:
    def __init__(self, place: BucketPlace, name: str) -> None:
        # Without a name on the disk: a task that is killed leaves nothing behind. Payloads may be in it.
        self.sink: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it lies in the bucket
        self._place, self._name = place, name

    def keep(self) -> int:
        with self.sink:
            size = self.sink.seek(0, os.SEEK_END)
            output_bucket(self._place.address, self._place.endpoint).put(self._name, self.sink)
        return size


def write_data_file(
    batches: Iterable[pa.RecordBatch], place: Place, schema: pa.Schema, table: Table
) -> Iterator[pa.RecordBatch]:
    """Write all rows of one task into one file; a row of `FILES_DDL` when there was any row."""
    yield from write_data_files(((table.name, batch) for batch in batches), {table.name: (place, schema, table)})


def write_data_files(
    rows: Iterable[tuple[str, pa.RecordBatch]], tables: Mapping[str, tuple[Place, pa.Schema, Table]]
) -> Iterator[pa.RecordBatch]:
    """Write rows of several tables, each named, into a file for each; a row of `FILES_DDL` for each that has any."""
    writers = {name: DataFileWriter(place, schema, table) for name, (place, schema, table) in tables.items()}
    for name, batch in rows:
        writers[name].add(batch)
    files = [file for writer in writers.values() if (file := writer.close()) is not None]
    if files:
        yield pa.RecordBatch.from_pylist([asdict(file) for file in files])


class _Bounds:
    """Smallest and largest value of one column, and how many are null."""

    def __init__(self) -> None:
        self.low: Any = None
        self.high: Any = None
        self.nulls = 0

    def widen(self, values: pa.ChunkedArray) -> None:
        self.nulls += values.null_count
        if pa.types.is_dictionary(values.type):
            values = _of_dictionary(values)
        bounds: Mapping[str, Any] = pc.min_max(values).as_py()
        if bounds["min"] is None:
            return
        self.low = bounds["min"] if self.low is None else min(self.low, bounds["min"])
        self.high = bounds["max"] if self.high is None else max(self.high, bounds["max"])

    def limits(self, kind: pa.DataType) -> tuple[Any, Any] | None:
        """Both bounds as the protocol writes them; None where it has no way to write them.

        Of nulls alone every bound is true. Written are those of empty text or of 1970, which nobody sees; of numbers
        none are written, for Spark answers `min` and `max` of numbers by the bounds.
        """
        if self.low is None:
            is_text = pa.types.is_string(kind) or pa.types.is_dictionary(kind)
            neutral = "" if is_text else _EPOCH if pa.types.is_timestamp(kind) else None
            return None if neutral is None else (neutral, neutral)
        if isinstance(self.low, str):
            high = _above(self.high)
            return None if high is None else (self.low[:MAX_BOUND_CHARACTERS], high)
        return _as_json(self.low), _as_json(self.high)


def _of_dictionary(values: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """The values that occur in a column whose chunks have one dictionary."""
    one = values.chunk(0).dictionary
    if len(one) == 1 and values.null_count < len(values):
        return one
    return values.unique().dictionary_decode()  # by their numbers


def _above(text: str) -> str | None:
    """A short text that sorts no earlier; None where all such are long."""
    if len(text) <= MAX_BOUND_CHARACTERS:
        return text
    is_last = text[MAX_BOUND_CHARACTERS] == _LAST_CHARACTER
    return None if is_last else text[:MAX_BOUND_CHARACTERS] + _LAST_CHARACTER


def _as_json(value: Any) -> Any:
    """A bound as the protocol writes it: times to the millisecond below, as readers expect them."""
    if isinstance(value, datetime):
        return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
    return value
