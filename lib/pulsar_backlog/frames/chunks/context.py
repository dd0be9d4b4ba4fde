"""What publications show beside each other and the rest of the log: codes with their places, for `counted_findings`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.chunks.verdict_findings import NO_LOSS
from pulsar_backlog.frames.chunks.rows import is_chunk
from pulsar_backlog.frames.chunks.slice_limits import FRAME_PADDING_BYTES, fills_limit, limit_in_evidence
from pulsar_backlog.frames.log.transactions import ends_transaction
from pulsar_backlog.terms import INCOMPLETE
from pulsar_backlog.wire.markers import TXN_COMMIT


@dataclass(frozen=True)
class Known:
    """What is known of topics beside their log; both empty without admin JSON.

    Attributes:
        deduplicated: topics on which the broker drops duplicates.
        seen_to_end: topics whose scan reaches the broker's last entry.
    """

    deduplicated: Collection[str] = ()
    seen_to_end: Collection[str] = ()


def codes_in_context(publications: DataFrame, producers: DataFrame, noted: DataFrame, known: Known) -> DataFrame:
    """Codes C16, C18, C27, C30 and C31: topic, ledger_id, entry_id, sureness, reason, code.

    Args:
        publications: rows of `chunked_messages`.
        producers: as `producers_of` makes them.
        noted: rows of `noted_entries`.
        known: what is known beside the log.
    """
    parts = (
        lost_to_deduplication(publications, producers, known.deduplicated),
        sequence_inversions(publications),
        blocked_tails(publications, producers, known.seen_to_end),
        hidden_by_transactions(publications, noted),
        slices_near_limit(producers),
    )
    return reduce(DataFrame.unionByName, parts)


def lost_to_deduplication(publications: DataFrame, producers: DataFrame, deduplicated: Collection[str]) -> DataFrame:
    """C16: only the last chunk is missing, or all but the first are, and the producer went on as if all were well.

    Deduplication must be known to be on, or show itself on the topic by a residue that only it leaves. The producer
    went on when its last entry has a higher sequence id; a later message of the same size may be a retry, which makes
    it unsure: then the producer knew.
    """
    of_topic, of_size = Window.partitionBy("topic"), Window.partitionBy("topic", "producer_name", "total_bytes")
    shows = f.max(f.array_contains("flags", "prefix_residue")).over(of_topic)
    newest_alike = f.max(_place("first")).over(of_size)
    ends = producers.select("topic", "producer_name", "last")
    looked = publications.select(
        "*", (f.col("topic").isin(*deduplicated) | shows).alias("drops"), newest_alike.alias("newest_alike")
    )
    cut = f.col("present_chunks").isin(1, f.col("num_chunks") - 1)
    went_on = (f.col("last.sequence_id") > f.col("sequence_id")) & (_position(f.col("last")) > _place("last"))
    lost = (
        looked.filter((f.col("state") == "orphan_prefix") & f.col("drops") & cut)
        .join(ends, on=["topic", "producer_name"], how="inner")
        .filter(went_on & ~f.arrays_overlap("flags", f.array(f.lit("uuid_reused"), f.lit(NO_LOSS))))
    )
    retried = f.col("newest_alike") > _place("last")
    sureness = f.when(retried | (f.col("sureness") == "cannot_tell"), "cannot_tell").otherwise("likely")
    reason = f.when(retried, "a later message of the same size may be a retry").otherwise(
        "the producer went on in order, and deduplication is on"
    )
    return _coded(lost, "C16", sureness, reason)


def sequence_inversions(publications: DataFrame) -> DataFrame:
    """C18: a message whose last chunk is stored after that of a message its producer numbered later.

    A producer that was restarted begins its numbers again, which is no inversion: the two messages must overlap in the
    log, or the lower one must have been published no later, and the numbers go on from the higher one.
    """
    order = Window.partitionBy("topic", "producer_name").orderBy("last_ledger_id", "last_entry_id")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    top = f.struct("sequence_id", _place("last").alias("last"), "publish_time_ms")
    whole = publications.filter(f.col("state") == "whole").select(
        "*", f.max(top).over(before).alias("top"), f.lead("sequence_id").over(order).alias("next_sequence_id")
    )
    overlaps = _place("first") < f.col("top.last")
    goes_on = f.col("next_sequence_id") > f.col("top.sequence_id")
    goes_on &= f.col("publish_time_ms") <= f.col("top.publish_time_ms")
    lower = f.col("sequence_id") < f.col("top.sequence_id")
    inverted = whole.filter(lower & (overlaps | f.coalesce(goes_on, f.lit(False))))
    return _coded(inverted, "C18", f.lit("certain"), f.lit("the positions show the order"))


def blocked_tails(publications: DataFrame, producers: DataFrame, seen_to_end: Collection[str]) -> DataFrame:
    """C27: the topic's last message entry belongs to a message that no client delivers."""
    ends = producers.groupBy("topic").agg(_position(f.max("last_message")).alias("end"))
    undelivered = publications.filter(f.col("state").isin(*INCOMPLETE))
    last = undelivered.join(ends, on="topic", how="inner").filter(f.col("end") == _place("last"))
    seen = f.col("topic").isin(*seen_to_end)
    sureness = f.when(seen, f.col("sureness")).otherwise("cannot_tell")
    reason = f.when(seen, f.col("reason")).otherwise("the topic may go on after what is seen of it")
    return _coded(last, "C27", sureness, reason)


