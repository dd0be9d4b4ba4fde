"""What to export, from metadata alone: which entries and chunk sets, where they lie, and which task reads them.

A plan row of an entry is eight numbers and the name of its file, and its metadata is read again with its payload. Of a
chunk, a row of ten numbers and the name is shuffled (96 bytes besides the name as Spark lays it out; 104 where
producers or keys are asked for), and its place in the manifest (16 bytes).

Nothing that might be wanted is left out without a word: an entry whose checksum does not agree is wanted whatever it
says of itself, and whoever asks for keys gets the batches that stay shut as well.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.chunks.rows import has_chunk_fields, is_chunk
from pulsar_backlog.frames.log.transactions import ends_transaction
from pulsar_backlog.messages.kinds import ABORTED, CANNOT_TELL, COMMITTED, NO_TRANSACTION, OPEN, SINGLE_STATES
from pulsar_backlog.messages.outcomes import OPENED
from pulsar_backlog.terms import COMPLETE
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT
from pulsar_backlog.wire.names import SEGMENT_SCHEME

BIN_BYTES = 64 * 1024 * 1024
"""Stretch of an object whose messages one task reads together."""
TASK_BYTES = 256 * 1024 * 1024
"""Bytes of a task that is large enough."""
TASKS_PER_CORE = 4

_TXN = ("txnid_most_bits", "txnid_least_bits")


@dataclass(frozen=True)
class Filters:
    """Which messages are wanted; None and empty want all.

    Attributes:
        since: first publish time, inclusive.
        until: first publish time not wanted any more.
        producers: producer names; any may match.
        keys: message keys as text; any may match.
        states: `single`, `batch`, or states of chunked messages; any may match.
        all_transactions: also messages of aborted and open transactions.
    """

    since: datetime | None = None
    until: datetime | None = None
    producers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    all_transactions: bool = False

    def wants_entries(self) -> bool:
        """Whether messages that are not chunked are wanted at all."""
        return not self.states or any(state in self.states for state in SINGLE_STATES)


@dataclass(frozen=True)
class Decided:
    """What the metadata store says of transactions in segments: rows of `transactions` and of `segments`."""

    transactions: DataFrame
    segments: DataFrame


def with_transactions(entries: DataFrame, decided: Decided | None = None) -> DataFrame:
    """Entries that are messages, with `txn_state`; `visible_messages` hides what applications do not see.

    A message of a transaction is committed by a marker that stands later in its topic. Segments hold no markers: the
    metadata store decides there, in the order of `cluster/transactions.py`; where it was not saved nobody can tell.
    Runs a query: whether there is any such message, since most clusters have none and then nothing is joined.
    """
    messages = entries.filter(f.col("marker_type").isNull())
    outside = messages.filter(f.col(_TXN[0]).isNull()).withColumn("txn_state", f.lit(NO_TRANSACTION))
    inside = messages.filter(f.col(_TXN[0]).isNotNull())
    if inside.isEmpty():
        return outside
    in_segment = f.coalesce(f.col("topic").startswith(SEGMENT_SCHEME), f.lit(False))
    marked = _by_markers(inside.filter(~in_segment), entries.filter(ends_transaction()))
    of_segments = inside.filter(in_segment)
    if decided is None:
        of_segments = of_segments.withColumn("txn_state", f.lit(CANNOT_TELL))
    else:
        of_segments = _by_store(of_segments, decided)
    return outside.unionByName(marked).unionByName(of_segments)


def _by_markers(inside: DataFrame, ends: DataFrame) -> DataFrame:
    place = f.struct("ledger_id", "entry_id")
    markers = ends.groupBy("topic", *_TXN).agg(
        f.max_by("marker_type", place).alias("marker"), f.max(place).alias("marked_at")
    )
    inside = inside.join(markers, on=["topic", *_TXN], how="left")
    marked = f.col("marked_at") > place
    state = (
        f.when(marked & (f.col("marker") == TXN_COMMIT), COMMITTED)
        .when(marked & (f.col("marker") == TXN_ABORT), ABORTED)
        .otherwise(OPEN)
    )
    return inside.withColumn("txn_state", state).drop("marker", "marked_at")


def _by_store(inside: DataFrame, decided: Decided) -> DataFrame:
    rows = decided.transactions.select("topic", *_TXN, "state")
    here = rows.filter(f.col("topic") != "").withColumnRenamed("state", "here")
    whole = rows.filter(f.col("topic") == "").drop("topic").withColumnRenamed("state", "whole")
    watermark = ["watermark_ledger_id", "watermark_entry_id"]
    watermarks = decided.segments.filter(f.col(watermark[0]).isNotNull())
    watermarks = watermarks.select(
        f.col("segment").alias("topic"),
        f.struct(*watermark).alias("watermark"),
        f.col("first_ledger_id").alias("listed_from"),
    )
    inside = inside.join(f.broadcast(here), on=["topic", *_TXN], how="left")
    inside = inside.join(f.broadcast(whole), on=list(_TXN), how="left")
    inside = inside.join(f.broadcast(watermarks), on="topic", how="left")
    place = f.struct(*(f.col(of).alias(name) for of, name in zip(("ledger_id", "entry_id"), watermark, strict=True)))
    state = (
        f.when((f.col("here") == "aborted") | (f.col("whole") == "aborted"), ABORTED)
        .when(f.col("whole") == "open", OPEN)
        .when((f.col("here") == "committed") | (f.col("whole") == "committed"), COMMITTED)
        .when((f.col("ledger_id") >= f.col("listed_from")) & (place <= f.col("watermark")), COMMITTED)
        .otherwise(CANNOT_TELL)
    )
    return inside.withColumn("txn_state", state).drop("here", "whole", "watermark", "listed_from")


def visible_messages(messages: DataFrame, filters: Filters) -> DataFrame:
    """Rows with `txn_state`, without aborted and open transactions unless they are asked for.

    Messages of which nobody can tell stay: most are committed, and a message that is left out is lost to its reader.
    """
    shown = f.col("txn_state").isin(NO_TRANSACTION, COMMITTED, CANNOT_TELL)
    return messages if filters.all_transactions else messages.filter(shown)


def wanted_entries(entries: DataFrame, filters: Filters) -> DataFrame:
    """Entries, or chunked messages, of wanted times and producers."""
    return entries.filter(_of_times(filters) & _of_producers(filters))


def plan_entries(messages: DataFrame, filters: Filters) -> DataFrame:
    """Plan rows of single messages and batches. A batch has many keys: `of_keys` looks at them once it is open.

    Chunks of a ledger whose topic nothing names are in no plan: they are no messages, and not joined.
    """
    batched = f.col("num_messages_in_batch").isNotNull()
    wanted = _of_times(filters) & _of_producers(filters)
    if filters.keys:
        wanted &= has_key(filters.keys) | batched
    if filters.states:
        wanted &= f.when(batched, "batch").otherwise("single").isin(*filters.states)
    requested = wanted | (f.col("checksum_state") == "mismatch") if filters.wants_entries() else f.lit(False)
    return visible_messages(messages, filters).filter(~has_chunk_fields() & requested).select(
        "ledger_id", "entry_id", "uri", "offset", "length", "inner_offset", "block_length",
        f.col("txn_state").cast("int").alias("txn_state"),
        batched.cast("int").alias("batched"), _bin(f.col("offset")).alias("bin"),
        f.col("length").cast("bigint").alias("bytes"),
    )  # fmt: skip


def of_keys(rows: DataFrame, filters: Filters) -> DataFrame:
    """Rows of planned entries without batch members of other keys. What was not opened stays: nobody knows its keys."""
    if not filters.keys:
        return rows
    member = (f.col("batch_index") >= 0) & f.col("outcome").isin(*OPENED)
    return rows.filter(~member | has_key(filters.keys))


def has_key(keys: tuple[str, ...]) -> Column:
    """Whether the message key is one of these, as text or as the bytes of the text."""
    coded = f.coalesce("partition_key_b64_encoded", f.lit(False))
    decoded = f.try_to_binary("partition_key", f.lit("base64")).cast("string")
    return f.coalesce(f.when(coded, decoded).otherwise(f.col("partition_key")).isin(*keys), f.lit(False))


def plan_chunked(messages: DataFrame, publications: DataFrame, filters: Filters) -> DataFrame:
    """Plan rows of chunked messages of which every chunk is stored: one row each, with all copies of its chunks.

    A message is wanted if any of its copies is, and hidden if any copy's transaction hides it: never a part of one.
    """
    publications = publications.filter(_of_times(filters))
    if filters.states:
        publications = publications.filter(f.col("state").isin(*filters.states))
    copies = visible_messages(_copies(messages.filter(_of_times(filters)), filters), filters)
    contested = f.arrays_overlap("flags", f.array(f.lit("copies_differ"), f.lit("metadata_conflict")))
    contested = contested | (f.col("state") == "malformed")
    whole = publications.filter(exportable()).select(
        _publication_key(f.col("chunk_uuid")).alias("key"), "chunk_uuid", "publish_time_ms", "state", "num_chunks",
        "total_bytes", "uncompressed_bytes", "compression", "encrypted", contested.alias("contested"),
        f.col("manifest.ledger_id").alias("picked_ledgers"), f.col("manifest.entry_id").alias("picked_entries"),
        f.col("stored_bytes").alias("bytes"),
    )  # fmt: skip
    first = f.col("copies")[0]
    return whole.join(copies, on="key", how="inner").select(
        "chunk_uuid", "publish_time_ms", "state", "num_chunks", "total_bytes", "uncompressed_bytes", "compression",
        "encrypted", "contested", "picked_ledgers", "picked_entries", "copies", "txn_state", "bytes",
        *(first[name].alias(name) for name in ("ledger_id", "uri", "offset")), _bin(first["offset"]).alias("bin"),
    )  # fmt: skip


def _copies(messages: DataFrame, filters: Filters) -> DataFrame:
    """All sound copies of each wanted publication's chunks, by its key, with `txn_state`: the one that hides most."""
    stored = messages.filter(is_chunk() & f.col("chunk_id").isNotNull() & (f.col("checksum_state") != "mismatch"))
    chunk = f.struct(
        "chunk_id", "ledger_id", "entry_id", "uri", "offset", "length", "payload_offset", "inner_offset", "block_length"
    )
    columns: list[Column | str] = [
        _publication_key(f.coalesce("uuid", f.lit(""))).alias("key"), "chunk_id", "ledger_id", "entry_id",
        "uri", "offset", "length", "payload_offset", "inner_offset", "block_length",
        f.col("txn_state").cast("int").alias("txn_state"),
    ]  # fmt: skip
    aggregates = [f.sort_array(f.collect_list(chunk)).alias("copies"), f.max("txn_state").alias("txn_state")]
    if not filters.producers and not filters.keys:
        return stored.select(*columns).groupBy("key").agg(*aggregates)
    wanted = _of_producers(filters)
    if filters.keys:
        wanted &= has_key(filters.keys)
    grouped = stored.select(*columns, wanted.alias("wanted")).groupBy("key")
    return grouped.agg(*aggregates, f.bool_or("wanted").alias("wanted")).filter("wanted")


