"""Ledgers scanned between two commits: their entries, facts and `rejects`, then `scans`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

from pulsar_backlog.facts.ledger import Facts, ledger_row
from pulsar_backlog.facts.spans import publish_times_of
from pulsar_backlog.facts.steps import PublishTimes
from pulsar_backlog.frames.packed import unpacked
from pulsar_backlog.frames.scanning.facts import packed_facts
from pulsar_backlog.frames.scanning.scan import entries_frame, rejects_frame, scan_files
from pulsar_backlog.frames.scanning.task import SCAN_TABLES, ScanResult, ScanTask
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.live.run_folder import reading_of
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import PlannedCopy, ScanUnit
from pulsar_backlog.output.data_files import rows_in_file
from pulsar_backlog.progress import Progress
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.scanning.accounts import Accounts
from pulsar_backlog.scanning.books import copy_accounts, damaged_units, less_what_was_lost, scan_rows
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, Runs, joined_runs
from pulsar_backlog.scanning.packs import pack_units, unit_bytes
from pulsar_backlog.spark.java import check_java
from pulsar_backlog.tableio.maintenance import join_while_small
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tasks.memory import memory
from pulsar_backlog.tasks.pool import TaskPool

GROUP_BYTES = 64 * 1024**3
"""Bytes scanned between two commits: what a killed scan loses at most."""
GROUP_LEDGERS = 2000
"""Ledgers scanned between two commits, so that the slice stays a list one can print."""
MAX_BYTES_WITHOUT_JAVA = 1024**3
"""Bytes that are scanned before anybody looks for Java: of more, tables may come that only Spark reads."""
MAX_PAGE_CACHE_SHARE = 1 / 8
"""Of the memory that is free: so much of the page cache a scan may fill with what it reads. Others have files there."""


def scan_groups(copies: Sequence[PlannedCopy]) -> Iterator[list[PlannedCopy]]:
    """Copies in groups of about `GROUP_BYTES` and at most `GROUP_LEDGERS`."""
    return groups_of(copies, GROUP_LEDGERS, GROUP_BYTES, lambda copy: copy.data_bytes or 0)


def scan_group(context: JobContext, source: Source, group: list[PlannedCopy], show: Progress) -> dict[str, int]:
    """Write entries, facts and `rejects`, then `scans` of a group of copies; rows written."""
    units = [unit for copy in group for unit in units_of(copy)]
    part = context.slice.where(ledger_id=[copy.ledger_id for copy in group])
    accounts, runs = store_entries(context, source, units, part, show)
    facts = joined_runs(runs, lambda ledger_id, run: _publish_times(context, ledger_id, run))
    rows = [ledger_row(facts.get(one.ledger_id), context.cluster, one.topic, one.ledger_id) for one in group]
    context.store.replace(TABLES["ledger_facts"], rows, part)
    books = scan_rows(group, copy_accounts(units, accounts), context.cluster)
    context.store.replace(TABLES["scans"], books, part)
    totals = accounts.values()
    return {
        "entries": sum(account.decoded for account in totals),
        "rejects": sum(account.rejected + account.faults for account in totals),
    }


def join_facts(context: JobContext) -> None:
    """Join the small files in which tasks left facts: each job of each night reads them all."""
    for name in ROW_TABLES:
        join_while_small(context.store, TABLES[name])


def store_entries(
    context: JobContext, source: Source, units: list[ScanUnit], part: Slice, show: Progress
) -> tuple[Accounts, Runs]:
    """Write the entries of `units`, which are the slice `part`, rows of facts and rejects; what was scanned, and facts.

    The one door to `entries`: tasks write the files themselves where they can, Spark's writer does it elsewhere.
    """
    cluster = context.cluster
    with context.store.stage_all([TABLES[name] for name in SCAN_TABLES], part) as staged:
        if staged is None:
            frame, accounts = entries_frame(context.spark, source, units, cluster)
            with _watched(context, show, lambda: accounts.value):
                context.store.replace(TABLES["entries"], frame, part)
            runs_stored = _facts_of_stored(context, part)
            return _with_rejects(context, source, units, part, accounts.value), runs_stored
        task = ScanTask(source, cluster, {name: one.place for name, one in staged.items()})
        if context.pool is None:
            result = _scan_by_spark(context, task, units, show)
        else:
            size = sum(map(unit_bytes, units))
            if size > MAX_BYTES_WITHOUT_JAVA:
                check_java()
            result = _scan_by_pool(context.pool, context, past_page_cache(task, size), units, show)
        _check_rows(result.files, result.accounts)
        for one in staged.values():
            one.commit(result.files)
    return result.accounts, result.runs


def past_page_cache(task: ScanTask, size: int) -> ScanTask:
    """The task, which does not fill the page cache with so many bytes where they would take much of it."""
    of_machine = memory()
    if of_machine is None or size <= of_machine.free_bytes * MAX_PAGE_CACHE_SHARE:
        return task
    return replace(task, source=replace(task.source, past_page_cache=True))


def _scan_by_pool(
    pool: TaskPool, context: JobContext, task: ScanTask, units: Sequence[ScanUnit], show: Progress
) -> ScanResult:
    """Scan in processes of this machine."""
    every = ScanResult([], {}, {})
    with _watched(context, show, lambda: every.accounts):
        pool.run(task, pack_units(units, pool.cores), every.add)
    return every


def _scan_by_spark(context: JobContext, task: ScanTask, units: Sequence[ScanUnit], show: Progress) -> ScanResult:
    """Scan in tasks of Spark."""
    frame, accounts, runs = scan_files(context.spark, task, units)
    with _watched(context, show, lambda: accounts.value):
        files = frame.collect()
    return ScanResult(files, accounts.value, runs.value)


def _with_rejects(
    context: JobContext, source: Source, units: list[ScanUnit], part: Slice, accounts: Accounts
) -> Accounts:
    """Write `rejects` by a second walk of the units that have some, as one Spark job has one schema; the accounts."""
    frame, again = rejects_frame(context.spark, source, damaged_units(units, accounts), context.cluster)
    context.store.replace(TABLES["rejects"], frame, part)
    return less_what_was_lost(accounts, again.value)


def _facts_of_stored(context: JobContext, part: Slice) -> Runs:
    """Write the rows of facts of entries that are written, from those; their other facts."""
    packed, runs = packed_facts(context.table("entries").filter(part.column()), context.cluster)
    packed = context.cache(packed)
    for name in ROW_TABLES:
        context.store.replace(TABLES[name], unpacked(packed, name), part)
    return runs.value


def _check_rows(files: Iterable[Any], accounts: Accounts) -> None:
    """What was decoded and rejected is in the files; anything else is a fault of this program."""
    written = Counter[str]()
    for file in files:
        written[file["table"]] += rows_in_file(file)
    decoded = sum(account.decoded for account in accounts.values())
    rejects = sum(account.reject_rows for account in accounts.values())
    if (written["entries"], written["rejects"]) != (decoded, rejects):
        raise RuntimeError(
            f"decoded {decoded} entries and wrote {written['entries']}, {rejects} rejects and {written['rejects']}"
        )


def _publish_times(context: JobContext, ledger_id: int, run: Facts) -> Iterator[PublishTimes]:
    """The publish times of a run, from its spans."""
    first, last = run.order.first.entry_id, run.order.last.entry_id
    spans = context.table("entry_spans").filter(
        (f.col("ledger_id") == ledger_id) & f.col("first_entry_id").between(first, last)
    )
    columns = ("first_entry_id", "last_entry_id", "entry_ids", "publish_times_ms", "untimed")
    for batch in spans.select(*columns).orderBy("first_entry_id").toArrow().to_batches():
        for row in range(batch.num_rows):
            yield publish_times_of(batch, row)


def _watched(context: JobContext, show: Progress, accounts: Callable[[], Accounts]) -> AbstractContextManager[None]:
    """Progress while tasks scan: of units that are finished, and of live ledgers also what is read of the others."""
    live = context.live()
    if live is None or live.run_folder is None:
        return show.watch(lambda: accumulated_bytes(accounts()))
    folder = Path(live.run_folder)
    before = reading_of(folder).read_bytes

    def done_bytes() -> int:
        return max(accumulated_bytes(accounts()), reading_of(folder).read_bytes - before)

    return show.watch(done_bytes)


def accumulated_bytes(accounts: Accounts) -> int:
    """Bytes of the entries of finished units."""
    return sum(account.entry_bytes for account in list(accounts.values()))
