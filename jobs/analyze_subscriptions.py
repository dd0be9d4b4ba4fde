"""What each subscription has acknowledged, what it will get, and why it is stuck.

Reads: `entry_spans`, `ledger_facts`, `noted_entries`, `chunks`, `chunked_messages`, `ledgers`, and which models
`client_forecasts` is of; the folder of saved admin JSON and raw cursor state.
Writes: `subscriptions`, `ack_ranges`, `stalls` and its `findings`.
Guarantees: nothing is named for acknowledging whose message may still arrive, or can be rebuilt and was not exported;
nobody is told to wait for a message that a model of a client, opened again, does not deliver.
One pass over spans of entries, whatever the number of subscriptions; without saved state it does nothing and says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.chunks.clients.reopened import models_to_ask
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.digest import folder_digest
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.cursors.predict import Limits
from pulsar_backlog.findings import Finding
from pulsar_backlog.frames.clients.rows import model_rows
from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.frames.subscriptions.ack_join import SUM, cut_spans, join_acks
from pulsar_backlog.frames.subscriptions.advice import advised_stalls
from pulsar_backlog.frames.subscriptions.compaction import compacted_stalls
from pulsar_backlog.frames.subscriptions.findings import (
    findings_of_batches,
    findings_of_stalls,
    findings_of_state,
)
from pulsar_backlog.frames.subscriptions.rows import Analysed, analysed, join_state, said_row, subscription_rows
from pulsar_backlog.frames.subscriptions.stall_join import join_stalls
from pulsar_backlog.storage.delta import read_table, replace_slice
from pulsar_backlog.storage.findings import findings_frame, replace_findings
from pulsar_backlog.storage.runs import JobContext, JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.subscriptions.sightings import CursorViews, cursor_views
from pulsar_backlog.subscriptions.states import by_topic
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import Position

JOB = "analyze_subscriptions"
INPUTS = ("entry_spans", "ledger_facts", "noted_entries", "chunks", "chunked_messages", "ledgers")
OUTPUTS = ("subscriptions", "ack_ranges", "stalls")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, analyze)


def analyze(context: JobContext) -> JobResult:
    """Join the log with the saved state of its subscriptions."""
    admin = context.options.admin
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    models = _models(context)
    digest = fingerprint(context.options, inputs | {"admin": folder_digest(admin), "models": models})
    if is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    if admin is None:
        return _without_state(context, digest)
    tables = {name: context.table(name) for name in INPUTS}
    ledgers = tables["ledgers"]
    stored = {row["ledger_id"]: (row["topic"], row["expected_entries"]) for row in _stored(ledgers).toLocalIterator()}
    state = read_cluster_state(Path(admin), {id_: topic for id_, (topic, _) in stored.items() if topic})
    lengths: dict[str, dict[int, int | None]] = {}
    for ledger_id, (topic, count) in stored.items():
        lengths.setdefault(topic or "", {})[ledger_id] = count
    views = cursor_views(state, lengths)
    read = frozenset(row["ledger_id"] for row in tables["ledger_facts"].select("ledger_id").toLocalIterator())
    return _write(context, digest, state, views, tables, read & stored.keys(), models)


def _write(
    context: JobContext, digest: str, state: ClusterState, views: CursorViews, tables: Mapping[str, DataFrame],
    stored: frozenset[int], models: tuple[str, ...],
) -> JobResult:  # fmt: skip
    options, out, origin = context.options, context.out, Origin(context.cluster, JOB)
    spans, chunks, publications = (tables[name] for name in ("entry_spans", "chunks", "chunked_messages"))
    usual = Limits()
    limits = replace(
        usual,
        ranges=options.max_ack_ranges or usual.ranges,
        batch_entries=options.max_batch_acks or usual.batch_entries,
    )
    subscriptions = list(analysed(views, state, limits))
    known = [(one, join) for one in subscriptions if (join := join_state(one)) is not None]
    readers = by_topic((one.topic, join) for one, join in known if one.kind == "subscription")
    partitions = context.partitions
    log_ends = _log_ends(tables["ledger_facts"])
    states = by_topic((one.topic, join) for one, join in known)
    joined = context.keep(join_acks(spans, cut_spans(spans, states), states, partitions))
    judged = partial(
        join_stalls, publications, chunks, log_ends=log_ends, cluster=context.cluster, partitions=partitions
    )
    chunk_rows = model_rows(tables["noted_entries"], publications)
    stalls = advised_stalls(judged, readers, chunk_rows, models, partitions, context.keep)
    compacted = compacted_stalls(publications, tables["noted_entries"], _horizons(subscriptions), context.cluster)
    stalls = context.keep(stalls.unionByName(compacted))
    said = [said_row(one, context.cluster, views.lengths.get(one.topic, {}), stored, limits) for one in subscriptions]
    mine = context.mine
    ranges = joined.filter(f.col("kind") != SUM).withColumn("cluster", f.lit(context.cluster))
    rows = subscription_rows(context.spark, said, joined, stalls, chunks, publications)
    replace_slice(rows, out, TABLES["subscriptions"], mine)
    replace_slice(ranges.select(*TABLES["ack_ranges"].column_names()), out, TABLES["ack_ranges"], mine)
    replace_slice(stalls, out, TABLES["stalls"], mine)
    found = findings_frame(context, _unique(_findings(subscriptions, views)))
    for frame in (findings_of_stalls(stalls, origin), findings_of_batches(joined, origin)):
        found = found.unionByName(frame)
    replace_findings(context, found)
    return JobResult(digest, rows={name: context.written(name) for name in OUTPUTS})


def _models(context: JobContext) -> tuple[str, ...]:
    """The models that the forecasts are of, and the current release of each family that none of them is of."""
    held = context.held("client_forecasts")
    if held is not None:
        return models_to_ask(sorted(set(held["model"].to_pylist())))
    rows = context.table("client_forecasts").select("model").distinct().toLocalIterator()
    return models_to_ask(sorted(row["model"] for row in rows))


def _without_state(context: JobContext, digest: str) -> JobResult:
    """Nothing to look at; what an earlier run with state left must not be taken for this one's."""
    sys.stderr.write("No saved state of subscriptions is given (--admin): they are not looked at.\n")
    left = [name for name in OUTPUTS if context.has(name)]
    if not left:
        return JobResult(digest, changed=False)
    for name in left:
        table = read_table(context.spark, context.out, TABLES[name])
        replace_slice(table.limit(0), context.out, TABLES[name], context.mine)
    replace_findings(context, ())
    return JobResult(digest, rows=dict.fromkeys(left, 0))


