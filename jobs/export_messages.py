"""The messages themselves: single entries, batch members and rebuilt chunk sets, decrypted, decompressed, verified.

Reads: `entries`, `chunked_messages`, `ledgers`, `cut_off_entries` where these are wanted; the byte ranges of what is
exported; private keys where given.
Writes: `messages` (a table, a Parquet folder, or JSON lines beside files), or with `decode` a table for each topic
in a folder `decoded`; payload files, and its `findings`.
Guarantees: what is marked verified was read again whole, its checksums, sizes and decompression agree, and its row
names exactly the entries it was made of. No payload is shuffled. A topic's rows in the table, and its findings, are
those of its last export.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.export.decoded import shaped
from pulsar_backlog.frames.export.findings import COUNTED, INCOMPLETE, as_it_was_read, places_of_export
from pulsar_backlog.frames.export.plan import (
    Decided,
    wanted_entries,
    with_transactions,
)
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.report.terminal.exported import print_export
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings
from pulsar_backlog.runs.messages import is_there, read_messages, write_messages
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.steps.cut_off_export import check_cut_off_options, exported_cut_off
from pulsar_backlog.steps.decoded_export import are_there, decoded_tables, digest_of, plain_shape, write_tables
from pulsar_backlog.steps.exporting import exported, filters_of, of_topics, slice_of, summary_of, wanted_topics
from pulsar_backlog.steps.finding_rows import counted_findings
from pulsar_backlog.terminal import terminal

JOB = "export_messages"
INPUTS = ("entries", "chunked_messages", "ledgers", "transactions", "segments")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, export)


def export(context: JobContext) -> JobResult:
    """Plan on metadata, read what is planned, write messages and findings."""
    options = context.options
    if options.only_cut_off:
        return export_cut_off(context)
    keys = KeySource(options.private_keys, options.private_keys_command)
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    if inputs["entries"] == -1:
        raise UsageError(f"there are no entries in {context.out}: audit the source first, with --out {context.out}")
    shape, topics = plain_shape(context), wanted_topics(context)
    tables = decoded_tables(context, topics)
    digest = fingerprint(options, inputs | {"keys": keys.ring().fingerprint(), **digest_of(tables)})
    if is_unchanged(context, digest) and (are_there(context, tables) if options.decode else is_there(context)):
        sys.stderr.write("Nothing new: the same export is there already.\n")
        return JobResult(digest, changed=False)
    filters = filters_of(options)
    entries = of_topics(context.table("entries"), topics)
    publications = of_topics(context.table("chunked_messages"), topics)
    messages = with_transactions(entries, Decided(context.table("transactions"), context.table("segments")))
    if tables:
        written = write_tables(context, tables, messages, publications, filters, keys)
    else:
        rows = exported(context, messages, publications, filters, keys)
        write_messages(context, shaped(rows, shape) if shape.masks else rows, slice_of(context, topics))
        written = read_messages(context).filter(slice_of(context, topics).column())
    hidden = None if filters.all_transactions else wanted_entries(messages, filters)
    places = places_of_export(as_it_was_read(written), wanted_entries(publications, filters), hidden)
    replace_findings(context, counted_findings(context, places, COUNTED, INCOMPLETE), topics=topics)
    summary = summary_of(context, written, topics)
    print_export(summary, terminal())
    return JobResult(digest, rows={"messages": summary.messages}, bytes_read=summary.payload_bytes, topics=topics)


def export_cut_off(context: JobContext) -> JobResult:
    """The same of messages behind the ends of ledgers, into a folder of their own; findings stay as they are."""
    check_cut_off_options(context)
    topics = wanted_topics(context)
    write_messages(context, exported_cut_off(context, topics), slice_of(context, topics))
    written = read_messages(context).filter(slice_of(context, topics).column())
    summary = replace(summary_of(context, written, topics), findings={})
    print_export(summary, terminal())
    digest = fingerprint(context.options, {name: context.version(name) for name in ("entries", "cut_off_entries")})
    return JobResult(digest, rows={"messages": summary.messages}, bytes_read=summary.payload_bytes, topics=topics)


if __name__ == "__main__":
    run_process(main)
