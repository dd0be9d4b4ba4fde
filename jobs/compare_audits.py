"""What is new, worse, healed, gone or back since the audit before: every problem has an identity that stays.

Reads: `findings`, `stalls`, `chunked_messages`, `quality_results`, and `problems` of the audit before; of `ledgers`,
`gone_ledgers` and `subscriptions` what is there no more; `saved_states`.
Writes: `problems`, and rows of `changes` and `backlogs`.
Guarantees: what vanished where not everything could be read, or with the data it was about, is not called healed. A
run that was killed has told nobody: the next one says the same news.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.findings.acknowledgements import acknowledgements
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.steps.compared_tables import SOURCES

JOB = "compare_audits"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, run_comparison, inputs=SOURCES)


def run_comparison(context: JobContext) -> JobResult:
    """Compare, where anything is not as it was when it was compared last."""
    covers = acknowledgements(context.options.known, context.started.date())
    inputs: dict[str, object] = {name: context.version(name) for name in SOURCES}
    digest = fingerprint(context.options, {**inputs, "known": [one.model_dump(mode="json") for one in covers]})
    if is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    from pulsar_backlog.steps.comparison import compare  # noqa: PLC0415 - of no use without news

    return JobResult(digest, rows=compare(context, covers))


if __name__ == "__main__":
    run_process(main)
