"""The rows of one cluster in tables that hold several, as DuckDB reads them."""

from __future__ import annotations

from pulsar_backlog.tableio.living import BY_LEDGER, GONE


def own_rows(name: str, cluster: str) -> str:
    """SQL of the rows of a cluster, of ledgers that are not gone."""
    mine = f"SELECT * FROM memory.main.{name} WHERE cluster = {cluster}"  # noqa: S608 - quoted
    gone = f"SELECT ledger_id FROM memory.main.{GONE.name} WHERE cluster = {cluster}"  # noqa: S608 - quoted
    return f"{mine} AND ledger_id NOT IN ({gone})" if name in BY_LEDGER else mine