def _of_times(filters: Filters) -> Column:
    wanted = f.lit(True)
    if filters.since is not None:
        wanted &= f.col("publish_time") >= f.lit(filters.since)
    if filters.until is not None:
        wanted &= f.col("publish_time") < f.lit(filters.until)
    return wanted


def _of_producers(filters: Filters) -> Column:
    return f.col("producer_name").isin(*filters.producers) if filters.producers else f.lit(True)


def exportable() -> Column:
    """Whether a publication can be tried: it can be rebuilt, or all is there but its payload did not decode."""
    undecoded = f.col("state").isin(*COMPLETE) & f.col("decode_state").isin("fault", "wrong_size")
    return f.col("rebuildable") | (undecoded & (f.col("present_chunks") == f.col("num_chunks")))


def pack(plan: DataFrame, cores: int) -> DataFrame:
    """The plan, its rows where they will be read: bins packed into tasks of about equal bytes, in order of place.

    Only sums of bins (64 MiB each) come to the driver. The plan is made once and kept with the executors, in memory or
    on disk, until nobody refers to it any more.
    """
    plan = plan.localCheckpoint()
    sums = plan.groupBy("ledger_id", "bin").agg(f.sum("bytes").alias("bytes"))
    bins = [(row["ledger_id"], row["bin"], row["bytes"]) for row in sums.toLocalIterator()]
    tasks = assign_tasks(bins, cores)
    spark = plan.sparkSession
    placed = spark.createDataFrame(tasks, "ledger_id bigint, bin bigint, task int")
    count = 1 + max((task for _, _, task in tasks), default=0)
    joined = plan.join(f.broadcast(placed), on=["ledger_id", "bin"], how="inner")
    # Spark 4.0 places tasks by their hash, where two may meet in one partition: that costs balance, no more.
    repartition = getattr(joined, "repartitionById", joined.repartition)
    return repartition(count, "task").sortWithinPartitions("ledger_id", "uri", "offset").drop("task", "bin", "bytes")


def assign_tasks(bins: Iterable[tuple[int, int, int]], cores: int) -> list[tuple[int, int, int]]:
    """Ledger, bin and task of each bin: the largest first, each to the task that has least."""
    ordered = sorted(bins, key=lambda item: (-item[2], item[0], item[1]))
    total = sum(size for _, _, size in ordered)
    count = max(1, min(len(ordered), max(cores * TASKS_PER_CORE, -(-total // TASK_BYTES))))
    loads = [(0, task) for task in range(count)]
    placed = []
    for ledger_id, number, size in ordered:
        load, task = heapq.heappop(loads)
        placed.append((ledger_id, number, task))
        heapq.heappush(loads, (load + size, task))
    return placed


def _bin(offset: Column) -> Column:
    return f.floor(offset / BIN_BYTES).cast("bigint")


def _publication_key(uuid: Column) -> Column:
    """Eight bytes for topic, uuid and publish time. A collision only adds copies, which are looked at before use."""
    return f.xxhash64("topic", uuid, "publish_time_ms")
