"""How transactions of messages end.

| topic | who says so |
|---|---|
| segment of a scalable topic | the metadata store (`cluster/transactions.py`); nobody where it was not saved |
| any other | the transaction's last marker in the topic, where it stands behind the message; without one it is open |
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.messages.kinds import ABORTED, CANNOT_TELL, COMMITTED, NO_TRANSACTION, OPEN
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT
from pulsar_backlog.wire.names import SEGMENT_SCHEME

_TXN = ("txnid_most_bits", "txnid_least_bits")


@dataclass(frozen=True)
class Decided:
    """What the metadata store says of transactions in segments: rows of `transactions` and of `segments`."""

    transactions: DataFrame
    segments: DataFrame


def ends_transaction() -> Column:
    """Whether an entry of `entries` commits or aborts a transaction.

    One whose checksum does not agree is not believed: which transaction it ends, and how, may be what was damaged.
    """
    return f.col("marker_type").isin(TXN_COMMIT, TXN_ABORT) & (f.col("checksum_state") != "mismatch")


def with_transactions(entries: DataFrame, decided: Decided | None = None) -> DataFrame:
    """Entries that are messages, with `txn_state`: one of the numbers of `messages/kinds.py`.

    Runs a query: whether any message is of a transaction, since in most clusters none is and then nothing is joined.

    Args:
        entries: of the topics that are wanted, with their markers.
        decided: what the metadata store says; None where it was not saved.
    """
    messages = entries.filter(f.col("marker_type").isNull())
    in_transaction = f.col("txnid_most_bits").isNotNull()
    outside = messages.filter(~in_transaction).withColumn("txn_state", f.lit(NO_TRANSACTION))
    inside = messages.filter(in_transaction)
    if inside.isEmpty():
        return outside
    in_segment = f.coalesce(f.col("topic").startswith(SEGMENT_SCHEME), f.lit(False))
    by_markers = _by_markers(inside.filter(~in_segment), entries.filter(ends_transaction()))
    by_store = _by_store(inside.filter(in_segment), decided)
    return outside.unionByName(by_markers).unionByName(by_store)


def _by_markers(inside: DataFrame, markers: DataFrame) -> DataFrame:
    """Messages of transactions, by the last marker of each in its topic."""
    position = f.struct("ledger_id", "entry_id")
    last = markers.groupBy("topic", *_TXN).agg(
        f.max_by("marker_type", position).alias("marker"), f.max(position).alias("marked_at")
    )
    ends_later = f.col("marked_at") > position
    state = (
        f.when(ends_later & (f.col("marker") == TXN_COMMIT), COMMITTED)
        .when(ends_later & (f.col("marker") == TXN_ABORT), ABORTED)
        .otherwise(OPEN)
    )
    joined = inside.join(last, on=["topic", *_TXN], how="left")
    return joined.withColumn("txn_state", state).drop("marker", "marked_at")


def _by_store(inside: DataFrame, decided: Decided | None) -> DataFrame:
    """Messages of transactions in segments, by the segment's record and the transaction's header.

    Where neither says how it ended, it is committed up to the watermark, in ledgers that the broker still lists.
    """
    if decided is None:
        return inside.withColumn("txn_state", f.lit(CANNOT_TELL))
    joined = inside.join(f.broadcast(_records(decided)), on=["topic", *_TXN], how="left")
    joined = joined.join(f.broadcast(_headers(decided)), on=list(_TXN), how="left")
    joined = joined.join(f.broadcast(_watermarks(decided)), on="topic", how="left")
    record, header = f.col("record"), f.col("header")
    is_listed = f.col("ledger_id") >= f.col("listed_from")
    state = (
        f.when((record == "aborted") | (header == "aborted"), ABORTED)
        .when(header == "open", OPEN)
        .when((record == "committed") | (header == "committed"), COMMITTED)
        .when(is_listed & (f.struct("ledger_id", "entry_id") <= f.col("watermark")), COMMITTED)
        .otherwise(CANNOT_TELL)
    )
    return joined.withColumn("txn_state", state).drop("record", "header", "watermark", "listed_from")


def _records(decided: Decided) -> DataFrame:
    """What the store says of a transaction in one segment."""
    of_segments = decided.transactions.filter(f.col("topic") != "")
    return of_segments.select("topic", *_TXN, f.col("state").alias("record"))


def _headers(decided: Decided) -> DataFrame:
    """What the store says of a transaction in all topics."""
    of_all = decided.transactions.filter(f.col("topic") == "")
    return of_all.select(*_TXN, f.col("state").alias("header"))


def _watermarks(decided: Decided) -> DataFrame:
    """Position up to which every transaction of a segment is decided, and the first ledger that its broker lists."""
    ledger_id, entry_id = f.col("watermark_ledger_id"), f.col("watermark_entry_id")
    return decided.segments.filter(ledger_id.isNotNull()).select(
        f.col("segment").alias("topic"),
        f.struct(ledger_id.alias("ledger_id"), entry_id.alias("entry_id")).alias("watermark"),
        f.col("first_ledger_id").alias("listed_from"),
    )
