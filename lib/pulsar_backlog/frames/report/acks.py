"""The rows of the report about subscriptions and clients: bounded by cells, subscriptions and models, not by entries.

The axis of a topic is its stored entries in ledger order, cut into equal cells. A run of unacknowledged entries is
spread over the cells it lies in, which are few; nothing is spread out to entries.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.frames.subscriptions.stall_join import first_place
from pulsar_backlog.terms import SURENESSES

_MAX_LEDGER_ENTRIES = 1 << 40
"""More entries than this in one ledger is damaged metadata; then what was walked counts."""

_IDLE = ("wait", "none")


def standing(subscriptions: DataFrame, stalls: DataFrame) -> DataFrame:
    """Subscriptions with how many chunk sets they have (`stall_total`), and the first that blocks (`blocked_by`)."""
    first = first_place()
    place = f.struct(
        first["ledger_id"].alias("ledger_id"), first["entry_id"].alias("entry_id"), "sureness", "advice", "action"
    )
    of_stalls = stalls.groupBy("topic", "subscription").agg(
        f.count("*").alias("stall_total"), f.min(f.when(f.col("blocks_dispatch"), place)).alias("blocked_by")
    )
    return subscriptions.join(of_stalls, on=["topic", "subscription"], how="left")


def chosen_subscriptions(standing: DataFrame, per_topic: int, limit: int) -> DataFrame:
    """The subscriptions that are drawn, worst first, with all and the blocked ones of their topic counted."""
    worst_first = (
        f.col("blocked_by").isNull(), _rank(f.col("blocked_by.sureness")), f.col("stalls").desc(),
        f.coalesce("backlog_entries", f.lit(0)).desc(), f.col("subscription"),
    )  # fmt: skip
    of_topic = Window.partitionBy("topic")
    numbered = standing.select(
        "*",
        f.row_number().over(of_topic.orderBy(*worst_first)).alias("number"),
        f.count("*").over(of_topic).alias("total"),
        f.count("blocked_by").over(of_topic).alias("blocked"),
        *(count.over(of_topic).alias(name) for name, count in _blocked_by_sureness().items()),
    )
    return numbered.filter(f.col("number") <= per_topic).orderBy("number", *worst_first, "topic").limit(limit)


def blocked_rows(standing: DataFrame, limit: int) -> DataFrame:
    """The blocked subscriptions of all topics, the surest and then the largest first."""
    blocked = standing.filter(f.col("blocked_by").isNotNull())
    sureness = _rank(f.col("blocked_by.sureness"))
    ordered = blocked.orderBy(sureness, f.coalesce("backlog_entries", f.lit(0)).desc(), "topic", "subscription")
    return ordered.limit(limit).select(
        "topic", "subscription", "subscription_type", "blocked_by.*", "backlog_entries", "backlog_bytes"
    )


def listed_rows(standing: DataFrame, limit: int) -> DataFrame:
    """One line about each subscription, the blocked ones and those with most to be done about first."""
    worst_first = (
        f.col("blocked_by").isNull(), _rank(f.col("blocked_by.sureness")), f.coalesce("stalls", f.lit(0)).desc(),
        f.coalesce("backlog_entries", f.lit(0)).desc(), "topic", "subscription",
    )  # fmt: skip
    return standing.orderBy(*worst_first).limit(limit).select(
        "topic", "subscription", "state", "stalls", "backlog_entries", "backlog_bytes", "blocked_by"
    )  # fmt: skip


def acks_counts(standing: DataFrame) -> DataFrame:
    """One row: all subscriptions, those with chunk sets to do something about, the blocked ones, these by sureness."""
    return standing.agg(
        f.count("*").alias("total"),
        f.count(f.when(f.col("stalls") > 0, 1)).alias("stalled"),
        f.count("blocked_by").alias("blocked"),
        *(count.alias(name) for name, count in _blocked_by_sureness().items()),
    )


def _blocked_by_sureness() -> dict[str, Column]:
    """How many are blocked, by how sure that is."""
    sureness = f.col("blocked_by.sureness")
    return {f"blocked_{word}": f.count(f.when(sureness == word, 1)) for word in SURENESSES}


def _rank(sureness: Column) -> Column:
    """The surest first."""
    return f.array_position(f.array(*map(f.lit, SURENESSES)), sureness)


def stall_rows(stalls: DataFrame, chosen: DataFrame, limit: int) -> DataFrame:
    """The first chunk sets of each chosen subscription: what blocks it, then what is to be done, then the rest."""
    ranked = _of_chosen(stalls, chosen).select(
        "*",
        f.when(f.col("blocks_dispatch"), 0).when(~f.col("action").isin(*_IDLE), 1).otherwise(2).alias("rank"),
        first_place().alias("place"),
    )
    of_one = Window.partitionBy("topic", "subscription").orderBy("rank", "place", "chunk_uuid", "publish_time_ms")
    numbered = ranked.withColumn("number", f.row_number().over(of_one)).filter(f.col("number") <= limit)
    shown = f.slice("unacked_positions", 1, limit).alias("unacked_positions")
    kept = [c for c in stalls.columns if c != "unacked_positions"]
    return numbered.select(*kept, shown, "number").orderBy("topic", "subscription", "number")


def ledger_spans(tables: Mapping[str, DataFrame], chosen: DataFrame, cells: int) -> DataFrame:
    """Where each ledger lies on its topic's axis: `offset` of `total` entries, cut into `cells`."""
    walked = tables["scans"].select("ledger_id", "copy", "frames")
    plausible = f.col("expected_entries").between(0, _MAX_LEDGER_ENTRIES)
    length = f.when(plausible, f.col("expected_entries")).otherwise(f.coalesce("frames", f.lit(0)))
    wanted = tables["ledgers"].filter("selected").join(chosen.select("topic").distinct(), on="topic", how="left_semi")
    spans = wanted.join(walked, on=["ledger_id", "copy"], how="left").select(
        "topic", "ledger_id", length.alias("length")
    )
    of_topic = Window.partitionBy("topic")
    before = of_topic.orderBy("ledger_id").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    placed = spans.filter("length > 0").select(
        "*",
        (f.sum("length").over(before) - f.col("length")).alias("offset"),
        f.sum("length").over(of_topic).alias("total"),
        f.max("ledger_id").over(of_topic).alias("last_ledger_id"),
    )
    return placed.withColumn("cells", f.least(f.col("total"), f.lit(cells)))


