"""Stored chunks put together: every publication of a chunked message with its state, and every chunk's role.

Reads: `noted_entries`, `ledger_facts`, `producer_facts`, `scans`, `ledgers`, `rejects`; admin JSON when given; the
payloads of compressed messages that can be rebuilt, to see that they decompress.
Writes: `chunked_messages`, `chunks`, `topic_stats` and its `findings`; those about the order of a topic's log (`B`) are
made here, not by the scan, because they need the broker's word on ledgers and must be made again when that changes.
Where nothing names the topic of a ledger, `entries` are read too, for what they tell of it (S35).
Guarantees: every chunk entry belongs to one publication and has one role; messages that span blocks, ledgers and
runs are one. Payload bytes are never shuffled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.digest import folder_digest
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.frames.chunks.context import Known, codes_in_context
from pulsar_backlog.frames.chunks.damage import LogTables
from pulsar_backlog.frames.chunks.findings import findings_of_chunks
from pulsar_backlog.frames.chunks.fold import FoldContext, fold_chunks, roles_of
from pulsar_backlog.frames.chunks.rows import producer_ends, select_chunks, with_producer_ends
from pulsar_backlog.frames.chunks.topic_stats import topic_stats
from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.frames.log.chains import findings_of_chains
from pulsar_backlog.frames.log.order import ledger_orders
from pulsar_backlog.frames.log.order_findings import findings_of_order
from pulsar_backlog.frames.log.producers import producers_of
from pulsar_backlog.steps.log_edges import TABLES_ASKED, edge_rows, log_edges
from pulsar_backlog.storage.asking import asking
from pulsar_backlog.storage.context import JobContext
from pulsar_backlog.storage.findings import findings_frame, replace_findings
from pulsar_backlog.storage.runs import JobResult, fingerprint, is_unchanged, run_job

JOB = "assemble_chunks"
INPUTS = ("noted_entries", "ledger_facts", "producer_facts", "scans", "ledgers", "rejects")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, assemble)


def assemble(context: JobContext) -> JobResult:
    """Fold all chunks of the cluster's topics, write publications, roles, statistics and findings."""
    admin = context.options.admin
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    digest = fingerprint(context.options, inputs | {"admin": folder_digest(admin)})
    if is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    noted, facts, of_producers, ledgers, rejects = (context.table(name) for name in INPUTS if name != "scans")
    # Small, and asked for again and again: ends of producers, statistics, findings.
    producers = context.keep(producers_of(of_producers), made_of="producer_facts")
    state = _state(admin, ledgers)
    grace_ms = (context.options.grace_seconds or 0) * 1000
    tables = LogTables(facts, of_producers, noted, rejects)
    with asking(context, TABLES_ASKED) as asked:
        edges = log_edges(edge_rows(asked), tables, asked, state, grace_ms)
    folded = context.keep(_folded(context, noted, producers, edges))
    publications = folded.drop("roles")
    told = findings_frame(context, findings_of_chains(ledgers, facts, lambda: context.table("entries")))
    rows = {"chunked_messages": context.replace("chunked_messages", publications)}  # folds
    besides = {"chunks": roles_of(folded), "topic_stats": topic_stats(producers, publications, context.cluster)}
    origin = Origin(context.cluster, JOB)
    in_context = codes_in_context(publications, producers, noted, _known(edges, state))
    absent = {topic: edge.absent_ledgers for topic, edge in edges.items()}
    in_order = findings_of_order(ledger_orders(facts), producers, ledgers, absent, origin)
    found = findings_of_chunks(publications, in_context, origin).unionByName(in_order).unionByName(told)
    rows |= context.replace_all(besides, partial(replace_findings, context, found))
    return JobResult(digest, rows=rows)


def _folded(context: JobContext, noted: DataFrame, producers: DataFrame, edges: Mapping[str, LogEdge]) -> DataFrame:
    """The publications of the cluster, with their roles."""
    fold_context = FoldContext(
        cluster=context.cluster,
        edges=edges,
        source=context.source(),
    )
    chunks = with_producer_ends(select_chunks(noted), producer_ends(producers))
    partitions = context.partitions
    return fold_chunks(chunks, fold_context, partitions)


def _state(admin: str | None, ledgers: DataFrame) -> ClusterState | None:
    """What saved admin JSON says; which topic a ledger belongs to is known from the source too."""
    if admin is None:
        return None
    rows = ledgers.filter(f.col("topic").isNotNull()).select("ledger_id", "topic")
    return read_cluster_state(Path(admin), {row["ledger_id"]: row["topic"] for row in rows.toLocalIterator()})


def _known(edges: Mapping[str, LogEdge], state: ClusterState | None) -> Known:
    topics = state.topics.values() if state else ()
    return Known(
        deduplicated=[topic.topic for topic in topics if topic.deduplicated],
        seen_to_end=[topic for topic, edge in edges.items() if edge.complete_to_end],
    )


if __name__ == "__main__":
    sys.exit(main())
