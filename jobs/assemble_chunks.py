"""Stored chunks put together: every publication of a chunked message with its state, and every chunk's role.

Reads: `noted_entries`, `ledger_facts`, `producer_facts`, `scans`, `ledgers`, `gone_ledgers`, `rejects`; admin JSON when
given; the payloads of compressed messages that can be rebuilt, to see that they decompress.
Writes: `chunked_messages`, `chunks`, `segments`, `transactions`, `topic_stats` and its `findings`; those about the
order of a topic's log (`B`) are made here, not by the scan, because they need the broker's word on ledgers and must be
made again when that changes; `topic_digests`: topics of which nothing that it reads changed keep their rows.
Where nothing names the topic of a ledger, `entries` are read too, for what they tell of it (S35).
Guarantees: every chunk entry belongs to one publication and has one role; messages that span blocks, ledgers and
runs are one. Payload bytes are never shuffled.
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
from pulsar_backlog.steps.state_folder import state_inputs
from pulsar_backlog.steps.topic_digests import is_finished

JOB = "assemble_chunks"
INPUTS = ("noted_entries", "ledger_facts", "producer_facts", "scans", "ledgers", "gone_ledgers", "rejects")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, assemble, inputs=INPUTS)


def assemble(context: JobContext) -> JobResult:
    """Fold the chunks of the topics that changed, write publications, roles, statistics and findings."""
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    digest = fingerprint(context.options, inputs | state_inputs(context))
    if is_unchanged(context, digest) and is_finished(context):
        return JobResult(digest, changed=False)
    from pulsar_backlog.steps.chunk_assembly import assemble_topics  # noqa: PLC0415 - of no use without news

    return assemble_topics(context, digest, INPUTS)


if __name__ == "__main__":
    run_process(main)
