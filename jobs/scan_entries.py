"""Every stored entry of the selected ledger copies, decoded: location, checksum, all metadata, no payload.

Reads: `ledgers` (the plan), and the data objects by ranges.
Writes: `entries`; what they show together (`ledger_facts`, `producer_facts`, `entry_spans`); the few that later jobs
look at one by one (`noted_entries`); `rejects`, `scans` (the books, written last), its `findings`. A slice is a ledger.
Guarantees: entries walked = decoded + rejected; facts are made of what is written; a finished copy is not scanned
again; a killed scan starts again with the ledgers it had not finished. What --budget-bytes, --sample and --limit leave
out is a finding of each topic, and the exit code is 4.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f

from pulsar_backlog.arguments import budget_of, job_parser, scope_of, source_of
from pulsar_backlog.facts.ledger import Facts, ledger_row
from pulsar_backlog.facts.spans import publish_times_of
from pulsar_backlog.facts.steps import PublishTimes
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.frames.scanning.facts import packed_facts, unpacked_facts
from pulsar_backlog.frames.scanning.findings import (
    findings_of_changed,
    findings_of_entries,
    findings_of_left,
    findings_of_scans,
)
from pulsar_backlog.frames.scanning.scan import SCAN_TABLES, entries_frame, rejects_frame, scan_files
from pulsar_backlog.ledgers.budget import TopicBytes, within
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import PlannedCopy, ScanUnit
from pulsar_backlog.progress import Progress, progress
from pulsar_backlog.scanning.accounts import Accounts
from pulsar_backlog.scanning.books import copy_accounts, damaged_units, scan_rows
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, Runs, joined_runs
from pulsar_backlog.steps.live_snapshots import findings_of_end
from pulsar_backlog.storage.delta import (
    direct_writes,
    read_table,
    replace_rows,
    replace_slice,
)
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
    source = source_of(context.options).shared_by(context.spark.sparkContext.defaultParallelism)
    digest = fingerprint(context.options, {"ledgers": context.version("ledgers")})
    made = all(context.has(name) for name in ("scans", "ledger_facts"))
    if made and is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    unread, changed = pending_copies(context)
    budget = budget_of(context.options)
    topics = {} if budget.is_everything else _bytes_of_topics(context)
    pending = within(budget, unread, topics)
    taken = {copy.ledger_id for copy in pending}
    left = [copy for copy in unread if copy.ledger_id not in taken]
    if not unread and not _told_of_left(context):
        return JobResult(digest, changed=False)
    rows = {"entries": 0, "rejects": 0}
    total = sum(copy.data_bytes or 0 for copy in pending)
    with progress("scan", sum(copy.scan_bytes for copy in pending)) as show:
        for group in groups_of(pending):
            written = scan_group(context, source, group, show)
            rows = {name: rows[name] + written[name] for name in rows}
    told = [
        *findings_of_changed(changed),
        *findings_of_left(left, topics, str(budget)),
        *findings_of_end(context.options),
    ]
    findings = findings_frame(context, told)
    scans, rejects, facts = (_mine(context, name) for name in ("scans", "rejects", "ledger_facts"))
    origin = Origin(context.cluster, JOB)
    found = findings_of_scans(scans, rejects, origin).unionByName(findings_of_entries(facts, origin))
    replace_findings(context, findings.unionByName(found))
    return JobResult(digest, rows=rows | {"scans": len(pending)}, bytes_read=total)


def pending_copies(context: JobContext) -> tuple[list[PlannedCopy], list[Row]]:
    """Selected copies in scope whose scan is not on the books, and the rows of those that changed since.

    A scan without facts is one that was made before there were any.
    """
    ledgers = _mine(context, "ledgers").filter(f.col("selected") & f.col("data_uri").isNotNull())
    facts = _mine(context, "ledger_facts").select("ledger_id")
    scans = _mine(context, "scans").filter("complete").join(facts, on="ledger_id", how="left_semi")
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


def _bytes_of_topics(context: JobContext) -> dict[str | None, TopicBytes]:
    """How much is stored of each topic, and how much of it is on the books; one row a topic."""
    stored = _mine(context, "ledgers").filter(f.col("selected") & f.col("data_uri").isNotNull())
    booked = _mine(context, "scans").filter("complete").select("ledger_id", "copy", f.lit(True).alias("booked"))
    sizes = stored.join(booked, on=["ledger_id", "copy"], how="left").groupBy("topic")
    rows = sizes.agg(
        f.sum(f.coalesce("data_bytes", f.lit(0))).alias("stored"),
        f.sum(f.when(f.col("booked"), f.col("data_bytes")).otherwise(0)).alias("read"),
    )
    return {row["topic"]: TopicBytes(row["stored"], row["read"]) for row in rows.toLocalIterator()}


def _told_of_left(context: JobContext) -> bool:
    """Whether an earlier run said that it left ledgers unread."""
    mine = (f.col("job") == JOB) & (f.col("code") == LEFT_UNREAD)
    return not _mine(context, "findings").filter(mine).isEmpty()


def _with_zones(row: Row) -> Row:
    """The row with times that know their zone: PySpark gives naive ones of this machine's zone."""
    times = {name: time and time.astimezone(UTC) for name in ("created_time", "closed_time") for time in [row[name]]}
    return Row(**(row.asDict() | times))


