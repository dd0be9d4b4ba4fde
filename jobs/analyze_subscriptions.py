"""What each subscription has acknowledged, what it will get, and why it is stuck.

Reads: `entry_spans`, `ledger_facts`, `noted_entries`, `chunks`, `chunked_messages`, `ledgers`, which models
`client_forecasts` is of, and `entries` of topics whose counts look as if a transaction were open or say that messages
are delayed; the folder of saved
admin JSON and raw cursor state, `saved_states` of topics it lacks, and cursor ledgers in files of bookies
(`internal_copies`).
Writes: `subscriptions`, `ack_ranges`, `stalls` and its `findings`; `saved_states`, as every job that is given state;
`topic_digests`: topics of which neither log nor saved state changed keep their rows.
Guarantees: nothing is named for acknowledging whose message may still arrive, or can be rebuilt and was not exported;
nobody is told to wait for a message that a model of a client, opened again, does not deliver.
One pass over spans of entries, whatever the number of subscriptions; without saved state it does nothing and says so.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.chunks.clients.reopened import models_to_ask
from pulsar_backlog.cluster.required_state import look_at_admin
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.steps.state_folder import state_inputs
from pulsar_backlog.steps.topic_digests import is_finished

JOB = "analyze_subscriptions"
INPUTS = ("entry_spans", "ledger_facts", "noted_entries", "chunks", "chunked_messages", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, analyze, lambda options: look_at_admin(options.admin), inputs=INPUTS)


def analyze(context: JobContext) -> JobResult:
    """Join the log with the saved state of its subscriptions."""
    inputs: dict[str, object] = {name: context.version(name) for name in (*INPUTS, "internal_copies")}
    models = _models(context)
    digest = fingerprint(context.options, inputs | state_inputs(context) | {"models": models})
    if is_unchanged(context, digest) and is_finished(context):
        return JobResult(digest, changed=False)
    from pulsar_backlog.steps.subscription_analysis import analyze_topics  # noqa: PLC0415 - of no use without news

    return analyze_topics(context, digest, INPUTS, models)


def _models(context: JobContext) -> tuple[str, ...]:
    """The models that the forecasts are of, and the current release of each family that none of them is of."""
    forecasts = context.small_rows("client_forecasts")
    if forecasts is not None:
        return models_to_ask(sorted(forecasts["model"].unique().to_pylist()))
    from pulsar_backlog.sql.engines import query_engine  # noqa: PLC0415 - DuckDB, where forecasts are many

    with query_engine(context, ("client_forecasts",)) as engine:
        rows = engine.rows({"models": "SELECT DISTINCT model FROM client_forecasts"})["models"]
    return models_to_ask(sorted(row["model"] for row in rows))


if __name__ == "__main__":
    run_process(main)
