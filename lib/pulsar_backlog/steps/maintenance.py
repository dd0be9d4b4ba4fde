"""Maintenance of all tables of an output: rows of what is long gone, then the files of each table."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from pulsar_backlog.report.maintenance import Maintenance, TableUpkeep
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.history import old_rows, remove
from pulsar_backlog.tableio.maintenance import Upkeep, keep_up, upkeep_of
from pulsar_backlog.tableio.spark_maintenance import upkeep_by_spark
from pulsar_backlog.tableio.table_logs import log_without_spark
from pulsar_backlog.tables import TABLES, Table


def maintain(context: JobContext) -> Maintenance:
    """Remove what is due, table by table; nothing in a dry run.

    Killed anywhere no row is lost but those that were to go, and the next run does what is left.
    """
    options, now_ms = context.options, round(context.started.timestamp() * 1000)
    keep_days, hours, dry_run = options.keep_days or 90, options.retention_hours or 168, options.dry_run is True
    removed: Counter[str] = Counter()
    for old in old_rows(context, context.started - timedelta(days=keep_days)):
        removed[old.table] += old.rows
        if not dry_run:
            remove(context, old)
    kept_up = {table.name: _upkeep(context, table, hours, now_ms, dry_run) for table in TABLES.values()}
    reports = (_report(name, removed[name], upkeep) for name, upkeep in kept_up.items() if upkeep is not None)
    done = tuple(one for one in reports if _is_news(one))
    return Maintenance(context.cluster, dry_run, keep_days, hours, now_ms, done)


def _upkeep(context: JobContext, table: Table, hours: int, now_ms: int, dry_run: bool) -> Upkeep | None:
    """What was done to the files of a table; None where there is none."""
    if context.version(table.name) < 0:
        return None
    log = log_without_spark(context.out, table)
    if log is None or not log.is_plain or log.has_files_outside_root:
        return upkeep_by_spark(context.spark, context.out, table, hours, do=not dry_run)
    log.check(table)
    due = upkeep_of(log, table, hours, now_ms)
    return due if dry_run or not due.is_due else keep_up(context.store, log, table, due)


def _report(name: str, rows: int, upkeep: Upkeep) -> TableUpkeep:
    after = upkeep.files - len(upkeep.joined) + upkeep.joined_into
    return TableUpkeep(
        name, rows, upkeep.files, after, upkeep.bytes, upkeep.checkpoint, len(upkeep.unused), len(upkeep.old_log),
        upkeep.freed_bytes,
    )  # fmt: skip


def _is_news(one: TableUpkeep) -> bool:
    return bool(one.rows_removed or one.checkpoint or one.files_deleted or one.log_files_deleted) or (
        one.files_after != one.files_before
    )
