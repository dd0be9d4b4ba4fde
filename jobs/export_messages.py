"""The messages themselves: single entries, batch members and rebuilt chunk sets, decrypted, decompressed, verified.

Reads: `entries`, `chunked_messages`, `ledgers`; the byte ranges of what is exported; private keys where given.
Writes: `messages` (a table, a Parquet folder, or JSON lines beside files), payload files, and its `findings`.
Guarantees: what is marked verified was read again whole, its checksums, sizes and decompression agree, and its row
names exactly the entries it was made of. No payload is shuffled. A topic's rows in the table, and its findings, are
those of its last export.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.export import exported_chunked, exported_entries
from pulsar_backlog.frames.export_entries import ExportContext
from pulsar_backlog.frames.export_findings import COUNTED, findings_of_export
from pulsar_backlog.frames.export_plan import (
    Filters,
    of_keys,
    pack,
    plan_chunked,
    plan_entries,
    wanted_entries,
    with_transactions,
)
from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.options import Options, parse_instant
from pulsar_backlog.report.exported import ExportSummary, print_export
from pulsar_backlog.storage.delta import local_out, read_table, table_version
from pulsar_backlog.storage.findings import replace_findings
from pulsar_backlog.storage.messages import is_there, read_messages, write_messages
from pulsar_backlog.storage.runs import JobContext, JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terminal import terminal

JOB = "export_messages"
INPUTS = ("entries", "chunked_messages", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, export)


def export(context: JobContext) -> JobResult:
    """Plan on metadata, read what is planned, write messages and findings."""
    options = context.options
    keys = KeySource(options.private_keys, options.private_keys_command)
    inputs: dict[str, object] = {name: table_version(context.spark, context.out, TABLES[name]) for name in INPUTS}
    if inputs["entries"] == -1:
        raise UsageError(f"there are no entries in {context.out}: audit the source first, with --out {context.out}")
    digest = fingerprint(options, inputs | {"keys": keys.ring().fingerprint()})
    if is_unchanged(context, digest) and is_there(context):
        sys.stderr.write("Nothing new: the same export is there already.\n")
        return JobResult(digest, changed=False)
    filters = filters_of(options)
    topics = wanted_topics(context)
    entries = of_topics(_mine(context, "entries"), topics)
    publications = of_topics(_mine(context, "chunked_messages"), topics)
    messages = with_transactions(entries)
    write_messages(context, exported(context, messages, publications, filters, keys), slice_of(context, topics))
    written = read_messages(context).filter(slice_of(context, topics))
    origin = Origin(context.cluster, JOB)
    hidden = None if filters.all_transactions else wanted_entries(messages, filters)
    findings = findings_of_export(written, wanted_entries(publications, filters), hidden, origin)
    replace_findings(context, findings, topics=topics)
    summary = summary_of(context, written, topics)
    print_export(summary, terminal())
    rows = {"messages": summary.messages}
    return JobResult(digest, rows=rows, bytes_read=summary.payload_bytes, topics=topics)


def summary_of(context: JobContext, written: DataFrame, topics: list[str] | None) -> ExportSummary:
    """What was written and found, in numbers."""
    totals = written.agg(
        f.count("*").alias("messages"),
        f.count_if("verified").alias("verified"),
        f.coalesce(f.sum("payload_bytes"), f.lit(0)).alias("payload_bytes"),
    ).first()
    counts = totals.asDict() if totals else {"messages": 0, "verified": 0, "payload_bytes": 0}
    mine = of_topics(_mine(context, "findings"), topics).filter(f.col("job") == JOB)
    found = mine.groupBy("code").agg(f.sum("count").alias("count")).collect()
    return ExportSummary(
        **counts,
        form=context.options.format or "delta",
        place=context.options.to or context.out,
        findings={row["code"]: (COUNTED[row["code"]], row["count"]) for row in found},
    )


def exported(
    context: JobContext, messages: DataFrame, publications: DataFrame, filters: Filters, keys: KeySource
) -> DataFrame:
    """The frame of `messages`, not run yet."""
    shared = ExportContext(
        cluster=context.cluster,
        places=places_of(context),
        source=open_source(context.options.source or "", context.options.endpoint),
        keys=keys,
        store=store_of(context.options),
    )
    cores = context.spark.sparkContext.defaultParallelism
    singles = exported_entries(pack(plan_entries(messages, filters), cores), shared)
    chunked = exported_chunked(pack(plan_chunked(messages, publications, filters), cores), shared)
    return of_keys(singles, filters).unionByName(chunked)


def filters_of(options: Options) -> Filters:
    """The filters that a command line names."""
    return Filters(
        since=parse_instant(options.since) if options.since else None,
        until=parse_instant(options.until) if options.until else None,
        producers=options.producer or (),
        keys=options.key or (),
        states=options.state or (),
        all_transactions=options.transactions == "all",
    )


def store_of(options: Options) -> PayloadStore:
    """Where payloads go.

    Raises:
        UsageError: files are wanted where no folder is.
    """
    folder = local_out(options.to or options.out or "")
    if folder is None:
        raise UsageError("--to must be a folder: payload files cannot be put under an address yet")
    folder.mkdir(parents=True, exist_ok=True)
    limit = -1 if options.format == "files" else options.inline_limit_bytes
    return PayloadStore(str(folder), 0 if limit is None else limit, options.max_message_bytes or 1 << 30)


def places_of(context: JobContext) -> dict[int, tuple[str | None, str]]:
    """Topic and data object of each ledger that was scanned."""
    chosen = f.col("selected") & f.col("data_uri").isNotNull()
    rows = _mine(context, "ledgers").filter(chosen).select("ledger_id", "topic", "data_uri")
    return {row["ledger_id"]: (row["topic"], row["data_uri"]) for row in rows.toLocalIterator()}


def wanted_topics(context: JobContext) -> list[str] | None:
    """Topics that match the globs; None where all do.

    Raises:
        UsageError: none matches.
    """
    if not context.options.topic:
        return None
    scope = Scope(topics=context.options.topic)
    rows = _mine(context, "ledgers").select("topic").distinct().toLocalIterator()
    topics = sorted(row["topic"] for row in rows if scope.names(row["topic"]))
    if not topics:
        raise UsageError(f"no topic in {context.out} matches --topic {' --topic '.join(context.options.topic)}")
    return topics


def of_topics(frame: DataFrame, topics: list[str] | None) -> DataFrame:
    """The rows of wanted topics."""
    return frame if topics is None else frame.filter(f.col("topic").isin(*topics))


def slice_of(context: JobContext, topics: list[str] | None) -> Column:
    """The part of `messages` that this export replaces."""
    mine = f.col("cluster") == context.cluster
    return mine if topics is None else mine & f.col("topic").isin(*topics)


def _mine(context: JobContext, name: str) -> DataFrame:
    return read_table(context.spark, context.out, TABLES[name]).filter(f.col("cluster") == context.cluster)


if __name__ == "__main__":
    sys.exit(main())
