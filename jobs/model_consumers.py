"""What real clients would do with the stored chunks: outcomes by publication and model, forecasts by topic and model.

Reads: `noted_entries`, `chunked_messages`, `ledgers`; `saved_states` for what one read of the brokers takes at most.
Writes: `consumer_outcomes`, `client_forecasts` and its `findings`; `topic_digests`: topics that were not folded anew
keep their rows.
Guarantees: every publication has one outcome per model, every topic with chunks one forecast per model. A topic
partition is read in position order as a stream, chunk rows only.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.chunks.clients.models import DEFAULT_MODELS
from pulsar_backlog.chunks.dispatch.brokers import broker_for
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.steps.saved_rows import settings_in
from pulsar_backlog.steps.topic_digests import is_finished

JOB = "model_consumers"
INPUTS = ("noted_entries", "chunked_messages", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, model, inputs=INPUTS)


def model(context: JobContext) -> JobResult:
    """Run the models over the topics that changed, write outcomes, forecasts and findings."""
    models = context.options.model or DEFAULT_MODELS
    batches = broker_for(settings_in(context)).read_batches
    read_batch = batches[0] if len(batches) == 1 else None
    inputs: dict[str, object] = {"read_batch": read_batch, **{name: context.version(name) for name in INPUTS}}
    digest = fingerprint(context.options, inputs)
    if is_unchanged(context, digest) and is_finished(context):
        return JobResult(digest, changed=False)
    from pulsar_backlog.steps.consumer_models import run_models  # noqa: PLC0415 - of no use without news

    return run_models(context, digest, INPUTS, models, read_batch)


if __name__ == "__main__":
    run_process(main)
