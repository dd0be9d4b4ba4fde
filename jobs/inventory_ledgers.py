"""What lies in the source: every stored copy of a ledger, reconciled with index, data and saved admin JSON.

Reads: the listing of the source and of unfinished uploads, index objects, block headers; admin JSON when given.
Writes: `ledgers` (with the scan's plan), `gone_ledgers` (what left the source), `inventory` (what is needed, what is
missing), `internal_copies` (ledgers of bookies without messages) and its `findings`.
Guarantees: nothing is written to the source; the same listing and JSON are not looked at twice.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from pulsar_backlog.arguments import JobArguments, job_parser, scope_of, source_of
from pulsar_backlog.cluster.required_state import look_at_admin
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.ledgers.first_look import look_at
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.sorted_ids import LedgerIds
from pulsar_backlog.options import Options
from pulsar_backlog.reconciliation.values import Row
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.spark.session import prefer_c1_compiler
from pulsar_backlog.steps.gone_ledgers import Missing, note_gone
from pulsar_backlog.steps.internal_ledgers import store_internal_copies
from pulsar_backlog.steps.known_state import scope_in, state_inputs, state_of
from pulsar_backlog.steps.many_ledgers import Listed, nothing_in_scope, take_many
from pulsar_backlog.steps.source_inventory import take_inventory, unfinished_uploads
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
        listed = Listed(source, listing, Path(spill), uploads, unlisted)
        rows = take_many(context, listed) if listing.spilled else take_few(context, listed)
    return JobResult(digest, rows=rows)


def take_few(context: JobContext, listed: Listed) -> dict[str, int]:
    """Examine, compare, write what one process can hold; rows by table."""
    state_by_ids = partial(state_of, context)
    inventory, findings, placed, state = take_inventory(listed.source, listed.listing, listed.uploads, state_by_ids)
    scope = scope_in(context)
    stored = LedgerIds(pa.array([copy.ledger_id for copy in inventory.copies if copy.selected], pa.int64()))
    missing = note_gone(context, scope, stored, findings, state)
    copies = [copy for copy in inventory.copies if scope.holds(copy)]
    left_out = {copy.ledger_id for copy in inventory.copies} - {copy.ledger_id for copy in copies}
    part = context.slice.without(ledger_id=missing.unseen)
    if not scope.is_everything:
        part = part.where(ledger_id=[copy.ledger_id for copy in copies] + missing.gone)
    context.store.replace(TABLES["ledgers"], [copy.row(context.cluster) for copy in copies], part)
    store_internal_copies(context, inventory.internal)
    store_inventory(context, placed, scope, missing)
    in_scope = [one for one in (*findings, *listed.findings, *missing.findings) if one.ledger_id not in left_out]
    if inventory.copies and not copies:
        in_scope.append(nothing_in_scope())
    replace_findings(context, in_scope, left_out)
    return {"ledgers": len(copies), "inventory": len(placed), "findings": len(in_scope)}


def store_inventory(context: JobContext, placed: list[Row], scope: Scope, missing: Missing) -> None:
    """Replace what `inventory` says of this cluster; of the ledgers asked for, where not all were."""
    part = context.slice.without(ledger_id=missing.unseen)
    if not scope.is_everything:
        placed = [row for row in placed if scope.names(row.topic) and scope.holds_id(row.ledger_id)]
        part = part.where(ledger_id=[row.ledger_id for row in placed] + missing.gone)
    context.store.replace(TABLES["inventory"], [row.row(context.cluster) for row in placed], part)


if __name__ == "__main__":
    run_process(main)
