"""Rows of `subscriptions`: what the states say, with what the joins counted. The first part knows no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.cluster.saved_cursors import SavedSubscription
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.cursors.newest import Newest
from pulsar_backlog.cursors.predict import Limits, Prediction, predict
from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.frames.subscriptions.ack_join import SUM
from pulsar_backlog.frames.times import time_of_ms
from pulsar_backlog.subscriptions.ledger_lengths import Lengths
from pulsar_backlog.subscriptions.sightings import DEDUPLICATION, CursorViews
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.subscriptions.states import SubscriptionState, state_of
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import Position

COUNTED = (
    "oldest_unacked_ledger_id", "oldest_unacked_entry_id", "oldest_unacked_time", "oldest_unacked_what", "holes",
    "hole_entries", "batch_holes", "backlog_entries", "backlog_messages", "backlog_bytes", "stalls",
    "redelivered_bytes", "rollback_entries", "rollback_bytes",
)  # fmt: skip
"""Columns of `subscriptions` that come from the joins."""

COMPACTION = "__compaction"
_REPLICATOR = "pulsar.repl."


@dataclass(frozen=True)
class Analysed:
    """One subscription with its newest state and what becomes of it; both None where nothing says where it is."""

    topic: str
    name: str
    found: Newest | None
    prediction: Prediction | None
    saved: SavedSubscription | None

    @property
    def kind(self) -> str:
        """What the cursor is for."""
        if self.name == COMPACTION:
            return "compaction"
        if self.name == DEDUPLICATION:
            return "deduplication"
        return "replicator" if self.name.startswith(_REPLICATOR) else "subscription"


def analysed(views: CursorViews, state: ClusterState, limits: Limits) -> Iterator[Analysed]:
    """Every subscription that anything names, in the order of topics and names."""
    named = set(views.cursors)
    for topic in state.topics.values():
        named |= {(topic.topic, name) for name in topic.subscriptions or ()}
    for topic_name, name in sorted(named):
        view = views.cursors.get((topic_name, name))
        of_topic = state.topics.get(topic_name)
        saved = (of_topic.subscriptions or {}).get(name) if of_topic else None
        found = view.newest() if view is not None and view.sightings else None
        lengths = views.lengths.get(topic_name, {})
        yield Analysed(topic_name, name, found, predict(found, limits, lengths) if found else None, saved)


def join_state(one: Analysed) -> SubscriptionState | None:
    """What the joins need of it; None without a state."""
    if one.found is None or one.prediction is None:
        return None
    acked = one.found.chosen.acked
    view = SubscriptionView(
        name=one.name,
        type=one.saved.type if one.saved else None,
        mark_delete=acked.mark_delete,
        last_acked=acked.last(),
        read_position=one.found.chosen.read_position,
        sureness=one.found.sureness,
        reason=one.found.reason,
    )
    return state_of(view, acked, one.prediction.redelivered, one.found.rollback)


def said_row(one: Analysed, cluster: str, lengths: Lengths, stored: frozenset[int], limits: Limits) -> dict[str, Any]:
    """The columns of `subscriptions` that need no entries."""
    row: dict[str, Any] = {
        "cluster": cluster,
        "topic": one.topic,
        "subscription": one.name,
        "kind": one.kind,
        "subscription_type": one.saved.type if one.saved else None,
        "consumers": one.saved.consumers if one.saved else None,
        "replicated": one.saved.replicated if one.saved else None,
        "limits": asdict(limits),
        "over_limits": [],
    }
    if one.found is None or one.prediction is None:
        return row | {
            "source": "stats", "state": "unknown", "sureness": "cannot_tell",
            "reason": "no saved state says where the subscription is",
        }  # fmt: skip
    return row | _found(one.found) | _positions(one.found, lengths, stored) | _predicted(one.found, one.prediction)


def _found(found: Newest) -> dict[str, Any]:
    chosen, stored = found.chosen, found.stored
    recovered = stored.recovered if stored else None
    state = "whole" if chosen.whole else "rolled_back"
    if chosen.recovered is not None and chosen.recovered.faults:
        state = "older"
    return {
        "source": chosen.source,
        "source_file": chosen.file,
        "cursor_ledger_id": chosen.cursor_ledger_id,
        "cursor_ledger_entry_id": chosen.entry_id,
        "state": state,
        "sureness": found.sureness,
        "reason": found.reason,
        "read": chosen.read_position,
        "encoding": stored.state.encoding if stored and stored.state else None,
        "compression": stored.compression if stored else None,
        "parts": recovered.parts if recovered else 1 if stored and stored.state else None,
        "state_bytes": stored.stored_bytes if stored else None,
    }


def _positions(found: Newest, lengths: Lengths, stored: frozenset[int]) -> dict[str, Any]:
    acked = found.chosen.acked
    last = acked.last()
    named = {"mark_delete": acked.mark_delete, "last_acked": last, "read": found.chosen.read_position}
    columns = {
        f"{name}_{part}": position[at] if position else None
        for name, position in named.items()
        for at, part in enumerate(("ledger_id", "entry_id"))
    }
    columns |= (
        {"rollback_ledger_id": found.rollback[0], "rollback_entry_id": found.rollback[1]} if found.rollback else {}
    )
    return columns | {
        "span_entries": span_entries(acked.mark_delete, last, lengths) if last else 0,
        "unstored_entries": _unstored(found, lengths, stored),
    }


def span_entries(first: Position, last: Position, lengths: Lengths) -> int | None:
    """Entries after `first` up to and with `last`; None where a ledger between them has no known length."""
    if last[0] == first[0]:
        return last[1] - first[1]
    between = [length for ledger_id, length in lengths.items() if first[0] < ledger_id < last[0]]
    head = lengths.get(first[0], 0 if first[0] not in lengths else None)
    if head is None or any(length is None for length in between):
        return None
    return max(head - first[1] - 1, 0) + sum(length or 0 for length in between) + last[1] + 1


def _unstored(found: Newest, lengths: Lengths, stored: frozenset[int]) -> int | None:
    """Unacknowledged entries of ledgers that are not in the source; None where one of them is open."""
    acked, total = found.chosen.acked, 0
    for ledger_id, length in lengths.items():
        if ledger_id in stored or ledger_id < acked.mark_delete[0]:
            continue
        if length is None:
            return None
        done = len(acked.ledgers.get(ledger_id, ()))
        total += length - done - (acked.mark_delete[1] + 1 if ledger_id == acked.mark_delete[0] else 0)
    return max(total, 0)


def _predicted(found: Newest, prediction: Prediction) -> dict[str, Any]:
    first = prediction.redelivered_from
    return {
        "acked_entries": prediction.acked_entries,
        "acked_ranges": prediction.acked_ranges,
        "ranges_bytes": prediction.ranges_bytes,
        "long_array_bytes": prediction.long_array_bytes,
        "split_parts": prediction.split_parts,
        "over_limits": list(prediction.over_limits),
        "dropped_ranges": prediction.dropped_ranges,
        "dropped_entries": prediction.dropped_entries,
        "dropped_batch_entries": prediction.dropped_batch_entries,
        "redelivered_entries": sum(map(len, prediction.redelivered.values())),
        "redelivered_from": {"ledger_id": first[0], "entry_id": first[1]} if first else None,
        "downgrade_safe": found.stored.downgrade_safe if found.stored else None,
    }


def subscription_rows(
    spark: SparkSession, said: list[dict[str, Any]], joined: DataFrame, stalls: DataFrame, chunks: DataFrame,
    publications: DataFrame,
) -> DataFrame:  # fmt: skip
    """Rows of `subscriptions`.

    Args:
        spark: the session.
        said: rows as `said_row` makes them.
        joined: as `join_acks` makes it.
        stalls: rows of `stalls`.
        chunks: rows of `chunks`.
        publications: rows of `chunked_messages`.
    """
    table = TABLES["subscriptions"]
    own = ", ".join(f"`{c.name}` {c.type}" for c in table.columns if c.name not in COUNTED)
    rows = [{name: row.get(name) for name in spark_schema(own).names} for row in said]
    frame = spark.createDataFrame(rows, spark_schema(own))
    key = ["topic", "subscription"]
    told = frame.join(_counts(joined, chunks, publications), on=key, how="left").join(_todo(stalls), on=key, how="left")
    known = f.col("state") != "unknown"
    counts = {
        name: f.when(known, f.coalesce(name, f.lit(0)))
        for name in COUNTED
        if name.endswith(("_entries", "_bytes", "_messages")) or name in ("holes", "batch_holes")
    }
    counts |= {"stalls": f.coalesce("stalls", f.lit(0))}
    return told.select(*(counts.get(c.name, f.col(c.name)).cast(c.type).alias(c.name) for c in table.columns))


def _counts(joined: DataFrame, chunks: DataFrame, publications: DataFrame) -> DataFrame:
    is_sum, is_hole = f.col("kind") == SUM, f.col("kind") == "hole"
    oldest = f.when(
        is_sum & (f.col("entries") > 0),
        f.struct("ledger_id", f.col("first_entry_id").alias("entry_id"), "publish_time_ms"),
    )
    grouped = joined.groupBy("topic", "subscription").agg(
        f.min(oldest).alias("oldest"),
        f.sum(f.when(is_sum, f.col("entries"))).alias("backlog_entries"),
        f.sum(f.when(is_sum, f.col("messages"))).alias("backlog_messages"),
        f.sum(f.when(is_sum, f.col("bytes"))).alias("backlog_bytes"),
        f.count(f.when(is_hole, 1)).alias("holes"),
        f.sum(f.when(is_hole, f.col("entries"))).alias("hole_entries"),
        f.count(f.when(f.col("kind") == "batch_hole", 1)).alias("batch_holes"),
        f.sum("redelivered_bytes").alias("redelivered_bytes"),
        f.sum("rolled_back_entries").alias("rollback_entries"),
        f.sum("rolled_back_bytes").alias("rollback_bytes"),
    )
    what = f.concat_ws(" ", "state", "role")
    roles = chunks.join(
        publications.select("topic", "chunk_uuid", "publish_time_ms", "state"),
        on=["topic", "chunk_uuid", "publish_time_ms"], how="inner",
    ).select(
        "topic", f.col("ledger_id").alias("at_ledger"), f.col("entry_id").alias("at_entry"), what.alias("what")
    )  # fmt: skip
    at = (grouped["topic"] == roles["topic"]) & (f.col("oldest.ledger_id") == f.col("at_ledger"))
    named = grouped.join(roles, on=at & (f.col("oldest.entry_id") == f.col("at_entry")), how="left").drop(
        roles["topic"]
    )
    return named.select(
        "topic", "subscription", "holes", "hole_entries", "batch_holes", "backlog_entries", "backlog_messages",
        "backlog_bytes", "redelivered_bytes", "rollback_entries", "rollback_bytes",
        f.col("oldest.ledger_id").alias("oldest_unacked_ledger_id"),
        f.col("oldest.entry_id").alias("oldest_unacked_entry_id"),
        time_of_ms("oldest.publish_time_ms").alias("oldest_unacked_time"),
        f.when(f.col("oldest").isNotNull(), f.coalesce("what", f.lit("message"))).alias("oldest_unacked_what"),
    )  # fmt: skip


def _todo(stalls: DataFrame) -> DataFrame:
    wanted = stalls.filter(~f.col("action").isin("wait", "none"))
    return wanted.groupBy("topic", "subscription").agg(f.count("*").alias("stalls"))
