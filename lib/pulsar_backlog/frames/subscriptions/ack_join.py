"""The door to the acknowledgement join: entries in ledger order in, unacknowledged runs and sums per subscription out.

One pass over the entries, one ledger at a time, all subscriptions of its topic at once. What stays in memory is the
states (bitmaps) and, of one ledger, its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.subscriptions.ack_runs import AckJoin, Piece, rows_of
from pulsar_backlog.subscriptions.states import States
from pulsar_backlog.workers import quiet

SUM = "sum"
_SCHEMA = (
    "topic string not null, subscription string not null, ledger_id bigint not null, first_entry_id bigint not null,"
    " last_entry_id bigint not null, kind string not null, entries bigint not null, messages bigint not null,"
    " bytes bigint not null, unacked_batch_indexes array<int>, publish_time_ms bigint, redelivered_bytes bigint,"
    " rolled_back_entries bigint, rolled_back_bytes bigint, impossible boolean"
)
_OUT_ROWS = 1 << 16


def message_count() -> Column:
    """Messages in an entry: none in a marker, one in a bare one."""
    count = f.greatest(f.coalesce(f.col("num_messages_in_batch"), f.lit(1)), f.lit(0))
    return f.when(f.col("marker_type").isNotNull(), 0).otherwise(count).cast("bigint")


def join_acks(entries: DataFrame, states: States, partitions: int) -> DataFrame:
    """Runs of unacknowledged entries (`kind` as in `ack_ranges`), and a row of kind `sum` per subscription and ledger.

    Only entries of topics that have states count. A ledger's rows meet in one task.
    """
    shared = entries.sparkSession.sparkContext.broadcast(dict(states))
    schema = spark_schema(_SCHEMA)
    arrow = to_arrow_schema(schema)

    def join_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        open_key: tuple[str, int] | None = None
        joins: list[tuple[str, AckJoin]] = []
        for batch in batches:
            for key, piece in _pieces(batch):
                if key != open_key:
                    yield from _finished(open_key, joins, shared.value, arrow)
                    open_key = key
                    joins = [(s.view.name, AckJoin(s.opened(key[1]))) for s in shared.value.get(key[0], ())]
                for _, join in joins:
                    join.add(piece)
        yield from _finished(open_key, joins, shared.value, arrow)

    wanted = entries.filter(f.col("topic").isin(list(states))).select(
        "topic", "ledger_id", "entry_id", f.col("length").cast("bigint").alias("bytes"),
        message_count().alias("messages"), "publish_time_ms",
    )  # fmt: skip
    ordered = wanted.repartition(partitions, "topic", "ledger_id").sortWithinPartitions(
        "topic", "ledger_id", "entry_id"
    )
    return ordered.mapInArrow(quiet(join_partition), schema)


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[tuple[str, int], Piece]]:
    if not batch.num_rows:
        return
    columns = {
        name: batch.column(name).to_numpy()
        for name in ("ledger_id", "entry_id", "bytes", "messages", "publish_time_ms")
    }
    ids = columns["ledger_id"]
    cuts = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), batch.num_rows]
    for start, stop in pairwise(cuts):
        of = slice(start, stop)
        key = (batch.column("topic")[start].as_py(), int(ids[start]))
        yield (
            key,
            Piece(
                columns["entry_id"][of], columns["bytes"][of], columns["messages"][of], columns["publish_time_ms"][of]
            ),
        )


def _finished(
    key: tuple[str, int] | None, joins: list[tuple[str, AckJoin]], states: States, arrow: pa.Schema
) -> Iterator[pa.RecordBatch]:
    if key is None:
        return
    highest = {s.view.name: s.view.highest_acked for s in states.get(key[0], ())}
    small: list[dict[str, Any]] = []
    for name, join in joins:
        join.finish()
        for columns in rows_of(join):
            for at in range(0, columns.shape[1], _OUT_ROWS):
                yield _run_batch(key, name, columns[:, at : at + _OUT_ROWS], highest[name], arrow)
        small += _small_rows(key, name, join)
    if small:
        yield pa.RecordBatch.from_pylist(small, schema=arrow)


def _run_batch(
    key: tuple[str, int], name: str, columns: Any, highest: tuple[int, int], arrow: pa.Schema
) -> pa.RecordBatch:
    topic, ledger_id = key
    first, last, entries, messages, length = columns
    count = len(first)
    is_hole = (ledger_id < highest[0]) | ((ledger_id == highest[0]) & (last < highest[1]))
    kinds = pa.array(np.where(is_hole, "hole", "tail"), pa.string())
    held = {
        "topic": pa.repeat(topic, count), "subscription": pa.repeat(name, count),
        "ledger_id": pa.array(np.full(count, ledger_id)), "first_entry_id": pa.array(first),
        "last_entry_id": pa.array(last), "kind": kinds, "entries": pa.array(entries),
        "messages": pa.array(messages), "bytes": pa.array(length),
    }  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [held[one.name] if one.name in held else pa.nulls(count, one.type) for one in arrow], schema=arrow
    )


def _small_rows(key: tuple[str, int], name: str, join: AckJoin) -> Iterator[dict[str, Any]]:
    same = {"topic": key[0], "subscription": name, "ledger_id": key[1]}
    for hole in join.batch_holes:
        yield same | {
            "first_entry_id": hole.entry_id, "last_entry_id": hole.entry_id, "kind": "batch_hole", "entries": 1,
            "messages": hole.messages, "bytes": hole.bytes, "unacked_batch_indexes": hole.indexes,
            "impossible": hole.impossible,
        }  # fmt: skip
    sums = join.sums
    if sums.entries or sums.redelivered_bytes or sums.rolled_back_entries:
        entry_id, publish_ms = sums.oldest or (-1, None)
        yield same | {
            "first_entry_id": entry_id, "last_entry_id": entry_id, "kind": SUM, "entries": sums.entries,
            "messages": sums.messages, "bytes": sums.bytes, "publish_time_ms": publish_ms,
            "redelivered_bytes": sums.redelivered_bytes, "rolled_back_entries": sums.rolled_back_entries,
            "rolled_back_bytes": sums.rolled_back_bytes,
        }  # fmt: skip
