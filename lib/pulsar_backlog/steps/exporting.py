"""From the options of an export to its frames and its summary."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.export.filters import Filters, of_keys
from pulsar_backlog.frames.export.findings import COUNTED
from pulsar_backlog.frames.export.messages import exported_chunked, exported_entries
from pulsar_backlog.frames.export.plan import plan_chunked, plan_entries
from pulsar_backlog.frames.export.tasks import pack
from pulsar_backlog.ledgers.buckets.addresses import own_endpoint
from pulsar_backlog.messages.entry_rows import ExportContext
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.options import Options, parse_instant
from pulsar_backlog.report.terminal.exported import ExportSummary
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.known_state import scope_in
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.tableio.slices import Slice

DECODED_BYTES = 64 * 1024 * 1024
"""Largest payload that is decoded or masked: it passes through Spark in its row."""


def summary_of(context: JobContext, written: DataFrame, topics: list[str] | None) -> ExportSummary:
    """What was written and found, in numbers."""
    totals = written.agg(
        f.count("*").alias("messages"),
        f.count_if("verified").alias("verified"),
        f.coalesce(f.sum("payload_bytes"), f.lit(0)).alias("payload_bytes"),
    ).first()
    counts = totals.asDict() if totals else {"messages": 0, "verified": 0, "payload_bytes": 0}
    noticed = of_topics(context.table("findings"), topics).filter(f.col("job") == context.job)
    sums = noticed.groupBy("code").agg(f.sum("count").alias("count")).collect()
    return ExportSummary(
        **counts,
        form="decoded" if context.options.decode else context.options.format or "delta",
        place=context.options.to or context.out,
        findings={row["code"]: (COUNTED[row["code"]], row["count"]) for row in sums},
    )


def exported(
    context: JobContext, messages: DataFrame, publications: DataFrame, filters: Filters, keys: KeySource
) -> DataFrame:
    """The frame of `messages`, not run yet."""
    shared = ExportContext(
        cluster=context.cluster,
        topics=topics_of(context),
        source=context.source(),
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
        UsageError: it is an address of an unknown kind.
    """
    place = options.to or options.out or ""
    folder = local_out(place)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    limit = -1 if options.format == "files" else options.inline_limit_bytes
    most = options.max_message_bytes or 1 << 30
    if options.decode or options.mask:
        limit = DECODED_BYTES
    if options.mask:
        most = min(most, DECODED_BYTES)  # nothing goes to a file that no mask reaches
    return PayloadStore(
        place if folder is None else str(folder), 0 if limit is None else limit, most,
        own_endpoint(place) if folder is None else None,
    )  # fmt: skip


def topics_of(context: JobContext) -> dict[int, str | None]:
    """Topic of each ledger that was scanned."""
    chosen = f.col("selected") & f.col("data_uri").isNotNull()
    rows = context.table("ledgers").filter(chosen).select("ledger_id", "topic").toLocalIterator()
    return {row["ledger_id"]: row["topic"] for row in rows}


def wanted_topics(context: JobContext) -> list[str] | None:
    """Topics that match the globs; None where all do.

    Raises:
        UsageError: none matches.
    """
    if not context.options.topic:
        return None
    scope = scope_in(context)
    rows = context.table("ledgers").select("topic").distinct().toLocalIterator()
    topics = sorted(row["topic"] for row in rows if scope.names(row["topic"]))
    if not topics:
        raise UsageError(f"no topic in {context.out} matches --topic {' --topic '.join(context.options.topic)}")
    return topics


def of_topics(frame: DataFrame, topics: list[str] | None) -> DataFrame:
    """The rows of wanted topics."""
    return frame if topics is None else frame.filter(f.col("topic").isin(*topics))


def slice_of(context: JobContext, topics: list[str] | None) -> Slice:
    """The part of `messages` that this export replaces."""
    return context.slice if topics is None else context.slice.where(topic=topics)
