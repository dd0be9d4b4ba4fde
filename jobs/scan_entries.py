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

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job

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
    from pulsar_backlog.steps.pending_scan import scan_pending  # noqa: PLC0415 - of no use without news

    return scan_pending(context, digest)


if __name__ == "__main__":
    run_process(main)