def axis_rows(spans: DataFrame) -> DataFrame:
    """One row per topic: first position of each cell in order, entries in all of them, last position."""
    first = f.expr("if(offset = 0, 0, ((offset - 1) * cells) div total + 1)")
    last = f.expr("((offset + length - 1) * cells) div total")
    own = spans.withColumn("first_cell", first).withColumn("last_cell", last).filter("first_cell <= last_cell")
    cells = own.select("*", f.explode(f.sequence("first_cell", "last_cell")).alias("cell"))
    start = f.struct(
        "cell", "ledger_id", (_start_of("cell") - f.col("offset")).alias("entry_id"), _start_of("cell").alias("start")
    )
    starts = cells.groupBy("topic", "total").agg(f.array_sort(f.collect_list(start)).alias("starts"))
    ends = spans.filter("ledger_id = last_ledger_id").select(
        "topic", "ledger_id", (f.col("length") - 1).alias("entry_id")
    )
    return starts.join(ends, on="topic", how="inner")


def cell_rows(ranges: DataFrame, stalls: DataFrame, spans: DataFrame, chosen: DataFrame) -> DataFrame:
    """One row per chosen subscription: its cells that hold something unacknowledged, as an array."""
    parts = _range_cells(_of_chosen(ranges, chosen), spans).unionByName(_stall_cells(_of_chosen(stalls, chosen), spans))
    cells = parts.groupBy("topic", "subscription", "cell").agg(
        f.sum("unacked").alias("unacked"), f.sum("holes").alias("holes"), f.sum("stalls").alias("stalls"),
        f.max("blocking").alias("blocking"),
    )  # fmt: skip
    one = f.struct("cell", "unacked", "holes", "stalls", "blocking")
    return cells.groupBy("topic", "subscription").agg(f.array_sort(f.collect_list(one)).alias("cells"))


