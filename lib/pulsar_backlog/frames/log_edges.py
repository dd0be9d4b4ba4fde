"""What is known about the ends of each topic's log: from its entries, the books, the ledgers, and the broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.cluster.absent import absent_ledgers
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.frames.chunk_rows import topic_ends

EDGE_COLUMNS = (
    "topic", "end_time_ms", "first_ledger_id", "begins_at_start", "last_ledger_id", "last_entry_id", "has_rejects",
    "open_ledgers", "ledger_ids",
)  # fmt: skip


def edge_rows(producers: DataFrame, scans: DataFrame, ledgers: DataFrame) -> DataFrame:
    """One row per topic, as `EDGE_COLUMNS`: a few numbers and its ledger ids; `producers` as by `producer_facts`."""
    lost = f.max((f.col("rejected") > 0) | (f.col("structure_faults") > 0) | ~f.col("complete"))
    books = scans.groupBy("topic").agg(lost.alias("has_rejects"))
    still_open = f.collect_set(f.when(f.col("ledger_state") == "OPEN", f.col("ledger_id")))
    stored = ledgers.groupBy("topic").agg(
        still_open.alias("open_ledgers"),
        f.collect_set("ledger_id").alias("ledger_ids"),
        f.unix_millis(f.max("closed_time")).alias("closed_ms"),
    )
    joined = topic_ends(producers).join(books, on="topic", how="left").join(stored, on="topic", how="left")
    return joined.withColumn("end_time_ms", f.greatest("end_time_ms", "closed_ms")).select(*EDGE_COLUMNS)


def log_edges(rows: DataFrame, state: ClusterState | None, grace_ms: int) -> Mapping[str, LogEdge]:
    """The edges by topic. Grows with topics and ledgers, never with entries."""
    topics = state.topics if state else {}
    return {row["topic"]: _edge(row.asDict(), topics.get(row["topic"]), grace_ms) for row in rows.toLocalIterator()}


def _edge(row: Mapping[str, Any], topic: TopicState | None, grace_ms: int) -> LogEdge:
    end_ms, first = row["end_time_ms"], row["first_ledger_id"]
    last = (row["last_ledger_id"], row["last_entry_id"])
    stored = frozenset(row["ledger_ids"] or ())
    at_end = topic is not None and topic.last_confirmed is not None and last >= topic.last_confirmed
    known_until = topic.known_until_ms if at_end and topic else None
    absent = tuple(ledger.ledger_id for ledger in absent_ledgers(topic, stored)) if topic else ()
    return LogEdge(
        end_time_ms=max((ms for ms in (end_ms, known_until) if ms is not None), default=None),
        grace_ms=grace_ms,
        producer_last={},
        open_ledgers=frozenset(row["open_ledgers"] or ()),
        first_ledger_id=first,
        begins_at_start=bool(row["begins_at_start"]),
        absent_ledgers=absent,
        has_rejects=bool(row["has_rejects"]),
        complete_to_end=at_end,
        producers_gone=topic is not None and topic.publishers == 0,
    )