def _findings(subscriptions: list[Analysed], views: CursorViews) -> list[Finding]:
    of_states = [found for one in subscriptions for found in findings_of_state(one, views.lengths.get(one.topic, {}))]
    return [*views.findings, *(found for view in views.cursors.values() for found in view.findings), *of_states]


def _unique(findings: list[Finding]) -> list[Finding]:
    """One finding per code and subject, the first: two files may hold the same fault."""
    return list({(found.code, found.subject): found for found in reversed(findings)}.values())


def _log_ends(facts: DataFrame) -> dict[str, Position]:
    """The last stored entry of each topic."""
    last = f.max(f.struct("ledger_id", "last_entry_id")).alias("last")
    rows = facts.filter(f.col("topic").isNotNull() & (f.col("entries") > 0)).groupBy("topic").agg(last)
    return {row["topic"]: (row["last"]["ledger_id"], row["last"]["last_entry_id"]) for row in rows.toLocalIterator()}


def _horizons(subscriptions: list[Analysed]) -> dict[str, Position]:
    """How far each topic is compacted."""
    return {
        one.topic: one.found.chosen.acked.mark_delete
        for one in subscriptions
        if one.kind == "compaction" and one.found is not None
    }


def _stored(ledgers: DataFrame) -> DataFrame:
    return ledgers.filter(f.col("selected")).select("ledger_id", "topic", "expected_entries")


if __name__ == "__main__":
    sys.exit(main())
