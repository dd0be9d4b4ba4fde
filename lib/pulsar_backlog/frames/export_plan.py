"""What to export, from metadata alone: which entries and chunk sets, where they lie, and which task reads them.

A plan row of an entry is five numbers, and its metadata is read again with its payload. Of a chunk, a row of eight
numbers is shuffled (72 bytes as Spark lays it out), and its place in the manifest (16 bytes).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.chunk_rows import is_chunk
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

BIN_BYTES = 64 * 1024 * 1024
"""Stretch of an object whose messages one task reads together."""
TASK_BYTES = 256 * 1024 * 1024
"""Bytes of a task that is large enough."""
TASKS_PER_CORE = 4

NO_TRANSACTION, COMMITTED, ABORTED, OPEN = range(4)
TRANSACTIONS = (None, "committed", "aborted", "open")
"""Names of the transaction states, by number."""

SINGLE_STATES = ("single", "batch")
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


def with_transactions(entries: DataFrame) -> DataFrame:
    """Entries that are messages, with `txn_state`; `visible_messages` hides what applications do not see.

    A message of a transaction is committed by a marker that stands later in its topic. Runs a query: whether there is
    any such message, since most clusters have none and then nothing is joined.
    """
    place = f.struct("ledger_id", "entry_id")
    messages = entries.filter(f.col("marker_type").isNull())
    outside = messages.filter(f.col(_TXN[0]).isNull()).withColumn("txn_state", f.lit(NO_TRANSACTION))
    inside = messages.filter(f.col(_TXN[0]).isNotNull())
    if inside.isEmpty():
        return outside
    markers = (
        entries.filter(f.col("marker_type").isin(TXN_COMMIT, TXN_ABORT))
        .groupBy("topic", *_TXN)
        .agg(f.max_by("marker_type", place).alias("marker"), f.max(place).alias("marked_at"))
    )
    inside = inside.join(markers, on=["topic", *_TXN], how="left")
    marked = f.col("marked_at") > place
    state = (
        f.when(marked & (f.col("marker") == TXN_COMMIT), COMMITTED)
        .when(marked & (f.col("marker") == TXN_ABORT), ABORTED)
        .otherwise(OPEN)
    )
    inside = inside.withColumn("txn_state", state).drop("marker", "marked_at")
    return outside.unionByName(inside)


def visible_messages(messages: DataFrame, filters: Filters) -> DataFrame:
    """Without messages of aborted and open transactions, unless they are asked for."""
    return messages if filters.all_transactions else messages.filter(f.col("txn_state").isin(NO_TRANSACTION, COMMITTED))


def wanted_entries(entries: DataFrame, filters: Filters) -> DataFrame:
    """Entries of wanted times and producers. Keys are looked at once payloads are open: a batch has many."""
    wanted = entries
    if filters.since is not None:
        wanted = wanted.filter(f.col("publish_time") >= f.lit(filters.since))
    if filters.until is not None:
        wanted = wanted.filter(f.col("publish_time") < f.lit(filters.until))
    if filters.producers:
        wanted = wanted.filter(f.col("producer_name").isin(*filters.producers))
    return wanted


def plan_entries(messages: DataFrame, filters: Filters) -> DataFrame:
    """Plan rows of single messages and batches."""
    bare = messages.filter(~is_chunk())
    if filters.keys:
        bare = bare.filter(has_key(filters.keys) | f.col("num_messages_in_batch").isNotNull())
    if not filters.wants_entries():
        bare = bare.filter(f.lit(False))
    return bare.select(
        "ledger_id", "entry_id", "offset", "length", f.col("txn_state").cast("int").alias("txn_state"),
        _bin(f.col("offset")).alias("bin"), f.col("length").cast("bigint").alias("bytes"),
    )  # fmt: skip


def has_key(keys: tuple[str, ...]) -> Column:
    """Whether the message key is one of these, as text or as the bytes of the text."""
    coded = f.coalesce("partition_key_b64_encoded", f.lit(False))
    decoded = f.try_to_binary("partition_key", f.lit("base64")).cast("string")
    return f.coalesce(f.when(coded, decoded).otherwise(f.col("partition_key")).isin(*keys), f.lit(False))


def plan_chunked(messages: DataFrame, publications: DataFrame, filters: Filters) -> DataFrame:
    """Plan rows of chunked messages of which every chunk is stored: one row each, with all copies of its chunks."""
    if filters.states:
        publications = publications.filter(f.col("state").isin(*filters.states))
    stored = messages.filter(is_chunk() & f.col("chunk_id").isNotNull() & (f.col("checksum_state") != "mismatch"))
    if filters.keys:
        stored = stored.filter(has_key(filters.keys))
    chunk = f.struct("chunk_id", "ledger_id", "entry_id", "offset", "length", "payload_offset")
    copies = (
        stored.select(
            _publication_key(f.coalesce("uuid", f.lit(""))).alias("key"), "chunk_id", "ledger_id", "entry_id",
            "offset", "length", "payload_offset", f.col("txn_state").cast("int").alias("txn_state"),
        )
        .groupBy("key")
        .agg(f.sort_array(f.collect_list(chunk)).alias("copies"), f.max("txn_state").alias("txn_state"))
    )  # fmt: skip
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
        first["ledger_id"].alias("ledger_id"), first["offset"].alias("offset"), _bin(first["offset"]).alias("bin"),
    )  # fmt: skip


def exportable() -> Column:
    """Whether a publication can be tried: it can be rebuilt, or all is there but its payload did not decode."""
    undecoded = f.col("state").isin("whole", "out_of_order") & f.col("decode_state").isin("fault", "wrong_size")
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
    return (
        joined.repartitionById(count, "task").sortWithinPartitions("ledger_id", "offset").drop("task", "bin", "bytes")
    )


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
