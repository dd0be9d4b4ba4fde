"""Findings about the order of each topic's log (`B`): indexes, broker metadata, clocks, and the times of ledgers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.facts.steps import PUBLISH_TOLERANCE_MS, STEPS
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.frames.finding_rows import Origin, as_findings, code_of, least_sure, subject
from pulsar_backlog.frames.log.order import sum_of_steps
from pulsar_backlog.tables.ledger_facts import STEPS_TYPE

CLOCK_TOLERANCE_MS = 60_000
"""How far clocks may be apart: the default expiry of incomplete chunks, below which no client decides differently."""

_MESSAGES = {
    "B01": "Places where the index jumps: {count}; indexes that no stored message has: {extent}.",
    "B02": "Entries whose index was given out before: {count}.",
    "B03": "Places where broker metadata begins or ends: {count}.",
    "B04": "Steps back of the broker's clock: {count}, the largest {extent} ms.",
    "B05": "Producers whose clock is over a minute off the broker's: {count}, the farthest {extent} ms.",
    "B06": (
        "Entries published over a second before one that is stored before them: {count}; a seek by publish time is "
        "ambiguous within {extent} ms."
    ),
    "B07": "Ledgers with entries from over a minute before or after their time: {count}, at most {extent} ms.",
}
_SEEN = dict.fromkeys((*STEPS, "B05"), "read from the stored bytes") | {
    "B07": "stored times against the closing times that the broker recorded"
}
_NOTICED = ("code", "entry_ids", "count", "extent", "sureness")
_NEXT_TO_UNSEEN = "a ledger that is not here may lie between"


def findings_of_order(
    orders: DataFrame, producers: DataFrame, ledgers: DataFrame, absent: Mapping[str, Collection[int]], origin: Origin
) -> DataFrame:
    """One finding per topic and code.

    Args:
        orders: as `ledger_orders` makes them.
        producers: as `producers_of` makes them.
        ledgers: rows of the table `ledgers`.
        absent: topic -> ledgers that hold entries and were not scanned.
        origin: whose findings.
    """
    seams = _with_previous(_in_line(orders, ledgers, absent))
    return as_findings(_per_topic(_steps(seams).unionByName(_clocks(producers))), origin)


def _in_line(orders: DataFrame, ledgers: DataFrame, absent: Mapping[str, Collection[int]]) -> DataFrame:
    """The topic's ledgers that hold entries, in order; those that were not scanned have nulls."""
    stored = ledgers.filter(f.col("selected") & f.col("topic").isNotNull()).select(
        "topic", "ledger_id", "expected_entries", f.unix_millis("closed_time").alias("closed_ms")
    )
    rows = [(topic, ledger_id, None, None) for topic, ids in absent.items() for ledger_id in ids]
    known = stored
    if rows:
        known = stored.unionByName(orders.sparkSession.createDataFrame(rows, stored.schema))
    holding = known.filter(f.coalesce(f.col("expected_entries") > 0, f.lit(True)))
    once = holding.groupBy("topic", "ledger_id").agg(
        f.max("expected_entries").alias("expected_entries"), f.max("closed_ms").alias("closed_ms")
    )
    return once.join(orders, on=["topic", "ledger_id"], how="full")


def _with_previous(line: DataFrame) -> DataFrame:
    """Each ledger with what the one before it ended with, and what all before it reached."""
    order = Window.partitionBy("topic").orderBy("ledger_id")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    whole = f.col("last_entry_id") == f.col("expected_entries") - 1
    return line.select(
        "*",
        f.lag("last_index").over(order).alias("index_before"),
        (f.lag(f.coalesce(whole, f.lit(True))).over(order) & (f.col("first_entry_id") == 0)).alias("adjoins"),
        f.lag("last_has_metadata").over(order).alias("metadata_before"),
        f.last("last_broker_ms", ignorenulls=True).over(before).alias("broker_ms_before"),
        f.last("last_index", ignorenulls=True).over(before).alias("last_index_before"),
        f.max("newest_publish_ms").over(before).alias("newest_publish_before"),
        f.lag("closed_ms").over(order).alias("began_ms"),
    )


def _steps(seams: DataFrame) -> DataFrame:
    """A row for each ledger and code: steps within the ledger, at its seam to the ones before, and beyond its time."""
    within = f.transform(
        f.coalesce("steps", f.array().cast(f"array<{STEPS_TYPE}>")),
        lambda step: f.struct(*(step[name].alias(name) for name in _NOTICED[:4]), f.lit("certain").alias("sureness")),
    )
    found = f.array_compact(f.array(*_steps_at_seam(), _beyond_time()))
    rows = seams.select("topic", "ledger_id", f.inline(f.concat(found, within)))
    return rows.select("topic", "ledger_id", *_NOTICED)


