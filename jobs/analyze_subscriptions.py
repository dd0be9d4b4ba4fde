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
import sys
from functools import partial

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.chunks.clients.reopened import models_to_ask
from pulsar_backlog.cluster.required_state import look_at_admin
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.sql.engines import MAX_TASK_BYTES, query_engine
from pulsar_backlog.steps import stored_ledgers
from pulsar_backlog.steps.known_state import state_inputs
from pulsar_backlog.steps.saved_state import SavedState, changes_of_subscriptions, saved_state
from pulsar_backlog.steps.stored_ledgers import StoredLedgers
from pulsar_backlog.steps.subscription_acks import ack_range_rows, name_acks, subscription_rows
from pulsar_backlog.steps.subscription_stalls import (
    delayed_chunks,
    findings_of_stalls,
    log_evidence,
    name_stalls,
    open_transactions,
    stall_rows,
)
from pulsar_backlog.steps.topic_changes import is_finished

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
    with query_engine(context, stored_ledgers.TABLES_ASKED) as engine:
        ledgers = StoredLedgers.of(engine)
    looked_at = changes_of_subscriptions(context, ledgers, {"models": models})
    if looked_at is None:
        return _without_state(digest)
    changes, state = looked_at
    changes.begin()
    rows = (
        {}
        if changes.is_empty
        else _analyze(context, changes.context, saved_state(changes.context, ledgers, state), models)
    )
    return JobResult(digest, rows=rows | {"topic_digests": changes.finish()})


def _analyze(context: JobContext, part: JobContext, saved: SavedState, models: tuple[str, ...]) -> dict[str, int]:
    """Of the topics of `part`; `entries`, of which few topics are asked, by `context`."""
    with query_engine(part, INPUTS, MAX_TASK_BYTES) as engine:
        name_acks(engine, saved.states)
        delayed = delayed_chunks(context, saved.delaying_topics)
        name_stalls(engine, saved.readers, saved.horizons, models, context.cluster, delayed)
        begins = open_transactions(context, saved.wanted_transactions)
        held_up = saved.held_up(log_evidence(engine), begins)
        replaced = {
            "subscriptions": subscription_rows(engine, saved.rows(context.cluster, held_up)),
            "ack_ranges": ack_range_rows(engine, context.cluster),
            "stalls": stall_rows(engine),
        }
        findings = with_findings(part, findings_of_stalls(part, engine), saved.findings(held_up))
        return part.replace_all(replaced, partial(replace_findings, part, findings))


def _models(context: JobContext) -> tuple[str, ...]:
    """The models that the forecasts are of, and the current release of each family that none of them is of."""
    forecasts = context.small_rows("client_forecasts")
    if forecasts is not None:
        return models_to_ask(sorted(forecasts["model"].unique().to_pylist()))
    with query_engine(context, ("client_forecasts",)) as engine:
        rows = engine.rows({"models": "SELECT DISTINCT model FROM client_forecasts"})["models"]
    return models_to_ask(sorted(row["model"] for row in rows))


def _without_state(digest: str) -> JobResult:
    """Nothing to look at; what a version before this one said of subscriptions, whose state it did not store, stays."""
    sys.stderr.write("No saved state of subscriptions is given (--admin): they are not looked at.\n")
    return JobResult(digest, changed=False)


if __name__ == "__main__":
    run_process(main)
