"""Every stored entry of the selected ledger copies, decoded: location, checksum, all metadata, no payload.

Reads: `ledgers` (the plan), and the data objects by ranges.
Writes: `entries`, `rejects`, `scans` (the books, written last) and its `findings`; a slice is a ledger.
Guarantees: entries walked = decoded + rejected; a finished copy is not scanned again; a killed scan starts again
with the ledgers it had not finished.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC

from pyspark.sql import Column, Row
from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser, scope_of, source_of
from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.frames.scanning.findings import findings_of_changed, findings_of_entries, findings_of_scans
from pulsar_backlog.frames.scanning.scan import entries_frame, entry_files, rejects_frame
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import PlannedCopy, ScanUnit
from pulsar_backlog.progress import Progress, progress
from pulsar_backlog.scanning.accounts import Accounts
from pulsar_backlog.scanning.books import copy_accounts, damaged_units, scan_rows
from pulsar_backlog.storage.delta import direct_write, exists, read_table, replace_slice, schema_of, table_version
from pulsar_backlog.storage.findings import findings_frame, replace_findings
from pulsar_backlog.storage.runs import JobContext, JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.tables import TABLES

JOB = "scan_entries"
GROUP_BYTES = 64 * 1024**3
"""Bytes scanned between two commits: what a killed scan loses at most."""
GROUP_LEDGERS = 2000
"""Ledgers scanned between two commits, so that the slice stays a list one can print."""


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, scan)


def scan(context: JobContext) -> JobResult:
    """Scan what the books do not have yet, group by group, then say what the entries show."""
    source = source_of(context.options)
    digest = fingerprint(context.options, {"ledgers": table_version(context.spark, context.out, TABLES["ledgers"])})
    if exists(context.spark, context.out, TABLES["scans"]) and is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    pending, changed = pending_copies(context)
    if not pending:
        return JobResult(digest, changed=False)
    rows = {"entries": 0, "rejects": 0}
    total = sum(copy.data_bytes or 0 for copy in pending)
    with progress("scan", total) as show:
        for group in groups_of(pending):
            written = scan_group(context, source, group, show)
            rows = {name: rows[name] + written[name] for name in rows}
    findings = findings_frame(context, findings_of_changed(changed))
    scans = read_table(context.spark, context.out, TABLES["scans"]).filter(f.col("cluster") == context.cluster)
    entries = read_table(context.spark, context.out, TABLES["entries"]).filter(f.col("cluster") == context.cluster)
    rejects = read_table(context.spark, context.out, TABLES["rejects"]).filter(f.col("cluster") == context.cluster)
    origin = Origin(context.cluster, JOB)
    found = findings_of_scans(scans, rejects, origin).unionByName(findings_of_entries(entries, origin))
    replace_findings(context, findings.unionByName(found))
    return JobResult(digest, rows=rows | {"scans": len(pending)}, bytes_read=total)


def pending_copies(context: JobContext) -> tuple[list[PlannedCopy], list[Row]]:
    """Selected copies in scope whose scan is not on the books, and the rows of those that changed since."""
    mine = f.col("cluster") == context.cluster
    with_data = f.col("selected") & f.col("data_uri").isNotNull()
    ledgers = read_table(context.spark, context.out, TABLES["ledgers"]).filter(mine & with_data)
    scans = read_table(context.spark, context.out, TABLES["scans"]).filter(mine & f.col("complete"))
    booked = scans.select(
        "ledger_id",
        f.col("copy").alias("scanned_copy"),
        f.col("topic").alias("scanned_topic"),
        f.col("data_bytes").alias("scanned_bytes"),
        f.col("data_etag").alias("scanned_etag"),
    )
    same = (
        f.col("copy").eqNullSafe(f.col("scanned_copy"))
        & f.col("topic").eqNullSafe(f.col("scanned_topic"))
        & f.col("data_bytes").eqNullSafe(f.col("scanned_bytes"))
        & f.col("data_etag").eqNullSafe(f.col("scanned_etag"))
    )
    plan = ledgers.join(booked, on="ledger_id", how="left").filter(~same).orderBy("ledger_id").collect()
    scope = scope_of(context.options)
    rows = [row for row in plan if scope.holds(_with_zones(row))]
    return [PlannedCopy.from_row(row.asDict(recursive=True)) for row in rows], [row for row in rows if _changed(row)]


def _with_zones(row: Row) -> Row:
    """The row with times that know their zone: PySpark gives naive ones of this machine's zone."""
    times = {name: time and time.astimezone(UTC) for name in ("created_time", "closed_time") for time in [row[name]]}
    return Row(**(row.asDict() | times))


def _changed(row: Row) -> bool:
    """Whether it is the same copy as was scanned, of another size or tag."""
    object_changed = row["data_bytes"] != row["scanned_bytes"] or row["data_etag"] != row["scanned_etag"]
    return bool(row["scanned_copy"] == row["copy"] and object_changed)


def groups_of(copies: Sequence[PlannedCopy]) -> Iterator[list[PlannedCopy]]:
    """Copies in groups of about `GROUP_BYTES` and at most `GROUP_LEDGERS`."""
    group: list[PlannedCopy] = []
    size = 0
    for copy in copies:
        if group and (size + (copy.data_bytes or 0) > GROUP_BYTES or len(group) == GROUP_LEDGERS):
            yield group
            group, size = [], 0
        group.append(copy)
        size += copy.data_bytes or 0
    if group:
        yield group


def scan_group(context: JobContext, source: Source, group: list[PlannedCopy], show: Progress) -> dict[str, int]:
    """Write `entries`, then `rejects`, then `scans` of a group of copies; rows written."""
    units = [unit for copy in group for unit in units_of(copy)]
    ids = f.col("ledger_id").isin([copy.ledger_id for copy in group])
    part = (f.col("cluster") == context.cluster) & ids
    accounts = store_entries(context, source, units, part, show)
    damaged: list[ScanUnit] = damaged_units(units, accounts)
    rejects = rejects_frame(context.spark, source, damaged, context.cluster)
    replace_slice(rejects, context.out, TABLES["rejects"], part)
    books = context.spark.createDataFrame(
        scan_rows(group, copy_accounts(units, accounts), context.cluster), schema_of(TABLES["scans"])
    )
    replace_slice(books, context.out, TABLES["scans"], part)
    totals = accounts.values()
    return {
        "entries": sum(account.decoded for account in totals),
        "rejects": sum(account.rejected + account.faults for account in totals),
    }


def store_entries(context: JobContext, source: Source, units: list[ScanUnit], part: Column, show: Progress) -> Accounts:
    """Write the entries of `units`, which are the slice `part`; the accounts of what was scanned.

    The one door to `entries`: tasks write the files themselves where they can, Spark's writer does it elsewhere.
    """
    spark, out, cluster, table = context.spark, context.out, context.cluster, TABLES["entries"]
    with direct_write(spark, out, table, part) as direct:
        if direct is None:
            frame, accumulator = entries_frame(spark, source, units, cluster)
        else:
            frame, accumulator = entry_files(spark, source, units, cluster, direct.folder, direct.prefix)
        with show.watch(lambda: accumulated_bytes(accumulator.value)):
            if direct is None:
                replace_slice(frame, out, table, part)
            else:
                direct.commit(frame.collect())
    return accumulator.value


def accumulated_bytes(accounts: Accounts) -> int:
    """Bytes of the entries of finished units."""
    return sum(account.entry_bytes for account in list(accounts.values()))


if __name__ == "__main__":
    sys.exit(main())
