"""Which stored entry an id, an index, a uuid or a time means: rows of the view `seek_positions`, and two clocks."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

CLOCKS = ("publish", "broker")


def of_topics(frame: DataFrame, glob: str | None, cluster: str | None) -> DataFrame:
    """The rows of topics that match the glob, and of the cluster; None lets all pass."""
    if glob is not None:
        # Java's \Z stops before a last line break, \z does not.
        frame = frame.filter(f.col("topic").rlike(f"^{fnmatch.translate(glob).removesuffix(chr(92) + 'Z')}\\z"))
    return frame if cluster is None else frame.filter(f.col("cluster") == cluster)


def at_position(positions: DataFrame, ledger_id: int, entry_id: int) -> DataFrame:
    """The entry at a position; one row per cluster that has the ledger."""
    return positions.filter((f.col("ledger_id") == ledger_id) & (f.col("entry_id") == entry_id))


def at_index(positions: DataFrame, index: int) -> DataFrame:
    """The entry whose messages have the broker's index (PIP-70) among theirs; one row per topic."""
    return positions.filter((f.col("first_index") <= index) & (f.col("last_index") >= index))


def of_uuid(positions: DataFrame, uuid: str) -> DataFrame:
    """The first chunk of each publication with the uuid, and of each further whole copy of it.

    One row for each, because restarted producers reuse uuids, and clients deliver a message as often as it is stored.
    """
    of_it = positions.filter(f.col("chunk_uuid") == uuid)
    begins = (f.col("ledger_id") == f.col("seek_ledger_id")) & (f.col("entry_id") == f.col("seek_entry_id"))
    return of_it.filter(begins)


def around_time(entries: DataFrame, time_ms: int) -> DataFrame:
    """One row per topic and clock: `after`, the first entry at or after the time, and `before`, the last one before it.

    Where the times rise with positions, `before` lies before `after`; else the time is ambiguous from `after` to
    `before`. Both are null where there is no such entry; `with_clock` counts entries that have that clock's time.
    """
    messages = entries.filter(f.col("marker_type").isNull())
    clocks = {"publish": f.unix_millis("publish_time"), "broker": f.unix_millis("broker_timestamp")}
    grouped = messages.groupBy("cluster", "topic").agg(*(_sides(clocks[c], time_ms).alias(c) for c in CLOCKS))
    sides = f.array(*(f.struct(f.lit(c).alias("clock"), f.col(f"{c}.*")) for c in CLOCKS))
    return grouped.select("cluster", "topic", f.inline(sides))


def at_positions(positions: DataFrame, places: Collection[tuple[int, int]]) -> DataFrame:
    """The entries at some positions, and perhaps others of the same ledgers; asked so that files can be skipped."""
    ledgers, entry_ids = {place[0] for place in places}, {place[1] for place in places}
    return positions.filter(f.col("ledger_id").isin(*ledgers) & f.col("entry_id").isin(*entry_ids))


def _sides(clock_ms: Column, time_ms: int) -> Column:
    place = f.struct("ledger_id", "entry_id")
    return f.struct(
        f.min(f.when(clock_ms >= time_ms, place)).alias("after"),
        f.max(f.when(clock_ms < time_ms, place)).alias("before"),
        f.count(clock_ms).alias("with_clock"),
    )
