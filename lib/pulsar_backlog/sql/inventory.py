"""What the table `inventory` says of a place, added up, and what of it may go; no JVM is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.recorded import cluster_of

_QUERY = "SELECT 1 FROM stored_without_need, inventory, runs, ledger_holders"
_ROWS_AT_ONCE = 1000
_HOLDER = "concat_ws(' ', replace(holder_kind, '_', ' '), holder)"
_LATE = "CASE WHEN overdue_hours > 0 THEN concat(' (', overdue_hours, ' h late)') ELSE '' END"
"""How long ago trimming or expiry should have taken the ledger away."""
MAX_HOLDERS = 5
"""Holders of one ledger that are named."""
_SCOPE = ("topic", "ledger", "since", "until")
"""Options by which an inventory replaces what is known of some ledgers only."""


@dataclass(frozen=True)
class Sum:
    """Rows of one verdict: `stays` says why none of them is on a list, None where they are."""

    verdict: str
    copies: int
    bytes: int
    stays: str | None


@dataclass(frozen=True)
class HeldLedger:
    """A stored ledger, and who holds it: kind and name, in words; `more` are holders that are not in the list."""

    topic: str | None
    ledger_id: int
    bytes: int
    holders: list[str]
    more: int


@dataclass(frozen=True)
class SoleHolder:
    """Bytes of the ledgers that only one holder keeps."""

    topic: str | None
    holder: str
    ledgers: int
    bytes: int


@contextmanager
def inventoried(out: str, named: str | None, endpoint: str | None = None) -> Iterator[Inventoried]:
    """The inventory in the tables of `out` of the cluster that is named, or of the only one.

    Raises:
        UsageError: there is none, or it is of several places: paths in it would be taken for those of the last one.
    """
    cluster = cluster_of(out, named, endpoint)
    with opened(out, _QUERY, endpoint) as connection:
        runs = _runs(connection, cluster)
        if not runs:
            raise UsageError(f"{out} holds no inventory of cluster {cluster!r}: audit it first")
        if len(places := {(run["source"], run["endpoint"]) for run in runs}) > 1:
            raise UsageError(
                f"the inventory of cluster {cluster!r} in {out} is of several places "
                f"({', '.join(sorted(source for source, _ in places))}): audit one of them without --topic, --ledger, "
                "--since and --until, or give each an --out of its own"
            )
        yield Inventoried(connection, cluster, str(runs[0]["source"]), runs[0]["started"])


def _runs(connection: duckdb.DuckDBPyConnection, cluster: str) -> list[dict[str, Any]]:
    """Inventories of a cluster, the newest first, back to the last one that took in everything: it replaced all."""
    scoped = " OR ".join(f"len(map_extract(options, {literal(name)})) > 0" for name in _SCOPE)
    runs = rows_of(
        connection,
        "SELECT source, started AT TIME ZONE 'UTC' AS started, "  # noqa: S608 - quoted
        f"list_any_value(map_extract(options, 'endpoint')) AS endpoint, coalesce({scoped}, false) AS is_scoped "
        f"FROM runs WHERE job = 'inventory_ledgers' AND cluster = {literal(cluster)} ORDER BY started DESC",
    )
    whole = next((number for number, run in enumerate(runs) if not run["is_scoped"]), len(runs))
    return runs[: whole + 1]


@dataclass(frozen=True)
class Inventoried:
    """What a place holds, as the last inventory found it.

    Attributes:
        connection: to the tables.
        cluster: whose.
        source: where the ledgers lie.
        started: when the inventory began, UTC, without zone.
    """

    connection: duckdb.DuckDBPyConnection
    cluster: str
    source: str
    started: Any

    def sums(self, sole_owner: bool) -> list[Sum]:
        """Verdicts, each with what keeps its rows from a list; the largest first."""
        needless = (
            "SELECT verdict, count(*) AS copies, CAST(sum(bytes) AS BIGINT) AS bytes, "  # noqa: S608 - quoted
            f"CASE WHEN needs_sole_owner AND NOT {sole_owner} THEN 'owner' WHEN NOT current_is_whole THEN 'scan' END "
            f"AS stays FROM stored_without_need WHERE cluster = {literal(self.cluster)} GROUP BY ALL"
        )
        others = (
            "SELECT verdict, count(*) AS copies, CAST(sum(bytes) AS BIGINT) AS bytes, 'needed' AS stays "  # noqa: S608
            f"FROM inventory WHERE cluster = {literal(self.cluster)} AND NOT leaks GROUP BY ALL"
        )
        query = f"SELECT * FROM ({needless} UNION ALL {others}) ORDER BY bytes DESC, verdict, stays"  # noqa: S608
        return [Sum(**row) for row in rows_of(self.connection, query)]

    def largest(self, most: int) -> list[HeldLedger]:
        """The largest ledgers of which an audit knows who holds them."""
        query = (
            "SELECT topic, ledger_id, CAST(bytes AS BIGINT) AS bytes, "  # noqa: S608 - quoted
            f"list(concat({_HOLDER}, {_LATE}) ORDER BY holder_kind, holder)[:{MAX_HOLDERS}] AS holders, "
            f"greatest(count(*) - {MAX_HOLDERS}, 0) AS more FROM ledger_holders "
            f"WHERE bytes > 0 AND cluster = {literal(self.cluster)} GROUP BY topic, ledger_id, bytes "
            f"ORDER BY bytes DESC, ledger_id LIMIT {most:d}"
        )
        return [HeldLedger(**row) for row in rows_of(self.connection, query)]

    def sole_holders(self, most: int) -> list[SoleHolder]:
        """Who alone keeps the most bytes."""
        query = (
            f"SELECT topic, {_HOLDER} AS holder, count(*) AS ledgers, CAST(sum(bytes) AS BIGINT) AS bytes "  # noqa: S608
            f"FROM ledger_holders WHERE holders = 1 AND bytes > 0 AND cluster = {literal(self.cluster)} "
            f"AND holder_kind NOT IN ('open_ledger', 'not_known') GROUP BY ALL "
            f"ORDER BY bytes DESC, topic, holder LIMIT {most:d}"
        )
        return [SoleHolder(**row) for row in rows_of(self.connection, query)]

    def deletable(self, sole_owner: bool) -> Iterator[dict[str, Any]]:
        """Rows with `objects` and `upload_id` of what may be deleted, as they are read."""
        query = (
            "SELECT objects, upload_id FROM stored_without_need WHERE current_is_whole "  # noqa: S608 - quoted
            f"AND cluster = {literal(self.cluster)} AND (NOT needs_sole_owner OR {sole_owner})"
        )
        cursor = self.connection.execute(query)
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for objects, upload_id in rows:
                yield {"objects": objects, "upload_id": upload_id}
