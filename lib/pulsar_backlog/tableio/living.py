"""Rows of ledgers that the source still holds: what every job reads of the tables that are written ledger by ledger.

Rows of ledgers that are gone stay in those tables as history; `gone_ledgers` says which they are.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.tableio.delta import exists, read_table, small_rows
from pulsar_backlog.tables import TABLES, Table

GONE = TABLES["gone_ledgers"]
BY_LEDGER = frozenset(name for name, table in TABLES.items() if table.slice_columns == ("cluster", "ledger_id"))
"""Tables that are written ledger by ledger, so that rows of ledgers that are gone stay in them."""


def living_rows(spark: SparkSession, out: str, table: Table) -> DataFrame:
    """A table without the rows of ledgers that are gone; an empty frame when it was never written."""
    rows = read_table(spark, out, table)
    if table.name not in BY_LEDGER or not _any_gone(spark, out):
        return rows
    gone = read_table(spark, out, GONE).select("cluster", "ledger_id")
    return rows.join(f.broadcast(gone), on=["cluster", "ledger_id"], how="left_anti").select(*rows.columns)


def _any_gone(spark: SparkSession, out: str) -> bool:
    few = small_rows(out, GONE)
    return exists(spark, out, GONE) if few is None else few.num_rows > 0