def _range_cells(ranges: DataFrame, spans: DataFrame) -> DataFrame:
    first, last = _on_axis("first_entry_id"), _on_axis("last_entry_id")
    runs = ranges.join(f.broadcast(spans), on=["topic", "ledger_id"], how="inner").select(
        "topic", "subscription", "kind", "entries", "total", "cells", first.alias("first"), last.alias("last"),
        _cell_of(first).alias("first_cell"), _cell_of(last).alias("last_cell"),
    )  # fmt: skip
    spread = runs.select("*", f.explode(f.sequence("first_cell", "last_cell")).alias("cell"))
    begin = f.greatest("first", _start_of("cell"))
    end = f.least(f.col("last"), _start_of("cell + 1") - 1)
    share = (end - begin + 1) / (f.col("last") - f.col("first") + 1)
    is_hole = (f.col("kind") == "hole") & (f.col("cell") == f.col("first_cell"))
    return spread.select(
        "topic", "subscription", "cell", (share * f.col("entries")).alias("unacked"),
        is_hole.cast("bigint").alias("holes"), f.lit(0).cast("bigint").alias("stalls"), f.lit(False).alias("blocking"),
    )  # fmt: skip


def _stall_cells(stalls: DataFrame, spans: DataFrame) -> DataFrame:
    told = stalls.filter(f.col("blocks_dispatch") | ~f.col("action").isin(*_IDLE))
    first = first_place()
    placed = told.select(
        "topic", "subscription", "blocks_dispatch", first["ledger_id"].alias("ledger_id"),
        first["entry_id"].alias("entry_id"),
    )  # fmt: skip
    joined = placed.join(f.broadcast(spans), on=["topic", "ledger_id"], how="inner")
    return joined.select(
        "topic", "subscription", _cell_of(_on_axis("entry_id")).alias("cell"), f.lit(0.0).alias("unacked"),
        f.lit(0).cast("bigint").alias("holes"), f.lit(1).cast("bigint").alias("stalls"),
        f.col("blocks_dispatch").alias("blocking"),
    )  # fmt: skip


def _on_axis(entry_id: str) -> Column:
    """Entries before it on the axis; an id beyond its ledger's length is taken for the last one."""
    return f.col("offset") + f.least(f.col(entry_id), f.col("length") - 1)


def _cell_of(place: Column) -> Column:
    return f.call_function("div", place * f.col("cells"), f.col("total"))


def _start_of(cell: str) -> Column:
    """The first place on the axis that lies in a cell."""
    return f.expr(f"(({cell}) * total + cells - 1) div cells")


def _of_chosen(frame: DataFrame, chosen: DataFrame) -> DataFrame:
    names = f.broadcast(chosen.select("topic", "subscription"))
    return frame.join(names, on=["topic", "subscription"], how="left_semi")


def forecast_rows(forecasts: DataFrame, limit: int) -> DataFrame:
    """The first models of each topic by name."""
    of_topic = Window.partitionBy("topic").orderBy("model")
    numbered = forecasts.withColumn("number", f.row_number().over(of_topic))
    return numbered.filter(f.col("number") <= limit).orderBy("topic", "model")


def example_rows(outcomes: DataFrame, wanted: tuple[str, ...]) -> DataFrame:
    """Dangerous outcomes by topic and model: how many publications, and the first of them."""
    first = f.min(f.struct("first_ledger_id", "first_entry_id", "sureness", "reason")).alias("first")
    grouped = outcomes.filter(f.col("outcome").isin(*wanted)).groupBy("topic", "model", "outcome")
    return grouped.agg(f.count("*").alias("publications"), first).orderBy("topic", "model", "outcome")


def model_sums(forecasts: DataFrame, outcomes: tuple[str, ...], limit: int) -> DataFrame:
    """One row per model: publications by outcome over all topics, what stops it first, and how sure all stops are."""
    place = f.struct(
        "topic",
        f.col("damage_ledger_id").alias("ledger_id"),
        f.col("damage_entry_id").alias("entry_id"),
        "damage",
        "sureness",
    )
    sums = forecasts.groupBy("model").agg(
        *(f.sum(name).alias(name) for name in outcomes),
        f.count("damage").alias("stopped"),
        f.min(f.when(f.col("damage").isNotNull(), place)).alias("first"),
        f.get(
            f.array(*map(f.lit, SURENESSES)),
            f.max(f.when(f.col("damage").isNotNull(), _rank(f.col("sureness")))).cast("int") - 1,
        ).alias("sureness"),
    )
    return sums.orderBy("model").limit(limit)
