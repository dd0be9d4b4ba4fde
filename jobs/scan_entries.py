"""Every stored entry of the selected ledger copies, decoded: location, checksum, all metadata, no payload.

Reads: `ledgers` (the plan), and the data objects by ranges.
Writes: `entries`; what they show together (`ledger_facts`, `producer_facts`, `entry_spans`); the few that later jobs
look at one by one (`noted_entries`); `rejects`, `scans` (the books, written last), its `findings`. A slice is a ledger.
Guarantees: entries walked = decoded + rejected; facts are made of what is written; a finished copy is not scanned
again; a killed scan starts again with the ledgers it had not finished. What --budget-bytes, --sample and --limit leave
out is a finding of each topic, and the exit code is 4.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse

from pulsar_backlog.arguments import JobArguments, budget_of, job_parser
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.ledgers.budget import within
from pulsar_backlog.progress import progress
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps import unscanned
from pulsar_backlog.steps.live_snapshots import findings_of_end
from pulsar_backlog.steps.scan_findings import TABLES_ASKED, findings_of_changed, findings_of_left, findings_of_scans

JOB = "scan_entries"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, scan)


def scan(context: JobContext) -> JobResult:
    """Scan what the books do not have yet, group by group, then say what the entries show."""
    digest = fingerprint(context.options, {"ledgers": context.version("ledgers")})
    made = all(context.has(name) for name in ("scans", "ledger_facts"))
    if made and is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    source = context.source()
    budget = budget_of(context.options)
    with query_engine(context, unscanned.TABLES_ASKED) as engine:
        unread = unscanned.pending_copies(context, engine)
        topics = {} if budget.is_everything else unscanned.bytes_of_topics(engine)
        was_left = unscanned.told_of_left(context, engine)
    pending = within(budget, unread.copies, topics)
    taken = {copy.ledger_id for copy in pending}
    unread_copies = [copy for copy in unread.copies if copy.ledger_id not in taken]
    if not unread.copies and not was_left and not context.has("gone_ledgers"):
        return JobResult(digest, changed=False)
    unread.tell()
    from pulsar_backlog.steps.scan_group import join_facts, scan_group, scan_groups  # noqa: PLC0415 - numba, of no use without news

    rows = {"entries": 0, "rejects": 0}
    total = sum(copy.data_bytes or 0 for copy in pending)
    shown = progress("scan", sum(copy.scan_bytes for copy in pending))
    with shown as show:
        for group in scan_groups(pending):
            written = scan_group(context, source, group, show)
            rows = {name: rows[name] + written[name] for name in rows}
    join_facts(context)
    findings = [
        *findings_of_changed(unread.changed),
        *findings_of_left(unread_copies, topics, str(budget)),
        *findings_of_end(context.options, context.live()),
    ]
    with query_engine(context, TABLES_ASKED) as engine:
        replace_findings(context, with_findings(context, findings_of_scans(context, engine), findings))
    return JobResult(digest, rows=rows | {"scans": len(pending)}, bytes_read=total)


if __name__ == "__main__":
    run_process(main)
