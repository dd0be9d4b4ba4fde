"""The order of each ledger, as its facts have it, ready to be compared with its neighbours'; where each log ends."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.facts.steps import FARTHEST
from pulsar_backlog.terms import Position

_AS_THEY_ARE = (
    "topic", "ledger_id", "steps", "first_entry_id", "last_entry_id", "first_messages", "first_has_metadata",
    "last_has_metadata", "first_broker_ms", "last_broker_ms", "newest_publish_ms", "oldest_publish", "latest",
    "earliest",
)  # fmt: skip


def ledger_orders(facts: DataFrame) -> DataFrame:
    """Rows of `ledger_facts` that have entries on a known topic: steps within, and what seams need."""
    known = facts.filter(f.col("topic").isNotNull() & (f.col("entries") > 0))
    return known.select(*_AS_THEY_ARE, *(_clamped(name).alias(name) for name in ("first_index", "last_index")))


def log_ends(facts: DataFrame) -> dict[str, Position]:
    """The last stored entry of each topic."""
    last = f.max(f.struct("ledger_id", "last_entry_id")).alias("last")
    rows = facts.filter(f.col("topic").isNotNull() & (f.col("entries") > 0)).groupBy("topic").agg(last)
    return {row["topic"]: (row["last"]["ledger_id"], row["last"]["last_entry_id"]) for row in rows.toLocalIterator()}


def sum_of_steps(extent: Column) -> Column:
    """The sum, as a bigint whatever is added up."""
    return f.least(f.sum(extent.cast("decimal(38,0)")), f.lit(FARTHEST)).cast("bigint")


def _clamped(name: str) -> Column:
    return f.when(f.col(name).isNotNull(), f.greatest(f.least(name, f.lit(FARTHEST)), f.lit(-FARTHEST)))
