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
from collections.abc import Iterator

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.findings import Finding
from pulsar_backlog.frames.log.chains import findings_of_chains
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.reconciliation.segments import findings_of_segments
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.sql.engines import MAX_TASK_BYTES, QueryEngine, query_engine
from pulsar_backlog.steps.chunk_findings import TopicFacts, findings_of_chunks
from pulsar_backlog.steps.chunk_rows import name_chunk_entries
from pulsar_backlog.steps.finding_rows import noticed_findings
from pulsar_backlog.steps.folding import fold
from pulsar_backlog.steps.known_state import state_by_ledgers, state_inputs
from pulsar_backlog.steps.log_edges import edge_rows, log_edges
from pulsar_backlog.steps.order_findings import findings_of_order
from pulsar_backlog.steps.segments import findings_of_ledgers, segment_rows, stored_segments, transaction_rows
from pulsar_backlog.steps.topic_changes import is_finished
from pulsar_backlog.steps.topic_inputs import FOLD_TABLES, changes_of_fold, open_topics
from pulsar_backlog.steps.topic_stats import topic_stats

JOB = "assemble_chunks"
MADE_HERE = ("chunked_messages", "segments", "transactions")
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
    with query_engine(context, FOLD_TABLES) as engine:
        state = state_by_ledgers(context, engine)
        changes = changes_of_fold(context, engine, state)
    changes.begin()
    rows = {} if changes.is_empty else _assemble(context, changes.context, changes.of_topics(state))
    return JobResult(digest, rows=rows | {"topic_digests": changes.finish(*open_topics(changes.context))})


def _assemble(context: JobContext, part: JobContext, state: ClusterState | None) -> dict[str, int]:
    with query_engine(part, INPUTS, MAX_TASK_BYTES) as engine:
        _name_relations(engine)
        edges = log_edges(edge_rows(engine), engine, state, (context.options.grace_seconds or 0) * 1000)
        rows = fold(part, engine, edges)
        chains = list(_chains(part, engine))
        segments = stored_segments(engine, state)
        chains += findings_of_ledgers(engine, segments, state)
        rows["segments"] = context.replace("segments", segment_rows(segments, context.cluster))
        rows["transactions"] = context.replace("transactions", transaction_rows(state, context.cluster))
    with query_engine(part, (*INPUTS, *MADE_HERE)) as engine:
        _name_relations(engine)
        limit_bytes = state.settings.number("maxMessageSize") if state else None
        rows["topic_stats"] = part.replace("topic_stats", topic_stats(engine, context.cluster, limit_bytes))
        absent = {topic: edge.absent_ledgers for topic, edge in edges.items()}
        of_chunks = findings_of_chunks(engine, TopicFacts.of(edges, state), limit_bytes)
        noticed = of_chunks, findings_of_order(engine, absent)
        findings = noticed_findings(part, engine, *noticed)
        replace_findings(part, with_findings(part, findings, [*chains, *findings_of_segments(segments, state)]))
    return rows


def _name_relations(engine: QueryEngine) -> None:
    engine.materialize("producers", engine.sql("log", "producers", {}))
    name_chunk_entries(engine)


def _chains(context: JobContext, engine: QueryEngine) -> Iterator[Finding]:
    """What entries tell of ledgers whose topic nothing names; reads nothing where there are none."""
    nameless = "SELECT count(*) AS ledgers FROM ledgers WHERE selected AND topic IS NULL"
    if engine.rows({"nameless": nameless})["nameless"][0]["ledgers"]:
        tables = (context.table(name) for name in ("ledgers", "ledger_facts", "entries"))
        yield from findings_of_chains(*tables)


if __name__ == "__main__":
    run_process(main)
