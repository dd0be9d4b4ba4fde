"""Rows of what is gone for longer than `--keep-days`: which they are, and their removal.

ledgers that left the source     their rows in all tables that are written ledger by ledger
problems that are healed         their row of `problems`; rows of `changes` and `backlogs` by the
                                 comparison that wrote them
runs                             but for the newest of each job, by which later runs go
saved state of topics            that newer saved state lacks, and of which no ledger is stored

Exports (`messages`) and repair plans are people's own, and stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as f

from pulsar_backlog.grouping import groups_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.tableio.living import BY_LEDGER, GONE
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

_AT_ONCE = 5_000
"""Values that one write names at most."""


@dataclass(frozen=True)
class OldRows:
    """Rows of one table that have stayed long enough: those with one of these values in a column."""

    table: str
    column: str
    values: Sequence[Any]
    rows: int


def old_rows(context: JobContext, before: datetime) -> Iterator[OldRows]:
    """Rows of the cluster that were gone before that time, in the order in which they may be removed.

    A ledger's row in `scans` goes first, so that a ledger that comes back is read again whatever is left of it; its row
    in `gone_ledgers` goes last, so that until then nothing counts what is left.
    """
    gone = [row["ledger_id"] for row in _rows(context, "gone_ledgers") if row["gone_time"] < before]
    if gone:
        for name in ("scans", *sorted(BY_LEDGER - {"scans"}), GONE.name):
            yield from _old(context, name, "ledger_id", gone)
    healed = [row["identity"] for row in _rows(context, "problems") if row["healed_at"] and row["healed_at"] < before]
    yield from _old(context, "problems", "identity", healed)
    for name in ("changes", "backlogs"):
        compared = {row["run_id"] for row in _rows(context, name) if row["compared_at"] < before}
        yield from _old(context, name, "run_id", sorted(compared))
    yield from _old(context, "saved_states", "topic", _lost_topics(context, before))
    yield from _old(context, "runs", "run_id", _old_runs(context, before))


def remove(context: JobContext, old: OldRows) -> None:
    """Remove such rows; killed, some are left, which the next run removes."""
    table = TABLES[old.table]
    for values in groups_of(old.values, _AT_ONCE):
        part = Slice.of(cluster=context.cluster, **{old.column: values})
        context.store.replace(table, arrow_schema(table).empty_table(), part)


def _old_runs(context: JobContext, before: datetime) -> list[str]:
    runs = _rows(context, "runs")
    newest = {run["job"]: run["started"] for run in sorted(runs, key=lambda run: run["started"])}
    return [run["run_id"] for run in runs if run["started"] < before and run["started"] < newest[run["job"]]]


def _lost_topics(context: JobContext, before: datetime) -> list[str]:
    states = _rows(context, "saved_states")
    if max((state["read_time"] for state in states), default=before) <= before:
        return []  # no newer state, which would know whether the topics are there
    stored = {row["topic"] for row in _rows(context, "ledgers", "topic")}
    return [state["topic"] for state in states if state["read_time"] < before and state["topic"] not in stored]


_COLUMNS = {
    "gone_ledgers": ("ledger_id", "gone_time"),
    "problems": ("identity", "healed_at"),
    "changes": ("run_id", "compared_at"),
    "backlogs": ("run_id", "compared_at"),
    "saved_states": ("topic", "read_time"),
    "runs": ("run_id", "job", "started"),
}


def _rows(context: JobContext, name: str, *columns: str) -> list[dict[str, Any]]:
    """Rows of the cluster, of these columns, each once."""
    wanted = list(columns or _COLUMNS[name])
    rows = context.small_rows(name)
    found_rows = context.table(name).select(wanted).distinct().toArrow() if rows is None else rows.select(wanted)
    return list(found_rows.group_by(wanted).aggregate([]).to_pylist())


def _old(context: JobContext, name: str, column: str, values: Collection[Any]) -> Iterator[OldRows]:
    if values and (count := _count(context, name, column, values)):
        yield OldRows(name, column, list(values), count)


def _count(context: JobContext, name: str, column: str, values: Collection[Any]) -> int:
    part = Slice.of(cluster=context.cluster)
    rows = context.store.small_rows(TABLES[name])
    if rows is not None:
        mine = rows.filter(part.where(**{column: values}).mask(rows))
        return int(mine.num_rows)
    if not context.has(name):
        return 0
    table = context.store.frame(TABLES[name]).filter(part.column())
    chosen = context.spark.createDataFrame(pa.table({column: pa.array(list(values))}))
    return table.join(f.broadcast(chosen), on=column, how="left_semi").count()
