"""Chunked messages that compaction cut: of a keyed one the compacted topic keeps the last chunk only."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.subscriptions.analysed import COMPACTION
from pulsar_backlog.subscriptions.stall_kinds import COMPACTION_TRUNCATION
from pulsar_backlog.subscriptions.stall_words import compaction_advice
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import Position

_REASON = "compaction works entry by entry; whether a later message with the key replaced it is not looked at"


def compacted_stalls(
    publications: DataFrame, log_entries: DataFrame, horizons: Mapping[str, Position], cluster: str
) -> DataFrame:
    """Rows of `stalls` for keyed chunked messages that lie wholly before a topic's compaction horizon.

    `noted` are rows of `noted_entries`, where all chunks are.
    """
    keyed = log_entries.filter("has_key").select(
        "topic", f.col("ledger_id").alias("first_ledger_id"), f.col("entry_id").alias("first_entry_id")
    )
    last = f.struct("last_ledger_id", "last_entry_id")
    horizon = f.struct(
        f.col("horizon_ledger_id").alias("last_ledger_id"), f.col("horizon_entry_id").alias("last_entry_id")
    )
    cut = (
        publications.filter((f.col("state") == "whole") & (f.col("num_chunks") > 1))
        .join(f.broadcast(_horizons(publications, horizons)), on="topic", how="inner")
        .filter(last <= horizon)
        .join(keyed, on=["topic", "first_ledger_id", "first_entry_id"], how="left_semi")
    )
    values = {
        "cluster": f.lit(cluster),
        "subscription": f.lit(COMPACTION),
        "code": f.lit(COMPACTION_TRUNCATION.code),
        "kind": f.lit(COMPACTION_TRUNCATION.name),
        "also": f.array(),
        "unacked_positions": f.array(),
        "unacked_entries": f.lit(0),
        "unacked_bytes": f.lit(0),
        "acked_entries": f.col("copies"),
        "acked_chunk_zero": f.lit(True),
        "can_complete": f.lit(False),
        "blocks_dispatch": f.lit(False),
        "action": f.lit(COMPACTION_TRUNCATION.remedy),
        "first_chunk_ledger_id": f.col("first_ledger_id"),
        "first_chunk_entry_id": f.col("first_entry_id"),
        "sureness": f.lit("likely"),
        "reason": f.lit(_REASON),
        "advice": f.lit(compaction_advice()),
        "subscription_type": f.lit(None),
    }
    columns = TABLES["stalls"].columns
    return cut.select(*(values.get(c.name, f.col(c.name)).cast(c.type).alias(c.name) for c in columns))


def _horizons(publications: DataFrame, horizons: Mapping[str, Position]) -> DataFrame:
    rows = [(topic, ledger_id, entry_id) for topic, (ledger_id, entry_id) in horizons.items()]
    ddl = "topic string, horizon_ledger_id bigint, horizon_entry_id bigint"
    return publications.sparkSession.createDataFrame(rows, ddl)
