"""How many rows a table has of ledgers that are not gone: by statistics, and where these do not tell, by ledger ids."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.table_cache import readable

_LEDGER = "ledger_id"


def living_row_count(log: DeltaLog, cluster: str, gone: frozenset[int]) -> int | None:
    """How many rows a cluster has, but for those of ledgers that are gone; None where the log does not tell its rows.

    Of a file that has rows of both, ledger ids are read, of the row groups that may have both.

    Args:
        log: of a table that is written ledger by ledger, if any is gone.
        cluster: whose rows.
        gone: ids of its ledgers that are gone.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: a file is damaged or gone.
    """
    count = log.rows_of(cluster)
    if count is None or not gone:
        return count
    bounds, ids = log.bounds(("cluster", _LEDGER)), sorted(gone)
    for file in log.files():
        (first, *_), (low, high, _) = bounds[file.path]["cluster"], bounds[file.path][_LEDGER]
        if first != cluster:  # then no row is the cluster's, or `rows_of` would not tell
            continue
        rows = _rows_of(ids, low, high, file.rows or 0)
        if rows is None:
            with readable(log, file.path), log.open_file(file.path) as opened:
                rows = sum(_rows_in_group(ids, opened, number) for number in range(opened.num_row_groups))
        count -= rows
    return count


def _rows_of(ids: Sequence[int], low: int | None, high: int | None, rows: int) -> int | None:
    """How many of some rows are of these ledgers, by the bounds of the rows' ids; None where they do not tell."""
    if low is None or high is None:
        return None
    at = bisect_left(ids, low)
    if at == len(ids) or ids[at] > high:
        return 0
    return rows if low == high else None


def _rows_in_group(ids: Sequence[int], file: pq.ParquetFile, number: int) -> int:
    group = file.metadata.row_group(number)
    columns = (group.column(at) for at in range(group.num_columns))
    bounds = next(column.statistics for column in columns if column.path_in_schema == _LEDGER)
    has_bounds = bounds is not None and bounds.has_min_max
    rows = _rows_of(ids, bounds.min, bounds.max, group.num_rows) if has_bounds else None
    if rows is None:
        values = file.read_row_group(number, columns=[_LEDGER])[_LEDGER]
        rows = pc.sum(pc.is_in(values, pa.array(ids, pa.int64()))).as_py() or 0
    return int(rows)
