"""Stored chunks put together: every publication of a chunked message with its state, and every chunk's role.

Reads: `entries`, `scans`, `ledgers`; admin JSON when given; the payloads of compressed messages that can be rebuilt,
to see that they decompress.
Writes: `chunked_messages`, `chunks` and its `findings`.
Guarantees: every chunk entry belongs to one publication and has one role; messages that span blocks, ledgers and
runs are one. Payload bytes are never shuffled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.digest import folder_digest
from pulsar_backlog.frames.chunk_findings import findings_of_chunks
from pulsar_backlog.frames.chunk_fold import FoldContext, fold_chunks, roles_of
from pulsar_backlog.frames.chunk_rows import producer_ends, select_chunks, with_producer_ends
from pulsar_backlog.frames.entry_findings import Origin
from pulsar_backlog.frames.log_edges import edge_rows, log_edges
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.storage.delta import read_table, replace_slice, table_version
from pulsar_backlog.storage.findings import replace_findings
from pulsar_backlog.storage.runs import JobContext, JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.tables import TABLES

JOB = "assemble_chunks"
INPUTS = ("entries", "scans", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, assemble)


def assemble(context: JobContext) -> JobResult:
    """Fold all chunks of the cluster's topics, write publications, roles and findings."""
    spark, out, admin = context.spark, context.out, context.options.admin
    inputs: dict[str, object] = {name: table_version(spark, out, TABLES[name]) for name in INPUTS}
    digest = fingerprint(context.options, inputs | {"admin": folder_digest(admin)})
    if is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    folded = fold(context).persist(StorageLevel.MEMORY_AND_DISK)
    mine = f.col("cluster") == context.cluster
    replace_slice(folded.drop("roles"), out, TABLES["chunked_messages"], mine)
    replace_slice(roles_of(folded), out, TABLES["chunks"], mine)
    replace_findings(context, findings_of_chunks(folded, Origin(context.cluster, JOB)))
    rows = {"chunked_messages": folded.count(), "chunks": roles_of(folded).count()}
    folded.unpersist()
    return JobResult(digest, rows=rows)


def fold(context: JobContext) -> DataFrame:
    """The publications of the cluster, with their roles."""
    options = context.options
    entries, scans, ledgers = (_mine(context, name) for name in INPUTS)
    stored = {row["ledger_id"]: row["topic"] for row in ledgers.select("ledger_id", "topic").toLocalIterator()}
    known = {ledger_id: topic for ledger_id, topic in stored.items() if topic is not None}
    state = read_cluster_state(Path(options.admin), known) if options.admin else None
    paths = ledgers.filter(f.col("selected") & f.col("data_uri").isNotNull()).select("ledger_id", "data_uri")
    fold_context = FoldContext(
        cluster=context.cluster,
        edges=log_edges(edge_rows(entries, scans, ledgers), state, (options.grace_seconds or 0) * 1000),
        data_paths={row["ledger_id"]: row["data_uri"] for row in paths.toLocalIterator()},
        source=open_source(options.source or "", options.endpoint),
    )
    chunks = with_producer_ends(select_chunks(entries), producer_ends(entries))
    partitions = int(context.spark.conf.get("spark.sql.shuffle.partitions", "8") or 8)
    return fold_chunks(chunks, fold_context, partitions)


def _mine(context: JobContext, name: str) -> DataFrame:
    return read_table(context.spark, context.out, TABLES[name]).filter(f.col("cluster") == context.cluster)


if __name__ == "__main__":
    sys.exit(main())
