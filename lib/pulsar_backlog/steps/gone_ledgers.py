"""Ledgers that an earlier audit knew and the source holds no more: rows of `gone_ledgers`, and what is said of them.

Gone is only what a listing that could be read whole does not have. What was not asked for, or may lie where nobody
could look, is not gone, and everything known of it stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f

from pulsar_backlog.cluster.snapshot_index import snapshot_globs
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord
from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.sorted_ids import LedgerIds
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

Row = dict[str, Any]

_CODES = {False: "S43", True: "S44"}
"""Codes by whether retention explains it."""
_LISTED = 8
"""Ledgers that a sentence names."""


@dataclass(frozen=True)
class KnownLedger:
    """A ledger that an earlier audit listed or read."""

    topic: str | None
    ledger_id: int
    copy: str | None
    kind: str | None
    created_time: datetime | None
    closed_time: datetime | None
    scanned: bool


@dataclass(frozen=True)
class Missing:
    """Ledgers within the scope that were known and are not listed.

    Attributes:
        gone: ids of those that are gone since the last audit.
        unseen: ids of those that may lie where nobody could look.
        findings: about what is gone.
    """

    gone: list[int]
    unseen: list[int]
    findings: list[Finding]


def note_gone(
    context: JobContext, scope: Scope, stored: LedgerIds, findings: Collection[Finding], state: ClusterState | None
) -> Missing:
    """Compare what was known with what is listed, and write `gone_ledgers`.

    Written before `ledgers` is replaced, which is what tells of ledgers that were listed and not read: a run that is
    killed between the two finds them again.

    Args:
        context: of the job.
        scope: ledgers that were asked for.
        stored: ids of all ledgers that have data in the source, asked for or not.
        findings: findings of the listing, which say what could not be read.
        state: saved state; None where none is given.
    """
    before = {row["ledger_id"]: row for row in _rows(context, "gone_ledgers")}
    missing = [one for one in _ledgers_before(context, stored) if one.ledger_id not in before and scope.holds(one)]
    trust = _Trust.of(context, findings)
    gone = [one for one in missing if trust.knows(one)]
    rows = [row for id_, row in before.items() if id_ not in stored] + [_row(context, one, state) for one in gone]
    if gone or len(rows) < len(before):
        context.replace("gone_ledgers", pa.Table.from_pylist(rows, schema=arrow_schema(TABLES["gone_ledgers"])))
    reported = _last_report(context)
    news = [row for row in rows if reported is None or row["gone_time"] > reported]
    ids = {one.ledger_id for one in gone}
    unseen = [one.ledger_id for one in missing if one.ledger_id not in ids]
    return Missing(sorted(ids), unseen, list(_findings(news)))


@dataclass(frozen=True)
class _Trust:
    """How far a listing may be trusted not to have missed anything.

    Attributes:
        whole: whether all places could be listed and read.
        whole_logs: whether all files of bookies could be.
        live_topics: globs of the topics that a broker was asked for; None where that is not known.
    """

    whole: bool
    whole_logs: bool
    live_topics: tuple[str, ...] | None

    @classmethod
    def of(cls, context: JobContext, findings: Collection[Finding]) -> _Trust:
        """What the findings of a listing leave of it."""
        unread = any(one.code == "S02" and one.ledger_id is None for one in findings)
        unsaved = any(one.code == "S19" and one.incomplete for one in findings)
        globs = snapshot_globs(context.options.admin) if context.options.admin else None
        logs = not any(one.code == "S25" for one in findings)
        return cls(not unread, not unread and logs, None if unread or unsaved else globs)

    def knows(self, one: KnownLedger) -> bool:
        """Whether a ledger would have been listed if it were there."""
        kind = traits_of(one.kind)
        if kind.is_broker_read:
            is_listed = (one.topic or "").startswith("persistent://")  # a snapshot lists no scalable topics
            return is_listed and self.live_topics is not None and Scope(self.live_topics).names(one.topic)
        return self.whole_logs if one.kind is None or kind.is_in_logs else self.whole


def _ledgers_before(context: JobContext, stored: LedgerIds) -> Iterator[KnownLedger]:
    """Ledgers that were listed with data, or read, and are not stored."""
    for row in _known_rows(context, stored):
        if row["ledger_id"] not in stored:
            yield KnownLedger(**row)


def _known_rows(context: JobContext, stored: LedgerIds) -> Iterable[Row]:
    ledgers, scans = context.small_rows("ledgers"), context.small_rows("scans")
    if ledgers is not None and scans is not None:
        selected = _not_stored(ledgers.filter(ledgers["selected"]), stored).select(_COLUMNS).to_pylist()
        by_ledger = {row["ledger_id"]: {**row, "scanned": False} for row in selected}
        for row in _not_stored(scans, stored).select(["topic", "ledger_id", "copy"]).to_pylist():
            by_ledger.setdefault(row["ledger_id"], {**dict.fromkeys(_COLUMNS), **row})["scanned"] = True
        return by_ledger.values()
    selected = context.table("ledgers").filter("selected").select(*_COLUMNS)
    read = context.table("scans").select("ledger_id", f.col("topic").alias("read_topic"), f.col("copy").alias("read"))
    listed = context.spark.createDataFrame(pa.table({"ledger_id": pa.array(stored.ids)}))
    both = selected.join(read, on="ledger_id", how="full_outer").join(listed, on="ledger_id", how="left_anti")
    rows = both.select(
        f.coalesce("topic", "read_topic").alias("topic"), "ledger_id", f.coalesce("copy", "read").alias("copy"),
        "kind", "created_time", "closed_time", f.col("read").isNotNull().alias("scanned"),
    )  # fmt: skip
    return list(rows.toArrow().to_pylist())


def _not_stored(rows: pa.Table, stored: LedgerIds) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows["ledger_id"], value_set=pa.array(stored.ids, pa.int64()))))


_COLUMNS = ["topic", "ledger_id", "copy", "kind", "created_time", "closed_time"]


def _row(context: JobContext, one: KnownLedger, state: ClusterState | None) -> Row:
    return {
        "cluster": context.cluster,
        "topic": one.topic,
        "ledger_id": one.ledger_id,
        "copy": one.copy,
        "scanned": one.scanned,
        "created_time": one.created_time,
        "closed_time": one.closed_time,
        "gone_time": context.started,
        "expected": state is not None and is_expected(one, state, context.started),
    }


def is_expected(one: KnownLedger, state: ClusterState, now: datetime) -> bool:
    """Whether the broker has trimmed a ledger and the saved policies say that it may."""
    topic = state.topics.get(one.topic or "")
    retention = state.retention.of(one.topic or "")
    if topic is None or retention is None or not topic.ledgers or not topic.names_all_ledgers:
        return False
    if one.ledger_id >= min(ledger.ledger_id for ledger in topic.ledgers):
        return False
    closed = one.closed_time or one.created_time
    closed_ms = None if closed is None else round(closed.timestamp() * 1000)
    return retention.lets_go(closed_ms, round(now.timestamp() * 1000), _bytes(topic.ledgers) + (topic.open_bytes or 0))


def _bytes(ledgers: Iterable[LedgerRecord]) -> int:
    return sum(ledger.size_bytes or 0 for ledger in ledgers)


def _findings(rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    groups: dict[tuple[str, bool], list[int]] = {}
    for row in rows:
        groups.setdefault((row["topic"] or "", row["expected"]), []).append(row["ledger_id"])
    for (topic, expected), ids in sorted(groups.items()):
        ids.sort()
        listed = ", ".join(map(str, ids[:_LISTED])) + (f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else "")
        why = "the broker has trimmed them, as the saved policies let it" if expected else "nothing saved says why"
        yield Finding(
            _CODES[expected],
            topic or "ledgers without a topic",
            f"{counted(len(ids), 'ledger')} of this topic left the source since the last audit ({listed}): {why}.",
            topic=topic or None,
            count=len(ids),
            reason="earlier audits against the listing of the source",
            evidence=tuple(f"ledger {id_}" for id_ in ids[:MAX_EVIDENCE]),
        )


def _last_report(context: JobContext) -> datetime | None:
    """When the last report began: what was gone before that, people have been told."""
    runs = context.small_rows("runs")
    if runs is None:
        frame = context.table("runs").filter(f.col("job") == "write_report").agg(f.max("started").alias("started"))
        (row,) = frame.toArrow().to_pylist()
        return row["started"]  # type: ignore[no-any-return]
    return max(
        (row["started"] for row in runs.select(["job", "started"]).to_pylist() if row["job"] == "write_report"),
        default=None,
    )


def _rows(context: JobContext, name: str) -> list[Row]:
    table = context.small_rows(name)
    rows = context.table(name).toArrow() if table is None else table
    return list(rows.to_pylist())
