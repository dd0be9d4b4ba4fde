"""What the tables say of internal ledgers; no JVM is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.internals.kinds import KINDS
from pulsar_backlog.internals.verdicts import VERDICTS
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.recorded import cluster_of

_QUERY = "SELECT 1 FROM internal_ledgers"
_ROWS_AT_ONCE = 1000
_TIMES = "created_time AT TIME ZONE 'UTC' AS created_time"


@dataclass(frozen=True)
class InternalLedgers:
    """Rows of `internal_ledgers`.

    Attributes:
        connection: to the tables.
        where: which rows, as SQL.
    """

    connection: duckdb.DuckDBPyConnection
    where: str

    def counts(self) -> list[dict[str, Any]]:
        """Ledgers by kind, in the order of kinds: how many there are of each verdict, entries, entries not read."""
        verdicts = ", ".join(f"count(*) FILTER (verdict = {literal(one)}) AS {one}" for one in VERDICTS)
        rows = rows_of(
            self.connection,
            f"SELECT kind, count(*) AS ledgers, {verdicts}, CAST(sum(entries) AS BIGINT) AS entries, "  # noqa: S608
            f"CAST(sum(unread_entries) AS BIGINT) AS unread_entries FROM internal_ledgers WHERE {self.where} "
            "GROUP BY kind",
        )
        order = list(KINDS)
        return sorted(rows, key=lambda row: order.index(row["kind"]) if row["kind"] in order else len(order))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, the worst verdict first, then by kind and ledger, as they are read."""
        rank = " ".join(f"WHEN {literal(one)} THEN {number}" for number, one in enumerate(VERDICTS))
        cursor = self.connection.execute(
            f"SELECT * REPLACE ({_TIMES}) FROM internal_ledgers WHERE {self.where} "  # noqa: S608 - quoted
            f"ORDER BY CASE verdict {rank} ELSE 9 END, kind, ledger_id"
        )
        names = [one[0] for one in cursor.description or ()]
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                yield dict(zip(names, row, strict=True))


@contextmanager
def internal_ledgers(
    out: str, cluster: str | None, kind: str | None, verdict: str | None, endpoint: str | None = None
) -> Iterator[InternalLedgers]:
    """Internal ledgers in the tables of `out`, of the cluster that is named, or of the only one.

    Raises:
        UsageError: no audit decoded any, or there is no such kind or verdict.
    """
    for given, choices, word in ((kind, tuple(KINDS), "--kind"), (verdict, VERDICTS, "--verdict")):
        if given is not None and given not in choices:
            raise UsageError(f"{word} {given}: there is no such one, only {', '.join(choices)}")
    of_cluster = cluster_of(out, cluster, endpoint)
    with opened(out, _QUERY, endpoint) as connection:
        conditions = [f"cluster = {literal(of_cluster)}"]
        conditions += [f"kind = {literal(kind)}"] if kind else []
        conditions += [f"verdict = {literal(verdict)}"] if verdict else []
        yield InternalLedgers(connection, " AND ".join(conditions))
