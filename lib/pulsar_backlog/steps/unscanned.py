"""Which ledgers a scan has still to read, and how much of each topic is read already."""

from __future__ import annotations

from datetime import UTC

from pyspark.sql import Row
from pyspark.sql import functions as f

from pulsar_backlog.arguments import scope_of
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.ledgers.budget import TopicBytes
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.runs.context import JobContext


def pending_copies(context: JobContext) -> tuple[list[PlannedCopy], list[Row]]:
    """Selected copies in scope whose scan is not on the books, and the rows of those that changed since.

    A scan without facts is one that was made before there were any.
    """
    ledgers = context.table("ledgers").filter(f.col("selected") & f.col("data_uri").isNotNull())
    facts = context.table("ledger_facts").select("ledger_id")
    scans = context.table("scans").filter("complete").join(facts, on="ledger_id", how="left_semi")
    booked = scans.select(
        "ledger_id",
        f.col("copy").alias("scanned_copy"),
        f.col("topic").alias("scanned_topic"),
        f.col("data_bytes").alias("scanned_bytes"),
        f.col("data_etag").alias("scanned_etag"),
    )
    same = (
        f.col("copy").eqNullSafe(f.col("scanned_copy"))
        & f.col("topic").eqNullSafe(f.col("scanned_topic"))
        & f.col("data_bytes").eqNullSafe(f.col("scanned_bytes"))
        & f.col("data_etag").eqNullSafe(f.col("scanned_etag"))
    )
    plan = ledgers.join(booked, on="ledger_id", how="left").filter(~same).orderBy("ledger_id").collect()
    scope = scope_of(context.options)
    rows = [row for row in plan if scope.holds(_with_zones(row))]
    return [PlannedCopy.from_row(row.asDict(recursive=True)) for row in rows], [row for row in rows if _changed(row)]


def bytes_of_topics(context: JobContext) -> dict[str | None, TopicBytes]:
    """How much is stored of each topic, and how much of it is on the books; one row a topic."""
    stored = context.table("ledgers").filter(f.col("selected") & f.col("data_uri").isNotNull())
    booked = context.table("scans").filter("complete").select("ledger_id", "copy", f.lit(True).alias("booked"))
    sizes = stored.join(booked, on=["ledger_id", "copy"], how="left").groupBy("topic")
    rows = sizes.agg(
        f.sum(f.coalesce("data_bytes", f.lit(0))).alias("stored"),
        f.sum(f.when(f.col("booked"), f.col("data_bytes")).otherwise(0)).alias("read"),
    )
    return {row["topic"]: TopicBytes(row["stored"], row["read"]) for row in rows.toLocalIterator()}


def told_of_left(context: JobContext) -> bool:
    """Whether an earlier run said that it left ledgers unread."""
    mine = (f.col("job") == context.job) & (f.col("code") == LEFT_UNREAD)
    return not context.table("findings").filter(mine).isEmpty()


def _with_zones(row: Row) -> Row:
    """The row with times that know their zone: PySpark gives naive ones of this machine's zone."""
    times = {name: time and time.astimezone(UTC) for name in ("created_time", "closed_time") for time in [row[name]]}
    return Row(**(row.asDict() | times))


def _changed(row: Row) -> bool:
    """Whether it is the same copy as was scanned, of another size or tag; ledgers in several files grow."""
    object_changed = row["data_bytes"] != row["scanned_bytes"] or row["data_etag"] != row["scanned_etag"]
    return bool(row["scanned_copy"] == row["copy"] and object_changed and not traits_of(row["kind"]).is_spread)
