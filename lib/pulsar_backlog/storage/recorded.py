"""What earlier runs left in the tables, for commands that look before they start Spark."""

from __future__ import annotations

from pulsar_backlog.storage.duck import opened, rows_of


def recorded_clusters(out: str) -> list[str]:
    """The clusters that the tables are of.

    Raises:
        UsageError: there are no tables.
    """
    query = "SELECT DISTINCT cluster FROM runs ORDER BY cluster"
    with opened(out, query) as connection:
        return [row["cluster"] for row in rows_of(connection, query)]
