"""Rows of the tables of internal ledgers, a table for each kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from pulsar_backlog.internals.decoding import DecodedLedger
from pulsar_backlog.internals.references import Knowledge
from pulsar_backlog.internals.summaries import (
    bucket_rows,
    compacted_rows,
    deduplication_rows,
    mark_current,
    mark_outcomes,
    schema_rows,
)
from pulsar_backlog.steps.internal_names import TABLES_OF_KINDS
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

Row = dict[str, Any]


def tables_of(
    cluster: str, knowledge: Knowledge, decoded: list[DecodedLedger], ledgers: list[Row]
) -> dict[str, pa.Table]:
    """Rows by table; every table of a kind is there, and `internal_ledgers` with the rows `ledgers`."""
    tables: dict[str, Iterable[Row]] = {
        "schema_versions": schema_rows(knowledge, decoded),
        "compacted_ledgers": compacted_rows(knowledge, decoded),
        "deduplication_snapshots": deduplication_rows(knowledge, decoded),
        "delayed_buckets": bucket_rows(knowledge, ledgers, decoded),
        "internal_ledgers": ledgers,
    }
    for table, kinds in TABLES_OF_KINDS.items():
        rows = [row for one in decoded if one.name.kind in kinds for row in one.rows]
        if table in ("topic_policies", "transaction_snapshots"):
            mark_current(rows)
        if table == "pending_acks":
            mark_outcomes(knowledge, rows)
        tables[table] = rows
    return {table: as_table(table, cluster, rows) for table, rows in tables.items()}


def as_table(table: str, cluster: str, rows: Iterable[Row]) -> pa.Table:
    """Rows of a table, as its contract has them; columns that a row lacks are null, others are left out."""
    schema = arrow_schema(TABLES[table])
    return pa.Table.from_pylist([{**row, "cluster": cluster} for row in rows], schema=schema)
