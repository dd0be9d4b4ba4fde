"""Files of a table with rows of a slice, found and read in this process where bounds tell or few bytes do."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.table_cache import fitted, rows_of_file
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.arrow import arrow_schema

MAX_BYTES = 256 * 1024 * 1024
"""Bytes of the files that are looked at, at most; where there are more Spark looks at them."""
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of one of them, at most."""
BATCH_ROWS = 65_536


class Part(Enum):
    """How much of a file a slice is."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


def parts_of_files(log: DeltaLog, table: Table, part: Slice) -> dict[str, Part] | None:
    """How much of each file of a table a slice is; None where too much would have to be read to tell.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: a file is damaged or gone.
    """
    names = [name for name, _values in (*part.only, *part.but)]
    bounds = log.bounds([name for name in names if name in table.statistics])
    parts = {path: _part_by_bounds(part, of_file) for path, of_file in bounds.items()}
    sizes = [file.size_bytes for file in log.files() if parts[file.path] in (None, Part.SOME)]
    if sum(sizes) > MAX_BYTES or max(sizes, default=0) > MAX_FILE_BYTES:
        return None
    return {path: one or _part_by_rows(log, path, part, names) for path, one in parts.items()}


def rows_outside(log: DeltaLog, path: str, table: Table, part: Slice) -> Iterator[pa.RecordBatch]:
    """Rows of a file that lie outside a slice, in columns of the contract.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: it is damaged or gone.
    """
    schema = arrow_schema(table)
    for batch in rows_of_file(log, path, BATCH_ROWS):
        rows = fitted(pa.Table.from_batches([batch]), schema)
        yield from rows.filter(pc.invert(part.mask(rows))).to_batches()


def _part_by_bounds(part: Slice, bounds: dict[str, tuple[Any, Any, int | None]]) -> Part | None:
    """What the statistics of a file tell: smallest and largest value, and nulls, of columns; None where they do not."""
    limits = {name: one for name, one in bounds.items() if one[0] is not None and one[1] is not None}
    for name, values in part.only:
        if name in limits and not any(limits[name][0] <= value <= limits[name][1] for value in values):
            return Part.NONE
    is_all = all(
        name in limits and limits[name][0] == limits[name][1] in values and limits[name][2] == 0
        for name, values in part.only
    )
    return Part.ALL if is_all and not part.but else None


def _part_by_rows(log: DeltaLog, path: str, part: Slice, names: list[str]) -> Part:
    inside = rows = 0
    for batch in rows_of_file(log, path, BATCH_ROWS, names):
        inside += pc.sum(part.mask(pa.Table.from_batches([batch]))).as_py() or 0
        rows += batch.num_rows
    return Part.NONE if not inside else Part.ALL if inside == rows else Part.SOME
