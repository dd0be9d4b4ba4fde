"""Which ledgers a scan has still to read, and how much of each topic is read already."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pulsar_backlog.counting import counted
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.ledgers.budget import TopicBytes
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine, Row
from pulsar_backlog.steps.known_state import scope_in

TABLES_ASKED = ("ledgers", "scans", "ledger_facts", "producer_facts", "noted_entries", "findings")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Pending:
    """What a scan has still to read.

    Attributes:
        copies: selected copies in scope whose scan is not on the books as they are now.
        changed: rows of those that changed since they were scanned.
        lacking: how many of the others an earlier release read, which did not keep what is asked now.
    """

    copies: Sequence[PlannedCopy]
    changed: Sequence[Mapping[str, Any]]
    lacking: int

    def tell(self) -> None:
        """Say why ledgers that were read are read again."""
        if self.lacking:
            words = f"{counted(self.lacking, 'ledger')} that an earlier release read"
            sys.stderr.write(f"scan: {words} are read again: it did not keep all that is asked of entries now\n")


@dataclass(frozen=True)
class _Place:
    """A row of `ledgers` as the scope looks at it."""

    topic: str | None
    ledger_id: int
    created_time: datetime | None
    closed_time: datetime | None


def pending_copies(context: JobContext, engine: QueryEngine) -> Pending:
    """What the scan has still to read of what was asked for.

    Args:
        context: of the job.
        engine: knows `TABLES_ASKED`.
    """
    scope = scope_in(context)
    plan = engine.rows({"pending": engine.sql("scan", "pending", {})})["pending"]
    rows = [row for row in plan if scope.holds(_place(row))]
    changed = [row for row in rows if _changed(row)]
    lacking = sum(row["is_old"] and row["scanned_etag"] == row["data_etag"] for row in rows)
    return Pending([PlannedCopy.from_row(row) for row in rows], changed, lacking)


def bytes_of_topics(engine: QueryEngine) -> dict[str | None, TopicBytes]:
    """How much is stored of each topic, and how much of it is on the books; one row a topic."""
    rows = engine.rows({"bytes": engine.sql("scan", "topic_bytes", {})})["bytes"]
    return {row["topic"]: TopicBytes(int(row["stored_bytes"]), int(row["read_bytes"])) for row in rows}


def told_of_left(context: JobContext, engine: QueryEngine) -> bool:
    """Whether an earlier run said that it left ledgers unread."""
    job, code = portable_literal(context.job), portable_literal(LEFT_UNREAD)
    query = f"SELECT count(*) AS findings FROM findings WHERE job = {job} AND code = {code}"  # noqa: S608 - quoted
    return bool(engine.rows({"": query})[""][0]["findings"])


def _place(row: Row) -> _Place:
    created, closed = (
        None if row[name] is None else _EPOCH + timedelta(milliseconds=row[name])
        for name in ("created_ms", "closed_ms")
    )
    return _Place(row["topic"], row["ledger_id"], created, closed)


def _changed(row: Row) -> bool:
    """Whether it is the same copy as was scanned, of another size or tag; ledgers in several files grow."""
    object_changed = row["data_bytes"] != row["scanned_bytes"] or row["data_etag"] != row["scanned_etag"]
    return bool(row["scanned_copy"] == row["copy"] and object_changed and not traits_of(row["kind"]).is_spread)
