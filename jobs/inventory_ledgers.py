"""What lies in the source: every stored copy of a ledger, reconciled with index, data and saved admin JSON.

Reads: the listing of the source and of unfinished uploads; index objects and block headers of what is listed otherwise
than when it was examined last; admin JSON when given.
Writes: `ledgers` (with the scan's plan), `gone_ledgers` (what left the source), `inventory` (what is needed, what is
missing), `internal_copies` (ledgers of bookies without messages), its `findings`, and what the next audit need not look
at again (`examined_copies`, `saved_documents`).
Guarantees: nothing is written to the source; the same listing and JSON are not looked at twice.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from pulsar_backlog.arguments import JobArguments, job_parser, scope_of, source_of
from pulsar_backlog.cluster.required_state import look_at_admin
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.ledgers.first_look import look_at
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.spark.choice import prefer_c1_compiler
from pulsar_backlog.steps.state_folder import state_inputs
from pulsar_backlog.steps.unfinished_uploads import unfinished_uploads
from pulsar_backlog.tables import TABLES

JOB = "inventory_ledgers"
BRIEF_WORK_BYTES = 32 * 1024 * 1024
"""Bytes of source and of the table `entries` up to which an audit ends before a JVM's second compiler pays."""


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, take, look_first)


def look_first(options: Options) -> None:
    """Whether there is anything to list, and saved state where it is named; before Spark starts."""
    look_at_admin(options.admin)
    look_at(source_of(options), scope_of(options))


def take(context: JobContext) -> JobResult:
    """List, examine, write."""
    context.store.check_files()
    source = source_of(context.options)
    with TemporaryDirectory(prefix="pulsar-backlog-listing-") as spill:
        listing = take_listing(source, Path(spill))
        uploads, unlisted = unfinished_uploads(source)
        inputs: dict[str, object] = {
            "objects": listing.digest,
            "uploads": sorted((one.path, one.upload_id) for one in uploads),
            **state_inputs(context),
        }
        digest = fingerprint(context.options, inputs)
        if is_unchanged(context, digest):
            return JobResult(digest, changed=False)
        stored_bytes = context.store.size_bytes(TABLES["entries"])
        if stored_bytes is not None and stored_bytes + listing.stored_bytes <= BRIEF_WORK_BYTES:
            prefer_c1_compiler()
        from pulsar_backlog.steps.few_ledgers import take_few  # noqa: PLC0415 - of no use without news
        from pulsar_backlog.steps.many_ledgers import Listed, take_many  # noqa: PLC0415

        listed = Listed(source, listing, Path(spill), uploads, unlisted)
        rows = take_many(context, listed) if listing.spilled else take_few(context, listed)
    return JobResult(digest, rows=rows)


if __name__ == "__main__":
    run_process(main)
