"""Which stored entry an id, an index, a uuid or a time means, and where to seek for it; no JVM is started."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb

from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.tableio.delta_rs import Wanted
from pulsar_backlog.terms import Position

MAX_ANSWERS = 1000
_LIMIT = f"LIMIT {MAX_ANSWERS}"

Row: TypeAlias = dict[str, Any]

_UTC = "publish_time AT TIME ZONE 'UTC' AS publish_time, broker_timestamp AT TIME ZONE 'UTC' AS broker_timestamp"
_SEEK = f"SELECT * REPLACE ({_UTC}) FROM seek_positions"  # noqa: S608 - no text of a user's
_LIVING = (
    "(SELECT * FROM entries AS e WHERE NOT EXISTS "
    "(SELECT 1 FROM gone_ledgers AS g WHERE e.cluster = g.cluster AND e.ledger_id = g.ledger_id))"
)
_ENTRIES = f"SELECT DISTINCT ledger_id, entry_id FROM {_LIVING}"  # noqa: S608 - no text of a user's
_CLOCKS = ("publish", "publish_time"), ("broker", "broker_timestamp")


@dataclass(frozen=True)
class Positions:
    """The stored entries of an output folder; answers are rows of the view `seek_positions`, times UTC, without zone.

    Attributes:
        out: folder or bucket of the tables.
        topic: only topics that match this glob; None for all.
        cluster: only this cluster; None for all.
        endpoint: of an S3 service that is not AWS.
    """

    out: str
    topic: str | None = None
    cluster: str | None = None
    endpoint: str | None = None

    def at(self, places: Collection[Position]) -> list[Row]:
        """The entries at these positions, one row per cluster that has the ledger; files of others are skipped."""
        if not places:
            return []
        ledgers = {ledger_id for ledger_id, _ in places}
        listed = ", ".join(f"({int(ledger_id)}, {int(entry_id)})" for ledger_id, entry_id in places)
        of_ledgers = f"ledger_id IN ({', '.join(map(str, ledgers))})"  # what a tuple does not say to the file reader
        wanted = {"entries": {"ledger_id": ledgers}}
        return self._rows(_SEEK, f"{of_ledgers} AND (ledger_id, entry_id) IN ({listed})", after="", wanted=wanted)

    def of_uuid(self, uuid: str) -> list[Row]:
        """The first chunk of each publication with the uuid, and of each further whole copy of it.

        One row for each: restarted producers reuse uuids, and clients deliver a message as often as it is stored.
        """
        begins = f"chunk_uuid = {literal(uuid)} AND ledger_id = seek_ledger_id AND entry_id = seek_entry_id"
        by_uuid = {"chunk_uuid": {uuid}}
        wanted: Mapping[str, Wanted] = {"entries": {"uuid": {uuid}}, "chunks": by_uuid, "chunked_messages": by_uuid}
        return self._rows(_SEEK, begins, wanted=wanted)

    def at_index(self, index: int) -> list[Row]:
        """The entry whose messages have the broker's index (PIP-70) among theirs; one row per topic."""
        holds = f"index >= {index:d} AND CAST(index AS HUGEINT) - coalesce(num_messages_in_batch, 1) < {index:d}"
        entries = self._rows(_ENTRIES, holds)
        rows = self.at([(row["ledger_id"], row["entry_id"]) for row in entries])
        return [
            row for row in rows if row["first_index"] is not None and row["first_index"] <= index <= row["last_index"]
        ]

    def around(self, time_ms: int) -> list[Row]:
        """One row per topic and clock: `after`, the first entry at or after the time, and `before`, the last before it.

        Where the times rise with positions, `before` lies before `after`; else the time is ambiguous from `after` to
        `before`. Both are None where there is no such entry; `with_clock` counts entries that have that clock's time.
        """
        place = "{'ledger_id': ledger_id, 'entry_id': entry_id} AS place"
        timed = " UNION ALL ".join(
            f"SELECT cluster, topic, '{clock}' AS clock, epoch_ms({column}) AS ms, {place} FROM {_LIVING}"  # noqa: S608
            " WHERE marker_type IS NULL"
            for clock, column in _CLOCKS
        )
        sides = (
            f"SELECT cluster, topic, clock, min(place) FILTER (WHERE ms >= {time_ms:d}) AS after, "  # noqa: S608
            f"max(place) FILTER (WHERE ms < {time_ms:d}) AS before, count(ms) AS with_clock FROM ({timed})"
        )
        return self._rows(sides, "TRUE", after=f"GROUP BY ALL ORDER BY cluster, topic, clock {_LIMIT}")

    def _rows(
        self, select: str, where: str, after: str = _LIMIT, wanted: Mapping[str, Wanted] | None = None
    ) -> list[Row]:
        with opened(self.out, select, self.endpoint, wanted) as connection:
            return rows_of(connection, f"{select} WHERE {where}{self._scope(connection)} {after}")

    def _scope(self, connection: duckdb.DuckDBPyConnection) -> str:
        """The topics and the cluster as conditions."""
        conditions = ""
        if self.topic is not None:
            topics = connection.execute("SELECT DISTINCT topic FROM entries WHERE topic IS NOT NULL").fetchall()
            listed = [literal(topic) for (topic,) in topics if fnmatch.fnmatchcase(topic, self.topic)]
            conditions += f" AND topic IN ({', '.join(listed)})" if listed else " AND FALSE"
        if self.cluster is not None:
            conditions += f" AND cluster = {literal(self.cluster)}"
        return conditions
