"""What real clients would do with the stored chunks: outcomes by publication and model, forecasts by topic and model.

Reads: `noted_entries`, `chunked_messages`, `ledgers`.
Writes: `consumer_outcomes`, `client_forecasts` and its `findings`.
Guarantees: every publication has one outcome per model, every topic with chunks one forecast per model. A topic
partition is read in position order as a stream, chunk rows only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.chunks.clients.models import DEFAULT_MODELS, parse_model
from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.clients.findings import findings_of_models
from pulsar_backlog.frames.clients.models import ModelContext, forecasts_of, outcomes_of, run_models
from pulsar_backlog.frames.clients.rows import model_rows
from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.storage.context import JobContext
from pulsar_backlog.storage.findings import replace_findings
from pulsar_backlog.storage.runs import JobResult, fingerprint, is_unchanged, run_job

JOB = "model_consumers"
INPUTS = ("noted_entries", "chunked_messages", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, model)


def model(context: JobContext) -> JobResult:
    """Run the models over all topics of the cluster, write outcomes, forecasts and findings."""
    models = _models(context)
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    digest = fingerprint(context.options, inputs)
    if is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    publications = context.table("chunked_messages")
    partitions = context.partitions
    rows = model_rows(context.table("noted_entries"), publications)
    run = context.keep(run_models(rows, ModelContext(models, _ledger_topics(context, models)), partitions))
    outcomes, forecasts = outcomes_of(run, context.cluster), forecasts_of(run, context.cluster)
    counts = {"consumer_outcomes": context.replace("consumer_outcomes", outcomes)}  # runs the models
    found = findings_of_models(outcomes, forecasts, publications, Origin(context.cluster, JOB))
    counts |= context.replace_all({"client_forecasts": forecasts}, partial(replace_findings, context, found))
    return JobResult(digest, rows=counts)


def _models(context: JobContext) -> tuple[str, ...]:
    """The models asked for.

    Raises:
        UsageError: one of them cannot be understood.
    """
    models = context.options.model or DEFAULT_MODELS
    for name in models:
        try:
            parse_model(name)
        except ValueError as error:
            raise UsageError(f"--model {name}: {error}") from error
    return models


def _ledger_topics(context: JobContext, models: Sequence[str]) -> dict[int, str]:
    """Topics of the few ledgers that the models' positions name."""
    settings = [parse_model(name) for name in models]
    named = {at[0] for s in settings for at in (*s.reconnect_after, *s.restart_after, *((s.start,) if s.start else ()))}
    rows = context.table("ledgers").filter(f.col("ledger_id").isin(*named) & f.col("topic").isNotNull())
    return {row["ledger_id"]: row["topic"] for row in rows.select("ledger_id", "topic").distinct().toLocalIterator()}


if __name__ == "__main__":
    sys.exit(main())
