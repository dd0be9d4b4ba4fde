"""Small tables, on this machine's disk or in a bucket: their rows are held by this process, and handed from job to job.

An audit asks hundreds of small questions of tables of a few hundred rows. Delta's Spark reader and writer plan several
queries for each; here a table is read once from its files and written as one file and one commit. What is larger than
the bounds below goes through Spark, behind the same functions (`tableio/delta.py`).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.places import lost_file
from pulsar_backlog.tableio.table_logs import own_log
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.arrow import arrow_schema

MAX_ROWS = 50_000
"""Rows of a table that is held, at most."""
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of its files, at most."""
NEVER = ("entries", "messages")
"""Tables that are not held: one is only counted, the other has payloads, so that its rows may be large."""
MAX_TABLES = 64
"""Tables held at once: those of two audits."""


@dataclass(frozen=True)
class _Held:
    identity: tuple[str, int]
    rows: pa.Table


_held: OrderedDict[str, _Held] = OrderedDict()


def held_rows(out: str, table: Table) -> pa.Table | None:
    """All rows of a small table, in columns of the contract; None where the table is large or left to Spark.

    A table that was never written has no rows.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: its log, or one of its files, is damaged or gone.
    """
    log = None if table.name in NEVER else own_log(out, table)
    return None if log is None else rows_in(log, table)


def rows_in(log: DeltaLog, table: Table) -> pa.Table | None:
    """The same of a table whose log is open."""
    identity = log.identity
    known = _held.get(log.path)
    if known is not None and known.identity == identity:
        return known.rows
    files = log.files()
    if table.name in NEVER or not log.is_plain or not log.has_columns_of(table) or not _is_small(files):
        return None
    schema = arrow_schema(table)
    read = [_rows_of(log, path) for path, _size, _rows in files]
    rows = pa.concat_tables([one.select(schema.names).cast(schema) for one in read] or [schema.empty_table()])
    hold(log.path, identity, rows)
    return rows


def hold(path: str, identity: tuple[str, int], rows: pa.Table) -> None:
    """Keep the rows of the table at a path at hand for who asks next."""
    _held[path] = _Held(identity, rows)
    _held.move_to_end(path)
    while len(_held) > MAX_TABLES:
        _held.popitem(last=False)


def _rows_of(log: DeltaLog, file: str) -> pa.Table:
    try:
        return log.read(file)
    except (pa.ArrowException, OSError) as error:
        raise lost_file(f"{log.path}/{file}", str(error).partition("\n")[0]) from error


def _is_small(files: list[tuple[str, int, int | None]]) -> bool:
    rows = [rows for _path, _size, rows in files]
    known = [count for count in rows if count is not None]
    return len(known) == len(rows) and sum(known) <= MAX_ROWS and sum(size for _path, size, _rows in files) <= MAX_BYTES
