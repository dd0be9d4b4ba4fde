"""Rows of ledgers that the source still holds: what every job reads of the tables that are written ledger by ledger.

Rows of ledgers that are gone stay in those tables as history; `gone_ledgers` says which they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GONE = TABLES["gone_ledgers"]
BY_LEDGER = frozenset(name for name, table in TABLES.items() if table.slice_columns == ("cluster", "ledger_id"))
"""Tables that are written ledger by ledger, so that rows of ledgers that are gone stay in them."""
BY_TOPIC = frozenset(name for name, table in TABLES.items() if "topic" in table.column_names()) - {
    "gone_ledgers",
    "rejects",
    "saved_states",
    "topic_digests",
}
"""Tables of which a job that does some topics sees their rows alone; the others it asks by ledger, or as a whole."""


def living_rows(store: TableStore, table: Table) -> DataFrame:
    """A table without the rows of ledgers that are gone; an empty frame when it was never written."""
    rows = store.frame(table)
    if table.name not in BY_LEDGER or not _any_gone(store):
        return rows
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    gone = store.frame(GONE).select("cluster", "ledger_id")
    return rows.join(f.broadcast(gone), on=["cluster", "ledger_id"], how="left_anti").select(*rows.columns)


def _any_gone(store: TableStore) -> bool:
    few = store.small_rows(GONE)
    return store.exists(GONE) if few is None else few.num_rows > 0
