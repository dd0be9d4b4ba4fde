"""Rows of `changes` since a time or a run; no JVM is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import parse_instant
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.recorded import cluster_of

_TABLES = "SELECT 1 FROM changes, problems"
_ROWS_AT_ONCE = 1000
_COLUMNS = (
    "change, severity, kind, code, topic, subscription, subject, message, count, count_before, reason, "
    "acknowledged_by, acknowledged_until, identity, run_id"
)
_TIMES = ("compared_at", "first_seen", "last_seen", "healed_at", "gone_at")
_ORDER = (
    "compared_at, list_position(['new', 'back', 'worse', 'healed', 'gone'], change), "
    "list_position(['error', 'warning', 'info'], severity), count DESC, identity"
)


@dataclass(frozen=True)
class Changes:
    """Changes of one cluster.

    Attributes:
        since: when the first comparison was that they are of, UTC.
    """

    connection: duckdb.DuckDBPyConnection
    cluster: str
    since: datetime

    @property
    def _mine(self) -> str:
        at = literal(self.since.isoformat())
        return f"cluster = {literal(self.cluster)} AND compared_at >= CAST({at} AS TIMESTAMP WITH TIME ZONE)"

    def counts(self) -> dict[tuple[str, str], int]:
        """Changes by change and severity."""
        query = f"SELECT change, severity, count(*) AS n FROM changes WHERE {self._mine} GROUP BY ALL"  # noqa: S608
        return {(row["change"], row["severity"]): row["n"] for row in rows_of(self.connection, query)}

    def rows(self) -> Iterator[dict[str, Any]]:
        """The changes, comparison by comparison, the most urgent of each first; as they are read."""
        times = ", ".join(f"epoch_ms({name}) AS {name}_ms" for name in _TIMES)
        query = f"SELECT {_COLUMNS}, {times} FROM changes WHERE {self._mine} ORDER BY {_ORDER}"  # noqa: S608 - quoted
        cursor = self.connection.execute(query)
        names = [column[0] for column in cursor.description or ()]
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield from (dict(zip(names, row, strict=True)) for row in rows)


@contextmanager
def changes_since(out: str, since: str | None, named: str | None, endpoint: str | None = None) -> Iterator[Changes]:
    """The changes of the cluster that is named, or of the only one.

    Args:
        out: folder or bucket of the tables.
        since: a time, a run, or None for the last comparison.
        named: cluster.
        endpoint: of the bucket.

    Raises:
        UsageError: there is no comparison yet, or none of that run.
    """
    cluster = cluster_of(out, named, endpoint)
    with opened(out, _TABLES, endpoint) as connection:
        yield Changes(connection, cluster, _beginning(connection, out, cluster, since))


def _beginning(connection: duckdb.DuckDBPyConnection, out: str, cluster: str, since: str | None) -> datetime:
    both = " UNION ALL ".join(
        f"SELECT run_id, max(compared_at) AS compared FROM {table} WHERE cluster = {literal(cluster)} GROUP BY run_id"  # noqa: S608
        for table in ("problems", "changes")
    )
    times = rows_of(connection, f"SELECT * FROM ({both}) ORDER BY compared")  # noqa: S608 - quoted
    runs: dict[str, datetime] = {row["run_id"]: row["compared"] for row in times}
    if not runs:
        raise UsageError(f"{out} holds no comparison of audits of cluster {cluster!r}: audit it first")
    if since is None:
        return max(runs.values())
    try:
        return parse_instant(since)
    except ValueError:
        pass
    named = [at for run_id, at in runs.items() if run_id.startswith(since)]
    if len(named) != 1:
        what = (
            "several runs begin so" if named else "no time such as 2026-11-21T03:00:00Z, and no run of compare_audits"
        )
        raise UsageError(f"--since {since}: {what}")
    return named[0]
