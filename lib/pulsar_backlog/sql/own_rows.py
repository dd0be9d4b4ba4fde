"""The rows of one cluster in tables that hold several, as DuckDB reads them; of some topics, where a job does those."""

from __future__ import annotations

from collections.abc import Collection

import duckdb
import pyarrow as pa

from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.tableio.living import BY_LEDGER, BY_TOPIC, GONE

_TOPICS = "topics_of_the_job"


def own_rows(name: str, cluster: str) -> str:
    """SQL of the rows of a cluster, of ledgers that are not gone."""
    mine = f"SELECT * FROM memory.main.{name} WHERE cluster = {cluster}"  # noqa: S608 - quoted
    gone = f"SELECT ledger_id FROM memory.main.{GONE.name} WHERE cluster = {cluster}"  # noqa: S608 - quoted
    return f"{mine} AND ledger_id NOT IN ({gone})" if name in BY_LEDGER else mine


def name_own_rows(
    connection: duckdb.DuckDBPyConnection, names: Collection[str], cluster: str, topics: Collection[str] | None
) -> None:
    """Let the names of tables mean a cluster's rows; those of some topics, which are few, are read once.

    Args:
        connection: knows the tables.
        names: of them.
        cluster: whose rows.
        topics: of which topics; None for all.
    """
    if topics is not None:
        connection.register(_TOPICS, pa.table({"topic": pa.array(sorted(topics), pa.string())}))
    for name in names:
        rows = own_rows(name, literal(cluster))
        if topics is None or name not in BY_TOPIC:
            connection.execute(f"CREATE TEMP VIEW {name} AS {rows}")
        else:
            connection.execute(f"CREATE TEMP TABLE {name} AS {rows} AND topic IN (SELECT topic FROM {_TOPICS})")  # noqa: S608 - quoted
