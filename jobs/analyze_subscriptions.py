"""What each subscription has acknowledged, what it will get, and why it is stuck.

Reads: `entry_spans`, `ledger_facts`, `noted_entries`, `chunks`, `chunked_messages`, `ledgers`, and which models
`client_forecasts` is of; the folder of saved admin JSON and raw cursor state, and `saved_states` of topics it lacks.
Writes: `subscriptions`, `ack_ranges`, `stalls` and its `findings`; `saved_states`, as every job that is given state.
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
from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.chunks.clients.reopened import models_to_ask
from pulsar_backlog.cluster.required_state import look_at_admin
from pulsar_backlog.frames.log.order import log_ends
from pulsar_backlog.frames.subscriptions.ack_join import ack_range_rows, cut_spans, join_acks
from pulsar_backlog.frames.subscriptions.advice import advised_stalls
from pulsar_backlog.frames.subscriptions.compaction import compacted_stalls
from pulsar_backlog.frames.subscriptions.findings import COUNTED, places_of_batches, places_of_stalls
from pulsar_backlog.frames.subscriptions.rows import subscription_rows
from pulsar_backlog.frames.subscriptions.stall_join import join_stalls
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.sql.engines import spark_engine
from pulsar_backlog.steps.chunk_rows import model_rows, name_chunk_entries
from pulsar_backlog.steps.finding_rows import counted_findings
from pulsar_backlog.steps.known_state import state_inputs
from pulsar_backlog.steps.saved_state import SavedState, saved_state

JOB = "analyze_subscriptions"
INPUTS = ("entry_spans", "ledger_facts", "noted_entries", "chunks", "chunked_messages", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, analyze, lambda options: look_at_admin(options.admin), inputs=INPUTS)


def analyze(context: JobContext) -> JobResult:
    """Join the log with the saved state of its subscriptions."""
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    models = _models(context)
    digest = fingerprint(context.options, inputs | state_inputs(context) | {"models": models})
    if is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    tables = {name: context.table(name) for name in INPUTS}
    spans, chunks, publications = (tables[name] for name in ("entry_spans", "chunks", "chunked_messages"))
    saved = saved_state(context, tables["ledgers"], tables["ledger_facts"])
    if saved is None:
        return _without_state(digest)
    joined = context.cache(join_acks(spans, cut_spans(spans, saved.states), saved.states, context.partitions))
    stalls = context.cache(_stalls(context, tables, saved, models))
    rows = subscription_rows(context.spark, saved.rows(context.cluster), joined, stalls, chunks, publications)
    ranges = ack_range_rows(joined, context.cluster)
    places = places_of_stalls(stalls).unionByName(places_of_batches(joined))
    findings = with_findings(context, counted_findings(context, places, COUNTED), saved.findings())
    replaced = {"subscriptions": rows, "ack_ranges": ranges, "stalls": stalls}
    return JobResult(digest, rows=context.replace_all(replaced, partial(replace_findings, context, findings)))


def _stalls(
    context: JobContext, tables: Mapping[str, DataFrame], saved: SavedState, models: tuple[str, ...]
) -> DataFrame:
    """Chunk entries that subscriptions are stuck on, and those that compaction cannot keep."""
    log_entries, publications = tables["noted_entries"], tables["chunked_messages"]
    judged = partial(
        join_stalls, publications, tables["chunks"], log_ends=log_ends(tables["ledger_facts"]),
        cluster=context.cluster, partitions=context.partitions,
    )  # fmt: skip
    with spark_engine(context, {"noted_entries": log_entries, "chunked_messages": publications}) as engine:
        name_chunk_entries(engine)
        rows = engine.frame(model_rows(engine))
    stalls = advised_stalls(judged, saved.readers, rows, models, context.partitions, context.cache)
    return stalls.unionByName(compacted_stalls(publications, log_entries, saved.horizons, context.cluster))


def _models(context: JobContext) -> tuple[str, ...]:
    """The models that the forecasts are of, and the current release of each family that none of them is of."""
    forecasts = context.small_rows("client_forecasts")
    if forecasts is not None:
        return models_to_ask(sorted(set(forecasts["model"].to_pylist())))
    rows = context.table("client_forecasts").select("model").distinct().toLocalIterator()
    return models_to_ask(sorted(row["model"] for row in rows))


def _without_state(digest: str) -> JobResult:
    """Nothing to look at; what a version before this one said of subscriptions, whose state it did not store, stays."""
    sys.stderr.write("No saved state of subscriptions is given (--admin): they are not looked at.\n")
    return JobResult(digest, changed=False)


if __name__ == "__main__":
    run_process(main)
