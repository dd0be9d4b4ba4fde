"""Two audits -> the entries that a subscription had acknowledged then and has not now, as runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

MAX_RUNS = 10_000
"""Runs of one subscription that one plan restores, the first ones; the rest is counted, and waits for another plan."""

_WHO = ("topic", "subscription")


def restored_rows(
    then: Mapping[str, DataFrame], now: Mapping[str, DataFrame], names: Iterable[str] | None
) -> DataFrame:
    """One row per subscription that lost acknowledgements, with the runs of entries that can be acknowledged again.

    There are at most `MAX_RUNS` of them; `left_runs` counts those beyond, and `bytes` is of those that are there.

    Only entries that were stored at the time of the earlier audit and are not acknowledged now count, each of which was
    acknowledged then. Batches of which a part was acknowledged then, and nothing is now, are only counted (`batches`);
    a batch of which a part is acknowledged now is left alone.

    Args:
        then: `subscriptions`, `ack_ranges` and `entries` of the earlier audit.
        now: `subscriptions` and `ack_ranges` of this one.
        names: subscriptions; None takes all.
    """
    states = then["subscriptions"].filter((f.col("kind") == "subscription") & (f.col("state") == "whole"))
    if names is not None:
        states = states.filter(f.col("subscription").isin(*names))
    states = states.join(now["subscriptions"].select(*_WHO), on=list(_WHO), how="left_semi")
    unacked = now["ack_ranges"].filter(f.col("kind") != "batch_hole").select(*_WHO, *_range("now"), "ledger_id")
    unacked = unacked.join(f.broadcast(states.select(*_WHO)), on=list(_WHO), how="left_semi")
    stored = then["entries"].select("topic", "ledger_id", "entry_id", "length")
    open_now = stored.join(unacked, on=["topic", "ledger_id"], how="inner").filter(
        f.col("entry_id").between(f.col("now_first"), f.col("now_last"))
    )
    open_then = then["ack_ranges"].select(*_WHO, *_range("then"), f.col("ledger_id").alias("then_ledger"))
    same = [open_now[name] == open_then[name] for name in _WHO]
    inside = f.col("entry_id").between(f.col("then_first"), f.col("then_last"))
    lost = open_now.join(open_then, on=[*same, f.col("ledger_id") == f.col("then_ledger"), inside], how="left_anti")
    runs = _runs(lost)
    batches = _batches(then["ack_ranges"], unacked)
    marks = (*_WHO, "mark_delete_ledger_id", "mark_delete_entry_id", "sureness", "reason")
    joined = runs.join(batches, on=list(_WHO), how="full").join(states.select(*marks), on=list(_WHO), how="inner")
    return joined.select(
        *marks,
        f.coalesce("runs", f.array().cast(runs.schema["runs"].dataType)).alias("runs"),
        *(f.coalesce(name, f.lit(0).cast("bigint")).alias(name) for name in ("bytes", "left_runs", "batches")),
    )


def _batches(then: DataFrame, unacked: DataFrame) -> DataFrame:
    """How many entries of which a part was acknowledged then are open now, by subscription."""
    partial = then.filter(f.col("kind") == "batch_hole").select(*_WHO, "ledger_id", "first_entry_id")
    now = unacked.withColumnRenamed("ledger_id", "now_ledger")
    same = [partial[name] == now[name] for name in _WHO]
    inside = f.col("first_entry_id").between(f.col("now_first"), f.col("now_last"))
    again = partial.join(now, on=[*same, f.col("ledger_id") == f.col("now_ledger"), inside], how="left_semi")
    return again.groupBy(*_WHO).agg(f.count("*").alias("batches"))


def _range(name: str) -> tuple[Column, Column]:
    return f.col("first_entry_id").alias(f"{name}_first"), f.col("last_entry_id").alias(f"{name}_last")


def _runs(entries: DataFrame) -> DataFrame:
    """Entries with their neighbours: entry id minus row number is the same all along a run."""
    of_ledger = Window.partitionBy(*_WHO, "ledger_id").orderBy("entry_id")
    numbered = entries.withColumn("run", f.col("entry_id") - f.row_number().over(of_ledger))
    runs = numbered.groupBy(*_WHO, "ledger_id", "run").agg(
        f.min("entry_id").alias("first_entry_id"),
        f.max("entry_id").alias("last_entry_id"),
        f.sum(f.col("length").cast("bigint")).alias("bytes"),
    )
    run = f.struct("ledger_id", "first_entry_id", "last_entry_id", "bytes")
    every = runs.groupBy(*_WHO).agg(f.sort_array(f.collect_list(run)).alias("every"))
    taken = every.withColumn("runs", f.slice("every", 1, MAX_RUNS))
    size = f.aggregate("runs", f.lit(0).cast("bigint"), lambda so_far, one: so_far + one["bytes"])
    rest = f.size("every") - f.size("runs")
    return taken.select(*_WHO, "runs", size.alias("bytes"), rest.alias("left_runs"))
