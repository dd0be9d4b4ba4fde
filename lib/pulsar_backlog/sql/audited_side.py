"""What one audit knows that a comparison goes by: ledgers that it read, what it could not, how far replicators are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.options import Options, given_options
from pulsar_backlog.options.printed import audit_options, options_of
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.recorded import cluster_of
from pulsar_backlog.terms import Position

_TABLES = (
    "SELECT 1 FROM ledgers, scans, runs, rejects, chunked_messages, subscriptions, inventory, gone_ledgers, segments"
)
_CHUNK_COLUMNS = (
    "topic, chunk_uuid, publish_time_ms, producer_name, sequence_id, state, rebuildable, last_ledger_id, "
    "last_entry_id, sureness, reason"
)
_ABSENT = ("missing", "not_offloaded", "undecided")
"""Verdicts of `inventory` on ledgers that the broker has and the source does not."""
_REPLICATOR = (
    "topic, subscription, state, sureness, mark_delete_ledger_id, mark_delete_entry_id, last_acked_ledger_id, "
    "last_acked_entry_id"
)
_CURSOR = "topic, subscription, state, sureness, reason, replicated"
_UNACKED = "ledger_id, first_entry_id, last_entry_id, unacked_batch_indexes"

Row = dict[str, Any]


@dataclass(frozen=True)
class AuditedSide:
    """One audit.

    Attributes:
        out: folder or bucket of its tables.
        cluster: name of the cluster in them.
        source: where its ledgers lie.
        options: how the source is reached.
        copies: ledgers that were scanned.
        unscanned: topic and ledger id of ledgers that were not, or not whole.
        damage: topic, ledger id and entry id (-1 for a stretch around entries) of what could not be decoded.
        broken_sets: chunked messages of which not every chunk is stored and sound.
        replicators: cursors of replicators.
        chunked_topics: topics with chunked messages.
        choices: options by which the audit looked at a part only.
        stored: copy, bytes and tag of the object of each ledger that the source holds.
        endpoint: of the bucket of the tables.
        cursors: subscriptions of applications.
        migrated: scalable topics by topics, or partitions, that were migrated to them.
    """

    out: str
    cluster: str
    source: str
    options: Options
    copies: list[PlannedCopy]
    unscanned: list[tuple[str | None, int]]
    damage: list[tuple[str | None, int, int]]
    broken_sets: list[Row]
    replicators: list[Row]
    chunked_topics: frozenset[str] = frozenset()
    choices: tuple[str, ...] = field(default=())
    stored: Mapping[int, tuple[object, ...]] = field(default_factory=dict)
    endpoint: str | None = None
    cursors: list[Row] = field(default_factory=list)
    migrated: Mapping[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> dict[int, str | None]:
        """Topic by ledger id."""
        return {copy.ledger_id: copy.topic for copy in self.copies}

    def chunk_begins(self, topic: str, uuids: Sequence[str]) -> dict[tuple[str, int], Position]:
        """Where chunked messages of a topic begin, by uuid and publish time, of those whose every chunk is stored."""
        columns = "chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id"
        named = ", ".join(map(literal, uuids))
        chosen = f"topic = {literal(topic)} AND rebuildable AND chunk_uuid IN ({named})"
        with opened(self.out, "SELECT 1 FROM chunked_messages", self.endpoint) as connection:
            rows = _Tables(connection, self.cluster).rows(columns, "chunked_messages", chosen)
        return {
            (row["chunk_uuid"], row["publish_time_ms"]): (row["first_ledger_id"], row["first_entry_id"]) for row in rows
        }

    def unacked(self, topic: str, subscription: str) -> list[Row]:
        """Runs of entries that a subscription has not acknowledged, ascending."""
        chosen = f"topic = {literal(topic)} AND subscription = {literal(subscription)}"
        with opened(self.out, "SELECT 1 FROM ack_ranges", self.endpoint) as connection:
            ordered = f"{chosen} ORDER BY ledger_id, first_entry_id"
            return _Tables(connection, self.cluster).rows(_UNACKED, "ack_ranges", ordered)


_CHOICES = ("topic", "ledger", "since", "until", "sample", "limit", "budget_bytes")


def audited_side(out: str, named: str | None, endpoint: str | None = None) -> AuditedSide:
    """What the tables of an audit say.

    Args:
        out: folder or bucket of the tables.
        named: cluster; None for the only one.
        endpoint: of the bucket of the tables.

    Raises:
        UsageError: there are no tables there, or no scan.
    """
    cluster = cluster_of(out, named, endpoint)
    with opened(out, _TABLES, endpoint) as connection:
        tables = _Tables(connection, cluster)
        runs = sorted(tables.rows("job, started, source, options", "runs"), key=lambda run: run["started"])
        scanned = [run for run in runs if run["job"] == "scan_entries"]
        if not scanned:
            raise UsageError(f"{out} holds no scan of cluster {cluster!r}: audit it first")
        source = str(scanned[-1]["source"])
        options = options_of(audit_options([{**run, "options": dict(run["options"])} for run in runs]))
        return AuditedSide(
            out, cluster, source, _reaching(options, source), *tables.ledgers(), tables.damage(),
            tables.rows(_CHUNK_COLUMNS, "chunked_messages", "NOT rebuildable"),
            tables.rows(_REPLICATOR, "subscriptions", "kind = 'replicator'"),
            frozenset(row["topic"] for row in tables.rows("DISTINCT topic", "chunked_messages")),
            tuple(name for name in _CHOICES if options.get(name)), tables.stored(), endpoint,
            tables.rows(_CURSOR, "subscriptions", "kind = 'subscription'"),
            {row["segment"]: row["topic"] for row in tables.rows("segment, topic", "segments", "is_legacy")},
        )  # fmt: skip


@dataclass(frozen=True)
class _Tables:
    """The tables of an audit, of one cluster."""

    connection: duckdb.DuckDBPyConnection
    cluster: str

    def rows(self, columns: str, table: str, condition: str = "TRUE") -> list[Row]:
        """The cluster's rows of a table."""
        chosen = f"cluster = {literal(self.cluster)} AND {condition}"
        return rows_of(self.connection, f"SELECT {columns} FROM {table} WHERE {chosen}")  # noqa: S608 - own words

    @cached_property
    def _gone(self) -> frozenset[int]:
        return frozenset(row["ledger_id"] for row in self.rows("ledger_id", "gone_ledgers"))

    def ledgers(self) -> tuple[list[PlannedCopy], list[tuple[str | None, int]]]:
        """Ledgers that were scanned, ascending; topic and id of those that were not, or not whole."""
        scans = {row["ledger_id"]: row for row in self.rows("ledger_id, copy, complete", "scans")}
        listed = [row for row in self.rows("*", "ledgers", "selected") if row["ledger_id"] not in self._gone]
        copies = [
            PlannedCopy.from_row(row)
            for row in sorted(listed, key=lambda row: row["ledger_id"])
            if row["data_uri"] is not None and row["ledger_id"] in scans
        ]
        absent = f"kind = 'none' AND verdict IN ({', '.join(map(literal, _ABSENT))})"
        unscanned = [row for row in listed if not _is_whole(row, scans)]
        unscanned += self.rows("topic, ledger_id", "inventory", absent)
        return copies, [(row["topic"], row["ledger_id"]) for row in unscanned]

    def stored(self) -> dict[int, tuple[object, ...]]:
        """Copy, bytes and tag of each object, by ledger id."""
        columns = ("copy", "data_bytes", "data_etag")
        return {
            row["ledger_id"]: tuple(row[name] for name in columns)
            for row in self.rows(f"ledger_id, {', '.join(columns)}", "ledgers", "selected AND data_uri IS NOT NULL")
        }

    def damage(self) -> list[tuple[str | None, int, int]]:
        """Topic and position of what could not be decoded."""
        rejects = self.rows("topic, ledger_id, entry_id", "rejects", "scope <> 'hidden'")
        return [
            (row["topic"], row["ledger_id"], row["entry_id"]) for row in rejects if row["ledger_id"] not in self._gone
        ]


def _is_whole(row: Row, scans: dict[int, Row]) -> bool:
    scan = scans.get(row["ledger_id"])
    return scan is not None and bool(scan["complete"]) and row["status"] == "ok"


_HOW = (
    "endpoint", "store_attempts", "store_timeout_seconds", "store_range_bytes", "store_concurrency", "live",
    "admin_url", "max_rate", "min_rate", "token_file", "ca_file", "cert_file", "key_file", "timeout_seconds",
    "token_without_tls", "broker_host", "admin",
)  # fmt: skip


def _reaching(options: dict[str, object], source: str) -> Options:
    """The options of an audit that say how its source is reached."""
    return given_options({name: options[name] for name in _HOW if name in options} | {"source": source})
