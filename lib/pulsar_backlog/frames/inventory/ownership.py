"""Second step of a large inventory: what all ledgers together show, by rows of `inventory` of the first.

A place belongs to the clusters that wrote its current copies (`ownership_of`). Copies of another cluster are not
called needless there (`owned`): every row is looked at again, and counted for findings.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.packed import PACKED_DDL, opened, packed
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.reconciliation.compare import Ownership, owned
from pulsar_backlog.reconciliation.findings import Tallies, merged, tallied
from pulsar_backlog.reconciliation.values import Judged
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

_TALLIES = pa.schema([("tallies", pa.binary())])
"""Rows that are no table: sums of one batch, pickled from one process of this program to another."""


def ownership_of(inventory: DataFrame) -> Ownership:
    """Whose the place is: one row for each Pulsar cluster that wrote a current copy."""
    current = inventory.filter(f.col("verdict") == "current").select("verdict", "pulsar_cluster").distinct()
    return Ownership.of((row["verdict"], row["pulsar_cluster"]) for row in current.collect())


def owned_rows(comparison: DataFrame, ownership: Ownership, scope: Scope) -> DataFrame:
    """Packed rows of `inventory` within the scope, and `tallies` of all of them, by whose the place is.

    Args:
        comparison: packed rows as `compare_ledgers` gives them.
        ownership: of the place.
        scope: ledgers of which rows are wanted.
    """

    def own(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for _, inventory in opened(batch):
                rows = [_owned(row, ownership) for row in inventory.to_pylist()]
                yield from packed([("inventory", _inside(rows, scope)), ("tallies", _tallies(rows))])

    return comparison.filter(f.col("table") == "inventory").mapInArrow(quiet(own), PACKED_DDL)


def tallies_of(rows: DataFrame) -> Tallies:
    """The tallies that tasks counted, together; of packed rows as `owned_rows` gives them."""
    counted = rows.filter(f.col("table") == "tallies").select("rows").collect()
    tables = (pa.ipc.open_stream(row["rows"]).read_all() for row in counted)
    return merged(pickle.loads(one) for table in tables for one in table["tallies"].to_pylist())  # noqa: S301 - our own


def _owned(row: dict[str, Any], ownership: Ownership) -> dict[str, Any]:
    """A row of `inventory` with the verdict that it has in a place of this ownership."""
    judged = Judged(row["verdict"], row["reason"], row["current_copy"])
    judged, leaks, needs_sole_owner = owned(judged, row["pulsar_cluster"], ownership)
    return row | asdict(judged) | {"leaks": leaks, "needs_sole_owner": needs_sole_owner}


def _inside(rows: list[dict[str, Any]], scope: Scope) -> pa.RecordBatch:
    inside = [row for row in rows if scope.names(row["topic"]) and scope.holds_id(row["ledger_id"])]
    return pa.RecordBatch.from_pylist(inside, schema=arrow_schema(TABLES["inventory"]))


def _tallies(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"tallies": pickle.dumps(tallied(rows))}], schema=_TALLIES)