def _steps_at_seam() -> Iterator[Column]:
    """Steps of a ledger's first entry against the end of the ledgers before it; of publish times, of its oldest."""
    skipped = f.col("first_index") - f.col("index_before") - f.col("first_messages")
    again = f.coalesce("first_messages", f.lit(1)) - (f.col("first_index") - f.col("last_index_before"))
    differs = f.col("first_has_metadata") != f.col("metadata_before")
    back_ms = f.col("broker_ms_before") - f.col("first_broker_ms")
    late_ms = f.col("newest_publish_before") - f.col("oldest_publish.publish_ms")
    at_first = f.col("first_entry_id")
    yield _step("B01", f.col("adjoins") & (skipped > 0), skipped, at_first, "likely")
    yield _step("B02", again > 0, again, at_first)
    yield _step("B03", differs, f.lit(0), at_first)
    yield _step("B04", back_ms > 0, back_ms, at_first)
    yield _step("B06", late_ms > PUBLISH_TOLERANCE_MS, late_ms, f.col("oldest_publish.entry_id"))


def _beyond_time() -> Column:
    """Whether a ledger's entries say other times than those at which it, and the one before it, were closed."""
    after_ms = f.col("latest.seek_ms") - f.col("closed_ms")
    before_ms = f.col("began_ms") - f.col("earliest.seek_ms")
    farther = f.coalesce(after_ms, f.lit(0)) >= f.coalesce(before_ms, f.lit(0))
    place = f.when(farther, f.col("latest.entry_id")).otherwise(f.col("earliest.entry_id"))
    extent = f.greatest(after_ms, before_ms)
    return _step("B07", extent > CLOCK_TOLERANCE_MS, extent, place)


def _step(code: str, when: Column, extent: Column, entry_id: Column, sureness: str = "certain") -> Column:
    values = (f.lit(code), f.array(entry_id), f.lit(1).cast("bigint"), extent.cast("bigint"), f.lit(sureness))
    return f.when(when, f.struct(*(value.alias(name) for name, value in zip(_NOTICED, values, strict=True))))


def _clocks(producers: DataFrame) -> DataFrame:
    """Producers whose fastest message is too old, or newer than the broker's clock allows."""
    ahead_ms = f.col("clock_ahead.ms")
    off = producers.filter(f.abs(ahead_ms) > CLOCK_TOLERANCE_MS).withColumn("ledger_id", f.col("clock_ahead.ledger_id"))
    # A message that waited in a queue looks as if its producer's clock were slow; the other way round nothing does.
    sureness = f.when(ahead_ms > 0, "certain").otherwise("likely")
    values = (f.lit("B05"), f.array("clock_ahead.entry_id"), f.lit(1).cast("bigint"), ahead_ms, sureness)
    return off.select("topic", "ledger_id", *(v.alias(name) for name, v in zip(_NOTICED, values, strict=True)))


def _per_topic(noticed: DataFrame) -> DataFrame:
    """One row per topic and code, as `as_findings` takes them; grows with ledgers, never with entries."""
    code = f.col("code")
    text = f.transform("entry_ids", lambda entry_id: f.concat_ws(":", "ledger_id", entry_id.cast("string")))
    doubtful = (code == "B01") & (f.col("sureness") == "likely")
    slow = (code == "B05") & (f.col("sureness") == "likely")
    reason = f.when(doubtful, _NEXT_TO_UNSEEN).when(slow, "its messages may have waited before they were sent")
    grouped = (
        noticed.withColumn("reason", reason.otherwise(code_of(code, _SEEN)))
        .groupBy("topic", "code")
        .agg(
            f.sum("count").alias("count"),
            f.when(code == "B01", sum_of_steps(f.col("extent")))
            .otherwise(f.max_by("extent", f.abs("extent")))
            .alias("extent"),
            least_sure().alias("least_sure"),
            f.array_sort(f.collect_list(f.struct("ledger_id", "entry_ids", text.alias("places")))).alias("found"),
        )
    )
    message = f.replace(
        f.replace(code_of(code, _MESSAGES), f.lit("{count}"), f.col("count").cast("string")),
        f.lit("{extent}"),
        f.col("extent").cast("string"),
    )
    return grouped.select(
        "code", subject().alias("subject"), "topic", f.col("found")[0]["ledger_id"].alias("ledger_id"),
        f.col("found")[0]["entry_ids"][0].alias("entry_id"), "count", f.col("least_sure.sureness").alias("sureness"),
        f.col("least_sure.reason").alias("reason"), message.alias("message"),
        f.slice(f.flatten("found.places"), 1, MAX_EVIDENCE).alias("evidence"), f.lit(False).alias("incomplete"),
    )  # fmt: skip
