"""What tasks of a query do with the rows of their files, and where they leave what they make."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import parquet

from pulsar_backlog.output.data_files import Place, write_data_files
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import OverBatches

Making: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[tuple[str, pa.RecordBatch]]]
"""What a task makes of its rows: rows of tables, each batch with the name of its table."""

GROUP_ROWS = 65_536
"""Rows of a row group of `IntoFiles`, about."""
GROUP_BYTES = 32 * 1024 * 1024
"""Bytes of one, about, where its rows are large."""


@dataclass(frozen=True)
class FileTask:
    """What a task does with its file: few rows come of it."""

    batch_fn: OverBatches

    def __call__(self, path: str) -> list[dict[str, Any]]:
        """The rows that are made of a file of Arrow's batches."""
        with pa.memory_map(path) as file:
            return [row for batch in self.batch_fn(pa.ipc.open_stream(file)) for row in batch.to_pylist()]


@dataclass(frozen=True)
class IntoFiles:
    """What `batch_fn` makes, written to a Parquet file for each task: a row with its path."""

    batch_fn: OverBatches
    folder: Path
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write what is made of the batches of a task."""
        path = self.folder / f"{uuid.uuid4()}.parquet"
        with parquet.ParquetWriter(path, self.schema) as writer:
            for rows in _row_groups(self.batch_fn(batches), self.schema):
                writer.write_table(rows, row_group_size=rows.num_rows)
        yield pa.RecordBatch.from_pydict({"path": [str(path)]})


def _row_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Batches joined: who reads the file holds what it says of each row group, which is more than a few rows are."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.get_total_buffer_size()
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


@dataclass(frozen=True)
class IntoTables:
    """What a task makes, written into files of tables: a row of `FILES_DDL` for each."""

    making: Making
    places: Mapping[str, Place]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write what is made of the batches of a task."""
        goals = {name: (place, arrow_schema(TABLES[name]), TABLES[name]) for name, place in self.places.items()}
        yield from write_data_files(self.making(batches), goals)
