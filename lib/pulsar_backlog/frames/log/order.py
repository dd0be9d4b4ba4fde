"""Where each log ends."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.terms import Position


def log_ends(facts: DataFrame) -> dict[str, Position]:
    """The last stored entry of each topic."""
    last = f.max(f.struct("ledger_id", "last_entry_id")).alias("last")
    rows = facts.filter(f.col("topic").isNotNull() & (f.col("entries") > 0)).groupBy("topic").agg(last)
    return {row["topic"]: (row["last"]["ledger_id"], row["last"]["last_entry_id"]) for row in rows.toLocalIterator()}
