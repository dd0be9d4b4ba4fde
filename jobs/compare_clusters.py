"""Two logs that should hold the same messages, compared message by message: clusters, a backup, a topic made again.

Reads: `ledgers`, `scans`, `rejects`, `chunked_messages`, `subscriptions`, `ack_ranges`, `segments` of two audits; of
ledgers whose digests are not there yet the messages themselves; `message_digests` of what differs, and of what is not
acknowledged.
Writes: `digest_ledgers`, `message_digests`, `digest_buckets`; `differences`, `compared_topics`,
`compared_subscriptions`, its `findings`, report.html and result.json. It writes nothing into the audits that it
compares.
Guarantees: messages are matched by producer, sequence id and publish time, however they were batched. What is called
certain does not depend on what could not be read. A ledger that did not change is read once, and where all is equal no
message is looked at again.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
import sys

from pulsar_backlog.api.digest_reader import reader_of
from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.steps.compared_sides import look_at_audits, sides_of, versions_of
from pulsar_backlog.steps.comparison_results import tell, write_numbers_again, write_results
from pulsar_backlog.steps.digest_tables import digest_side

JOB = "compare_clusters"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, compare, look_at_audits)


def compare(context: JobContext) -> JobResult:
    """Bring the digests of both sides up to date, compare them, write what differs."""
    keys = KeySource(context.options.private_keys, context.options.private_keys_command)
    digest = fingerprint(context.options, {**versions_of(context.options), "keys": keys.ring().fingerprint()})
    if is_unchanged(context, digest):
        sys.stderr.write("Nothing new: the same audits were compared already.\n")
        write_numbers_again(context)
        return JobResult(digest, changed=False)
    sides = sides_of(context.options)
    reader = reader_of(context.cluster, keys)
    bytes_read = sum(digest_side(context, name, side, reader) for name, side in sides.items())
    summary = write_results(context, sides)
    tell(context, summary)
    return JobResult(digest, rows=summary.rows, bytes_read=bytes_read + summary.bytes_read)


if __name__ == "__main__":
    run_process(main)
