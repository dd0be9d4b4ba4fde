"""The cluster's own state in ledgers, decoded: schemas, policies, transactions, cursors, compaction, delayed messages.

Reads: `internal_copies` and `ledgers` (the plan), the ledgers themselves; saved state, above all a dump of the metadata
store.
Writes: `internal_ledgers`, one row for every internal ledger with a verdict; a table for each kind; `cut_off_entries`;
its `findings`.
Guarantees: what cannot be read costs a row; nothing is called lost or leaked that the saved metadata do not prove.
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
from pulsar_backlog.steps.internal_names import INTERNAL_TABLES, LOG_TABLES
from pulsar_backlog.steps.state_folder import state_inputs

JOB = "decode_internals"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, decode)


def decode(context: JobContext) -> JobResult:
    """Decode, judge, write; where plan and saved state are those of the last time, nothing."""
    plan: dict[str, object] = {name: context.version(name) for name in ("internal_copies", "ledgers", *LOG_TABLES)}
    digest = fingerprint(context.options, {**plan, **state_inputs(context)})
    if all(context.has(name) for name in INTERNAL_TABLES) and is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    from pulsar_backlog.steps.internal_decoding import decode_all  # noqa: PLC0415 - of no use without news

    return decode_all(context, digest)


if __name__ == "__main__":
    run_process(main)