def _changed(row: Row) -> bool:
    """Whether it is the same copy as was scanned, of another size or tag; files of bookies grow."""
    object_changed = row["data_bytes"] != row["scanned_bytes"] or row["data_etag"] != row["scanned_etag"]
    return bool(row["scanned_copy"] == row["copy"] and object_changed and row["kind"] != "bookies")


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
    """Write entries and facts, then `rejects`, then `scans` of a group of copies; rows written."""
    units = [unit for copy in group for unit in units_of(copy)]
    ids = f.col("ledger_id").isin([copy.ledger_id for copy in group])
    part = (f.col("cluster") == context.cluster) & ids
    accounts, runs = store_entries(context, source, units, part, show)
    facts = joined_runs(runs, lambda ledger_id, run: _publish_times(context, ledger_id, run))
    rows = [ledger_row(facts.get(one.ledger_id), context.cluster, one.topic, one.ledger_id) for one in group]
    replace_rows(context.spark, rows, context.out, TABLES["ledger_facts"], part)
    damaged: list[ScanUnit] = damaged_units(units, accounts)
    rejects = rejects_frame(context.spark, source, damaged, context.cluster)
    replace_slice(rejects, context.out, TABLES["rejects"], part)
    books = scan_rows(group, copy_accounts(units, accounts), context.cluster)
    replace_rows(context.spark, books, context.out, TABLES["scans"], part)
    totals = accounts.values()
    return {
        "entries": sum(account.decoded for account in totals),
        "rejects": sum(account.rejected + account.faults for account in totals),
    }


def store_entries(
    context: JobContext, source: Source, units: list[ScanUnit], part: Column, show: Progress
) -> tuple[Accounts, Runs]:
    """Write the entries of `units`, which are the slice `part`, with rows of facts; what was scanned, and facts.

    The one door to `entries`: tasks write the files themselves where they can, Spark's writer does it elsewhere.
    """
    spark, out, cluster = context.spark, context.out, context.cluster
    with direct_writes(spark, out, [TABLES[name] for name in SCAN_TABLES], part) as direct:
        if direct is None:
            frame, accounts = entries_frame(spark, source, units, cluster)
            with show.watch(lambda: accumulated_bytes(accounts.value)):
                replace_slice(frame, out, TABLES["entries"], part)
            return accounts.value, _facts_of_stored(context, part)
        places = {name: one.place for name, one in direct.items()}
        frame, accounts, runs = scan_files(spark, source, units, cluster, places)
        with show.watch(lambda: accumulated_bytes(accounts.value)):
            files = frame.collect()
        _check_rows(files, accounts.value)
        for one in direct.values():
            one.commit(files)
    return accounts.value, runs.value


def _facts_of_stored(context: JobContext, part: Column) -> Runs:
    """Write the rows of facts of entries that are written, from those; their other facts."""
    entries = read_table(context.spark, context.out, TABLES["entries"]).filter(part)
    packed, runs = packed_facts(entries, context.cluster)
    packed = context.keep(packed)
    for name in ROW_TABLES:
        replace_slice(unpacked_facts(packed, name), context.out, TABLES[name], part)
    return runs.value


def _check_rows(files: Iterable[Row], accounts: Accounts) -> None:
    """What was decoded is in the files; anything else is a fault of this program."""
    written = sum(json.loads(file["stats"])["numRecords"] for file in files if file["table"] == "entries")
    decoded = sum(account.decoded for account in accounts.values())
    if written != decoded:
        raise RuntimeError(f"{decoded} entries were decoded and {written} written")


def _publish_times(context: JobContext, ledger_id: int, run: Facts) -> Iterator[PublishTimes]:
    """The publish times of a run, from its spans."""
    first, last = run.order.first.entry_id, run.order.last.entry_id
    spans = _mine(context, "entry_spans").filter(
        (f.col("ledger_id") == ledger_id) & f.col("first_entry_id").between(first, last)
    )
    columns = ("first_entry_id", "last_entry_id", "entry_ids", "publish_times_ms", "untimed")
    for batch in spans.select(*columns).orderBy("first_entry_id").toArrow().to_batches():
        for row in range(batch.num_rows):
            yield publish_times_of(batch, row)


def accumulated_bytes(accounts: Accounts) -> int:
    """Bytes of the entries of finished units."""
    return sum(account.entry_bytes for account in list(accounts.values()))


def _mine(context: JobContext, name: str) -> DataFrame:
    return read_table(context.spark, context.out, TABLES[name]).filter(f.col("cluster") == context.cluster)


if __name__ == "__main__":
    sys.exit(main())
