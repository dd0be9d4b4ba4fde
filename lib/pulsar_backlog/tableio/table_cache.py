"""Rows of small tables, in this process: read once from their files, and handed from job to job.

An audit asks hundreds of small questions of tables of a few hundred rows. Delta's Spark reader and writer plan several
queries for each; here a table is read once, and written as one file and one commit. What is larger than the bounds
below goes through Spark, behind the same functions (`tableio/store.py`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pulsar_backlog.tableio.delta_log import DeltaLog, TableFile
from pulsar_backlog.tableio.places import lost_file
from pulsar_backlog.tableio.table_logs import log_without_spark
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.arrow import arrow_schema

MAX_ROWS = 50_000
"""Rows of a table that is cached, at most."""
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of its files, at most."""
MANY_BYTES = 16 * 1024 * 1024
"""Bytes of the files of a table that is read as a whole without being cached, at most."""
MAX_MEMORY_BYTES = 64 * 1024 * 1024
"""Of rows with long lists in memory, at most, of a table that is cached: lists of regular numbers take a thousandth
of it in their files."""
MANY_MEMORY_BYTES = 256 * 1024 * 1024
"""The same of a table that is read as a whole without being cached."""
LARGE_ROW_FILE_BYTES = 1024
"""A file with more bytes than that for each row has rows of long lists: the most regular full span takes 1.5 kB."""
UNCACHED_TABLES = ("entries", "messages")
"""Tables that are not cached: one is only counted, the other has payloads, so that its rows may be large."""
MAX_TABLES = 64
"""Tables cached at once: those of two audits."""


@dataclass(frozen=True)
class CachedTable:
    """Rows of a table, and the state of it that they are of (`DeltaLog.identity`)."""

    identity: tuple[str, int]
    rows: pa.Table


_tables: OrderedDict[str, CachedTable] = OrderedDict()


def small_rows(out: str, table: Table) -> pa.Table | None:
    """All rows of a small table, in columns of the contract; None where the table is large or left to Spark.

    A table that was never written has no rows.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: its log, or one of its files, is damaged or gone.
    """
    log = None if table.name in UNCACHED_TABLES else log_without_spark(out, table)
    return None if log is None else rows_of(log, table)


def is_small(out: str, table: Table) -> bool:
    """Whether `small_rows` has the rows of a table, by its log; no file of it is read."""
    log = None if table.name in UNCACHED_TABLES else log_without_spark(out, table)
    return log is not None and log.is_plain and _is_small(table, log.files())


def rows_of(log: DeltaLog, table: Table) -> pa.Table | None:
    """The same of a table whose log is open."""
    identity = log.identity
    cached = _tables.get(log.path)
    if cached is not None and cached.identity == identity:
        return cached.rows
    files = log.files()
    if table.name in UNCACHED_TABLES or not log.is_plain or not log.fits(table) or not _is_small(table, files):
        return None
    schema = arrow_schema(table)
    read = [_rows_in_file(log, file.path) for file in files]
    rows = pa.concat_tables([fitted(one, schema) for one in read] or [schema.empty_table()])
    cache(log.path, identity, rows)
    return rows


def many_rows(log: DeltaLog, table: Table) -> pa.Table | None:
    """All rows of a table that is larger, up to `MANY_BYTES` of files; None where it has more, or is left to Spark.

    Files come by the keys of their first rows.
    """
    if not log.is_plain or not log.fits(table) or log.size_bytes > MANY_BYTES:
        return None
    files = log.files()
    if _memory_bytes(table, files) > MANY_MEMORY_BYTES:
        return None
    schema = arrow_schema(table)
    read = [fitted(_rows_in_file(log, file.path), schema) for file in files]
    by_key = sorted((one for one in read if one.num_rows), key=lambda rows: _first_key(rows, table))
    return pa.concat_tables(by_key or [schema.empty_table()])


def _first_key(rows: pa.Table, table: Table) -> list[tuple[bool, Any]]:
    """The key of the first row; columns that are null come last, as Arrow sorts."""
    values = (rows.column(name)[0].as_py() for name in table.key)
    return [(value is None, value) for value in values]


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of a file in the contract's columns; those that were added after it was written are null."""
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(schema.names).cast(schema)


def cache(path: str, identity: tuple[str, int], rows: pa.Table) -> None:
    """Have the rows of the table at a path at hand for the next reader."""
    _tables[path] = CachedTable(identity, rows)
    _tables.move_to_end(path)
    while len(_tables) > MAX_TABLES:
        _tables.popitem(last=False)


def clear() -> None:
    """Forget all, as another process begins."""
    _tables.clear()


def rows_of_file(
    log: DeltaLog, file: str, batch_rows: int, names: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a file of a table, which need not be small.

    Args:
        log: of the table.
        file: path within the table.
        batch_rows: rows of a batch, at most.
        names: of the columns that are read; None for all.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: it is damaged or gone.
    """
    with readable(log, file):
        yield from log.open_file(file).iter_batches(batch_rows, columns=names)


def _rows_in_file(log: DeltaLog, file: str) -> pa.Table:
    with readable(log, file):
        return log.read(file)


@contextmanager
def readable(log: DeltaLog, file: str) -> Iterator[None]:
    """A file of a table is read: where it is damaged or gone that is one sentence."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise lost_file(f"{log.path}/{file}", str(error).partition("\n")[0]) from error


def _memory_bytes(table: Table, files: list[TableFile]) -> int:
    """What rows with long lists take in memory, at most; their files do not tell."""
    large_rows = [file.rows for file in files if file.rows and file.size_bytes > LARGE_ROW_FILE_BYTES * file.rows]
    return sum(large_rows) * table.largest_row_bytes


def _is_small(table: Table, files: list[TableFile]) -> bool:
    """Whether the rows of files are few; false where the log does not say how many one has."""
    rows = [file.rows for file in files if file.rows is not None]
    if len(rows) < len(files) or _memory_bytes(table, files) > MAX_MEMORY_BYTES:
        return False
    return sum(rows) <= MAX_ROWS and sum(file.size_bytes for file in files) <= MAX_BYTES