def hidden_by_transactions(publications: DataFrame, noted: DataFrame) -> DataFrame:
    """C30: chunks in a transaction that was aborted or has not ended, in more than one, or only some in one."""
    marked = noted.filter(ends_transaction())
    ended = marked.groupBy("topic", "txnid_most_bits", "txnid_least_bits").agg(
        f.max(f.col("marker_type") == TXN_COMMIT).alias("committed")
    )
    chunks = noted.filter(is_chunk() & f.col("txnid_most_bits").isNotNull())
    key = ("topic", "chunk_uuid", "publish_time_ms")
    of_message = (
        chunks.withColumn("chunk_uuid", f.coalesce("uuid", f.lit("")))
        .join(ended, on=["topic", "txnid_most_bits", "txnid_least_bits"], how="left")
        .groupBy(*key)
        .agg(
            f.count("*").alias("in_transaction"),
            f.count_distinct("txnid_most_bits", "txnid_least_bits").alias("transactions"),
            f.every(f.coalesce("committed", f.lit(False))).alias("committed"),
            f.bool_or(f.col("committed").isNull()).alias("open"),
        )
    )
    mixed = (f.col("transactions") > 1) | (f.col("in_transaction") < f.col("copies"))
    hidden = publications.join(of_message, on=list(key), how="inner").filter(mixed | ~f.col("committed"))
    sureness = f.when(~mixed & f.col("open"), "likely").otherwise("certain")
    reason = (
        f.when(mixed, "its chunks do not agree on a transaction")
        .when(f.col("open"), "its transaction has neither been committed nor aborted in the log that is seen")
        .otherwise("its transaction was aborted")
    )
    return _coded(hidden, "C30", sureness, reason)


def slices_near_limit(producers: DataFrame) -> DataFrame:
    """C31: a producer whose slices leave no room for their header, or whose headers are larger than the room there is.

    That entries exceed the limit by the chunk fields and encryption tags alone, under 1 KB, is so with every client.
    """
    of_topic = Window.partitionBy("topic")
    slice_bytes = f.col("largest_slice.bytes")
    limit = limit_in_evidence(slice_bytes, f.col("largest_slice.length"), f.max("largest_entry_bytes").over(of_topic))
    judged = producers.select(
        "*", fills_limit(slice_bytes, limit).alias("fills"),
        (f.col("largest_header.bytes") > FRAME_PADDING_BYTES).alias("heavy"),
    )  # fmt: skip
    place = f.when(f.col("heavy"), _position(f.col("largest_header"))).otherwise(_position(f.col("largest_slice")))
    near = judged.filter(f.col("fills") | f.col("heavy")).withColumn("place", place)
    sureness = f.when(f.col("heavy"), "certain").otherwise("likely")
    reason = f.when(f.col("heavy"), "a header is larger than the 10 KB that a frame allows beside a full slice")
    return near.select(
        "topic", f.col("place.ledger_id").alias("ledger_id"), f.col("place.entry_id").alias("entry_id"),
        sureness.alias("sureness"),
        reason.otherwise("maxMessageSize is taken to be the round number that a slice fills").alias("reason"),
        f.lit("C31").alias("code"),
    )  # fmt: skip


def _coded(publications: DataFrame, code: str, sureness: Column, reason: Column) -> DataFrame:
    return publications.select(
        "topic", f.col("first_ledger_id").alias("ledger_id"), f.col("first_entry_id").alias("entry_id"),
        sureness.alias("sureness"), reason.alias("reason"), f.lit(code).alias("code"),
    )  # fmt: skip


def _place(end: str) -> Column:
    """First or last position of a publication, comparable as the log is ordered."""
    return f.struct(f.col(f"{end}_ledger_id").alias("ledger_id"), f.col(f"{end}_entry_id").alias("entry_id"))


def _position(place: Column) -> Column:
    return f.struct(place["ledger_id"].alias("ledger_id"), place["entry_id"].alias("entry_id"))
