"""The door to the acknowledgement join: spans of entries in, unacknowledged runs and sums per subscription out.

A span that is acknowledged as a whole, or not at all, is told by its sums; entries are looked at one by one where a
subscription's state cuts through a span. One ledger at a time, all subscriptions of its topic at once. What stays in
memory is the states (bitmaps) and, of one ledger, its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from pulsar_backlog.facts.spans import broker_times_of, entry_ids_of
from pulsar_backlog.subscriptions.ack_runs import AckJoin, Piece, Span, rows_of
from pulsar_backlog.subscriptions.states import OpenedState, States
from pulsar_backlog.tables.arrow import ddl_schema
from pulsar_backlog.tasks.shared import SharedValue

SUM = "sum"
ACKS_DDL = (
    "topic string not null, subscription string not null, ledger_id bigint not null, first_entry_id bigint not null,"
    " last_entry_id bigint not null, kind string not null, entries bigint not null, messages bigint not null,"
    " bytes bigint not null, unacked_batch_indexes array<int>, publish_time_ms bigint, broker_time_ms bigint,"
    " redelivered_bytes bigint, rolled_back_entries bigint, rolled_back_bytes bigint, impossible boolean"
)
_SUMS = (
    "topic", "ledger_id", "first_entry_id", "last_entry_id", "entries", "messages", "bytes", "first_publish_time_ms",
)  # fmt: skip
_LISTS = ("entry_ids", "lengths", "message_counts", "publish_times_ms")
_OUT_ROWS = 1 << 16
_SMALL_ROWS = 4096
"""Rows that are made one by one and become one batch."""
_FEW_RUNS = 32
"""Runs of a subscription in a ledger up to which they are."""

Key = tuple[str, int]
"""A topic, and a ledger of it."""


@dataclass(frozen=True)
class AckTask:
    """What a task does with its spans."""

    states: SharedValue[States]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """See `join_acks`."""
        yield from join_acks(batches, self.states.value)


def join_acks(batches: Iterable[pa.RecordBatch], states: States) -> Iterator[pa.RecordBatch]:
    """Runs of unacknowledged entries (`kind` as in `ack_ranges`), and a row of kind `sum` per subscription and ledger.

    Args:
        batches: rows of conf/subscriptions/spans.sql, a ledger's one after the other, in order.
        states: of the subscriptions.
    """
    arrow = ddl_schema(ACKS_DDL)
    rows = ((batch, row) for batch in batches for row in range(batch.num_rows))
    opened, small = _Opened(states), list[dict[str, Any]]()
    for key, of_ledger in groupby(rows, key=_key):
        yield from _joined(key, of_ledger, opened, arrow, small)
        if len(small) >= _SMALL_ROWS:
            yield pa.RecordBatch.from_pylist(small, schema=arrow)
            small.clear()
    if small:
        yield pa.RecordBatch.from_pylist(small, schema=arrow)


class _Opened:
    """The subscriptions of the ledger asked about last, opened for it."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._key: Key | None = None
        self._opened: dict[str, OpenedState] = {}

    def of(self, key: Key) -> dict[str, OpenedState]:
        """By name."""
        if key != self._key:
            self._key = key
            self._opened = {state.view.name: state.opened(key[1]) for state in self._states.get(key[0], ())}
        return self._opened


def _joined(
    key: Key, rows: Iterable[tuple[pa.RecordBatch, int]], opened: _Opened, arrow: pa.Schema, small: list[dict[str, Any]]
) -> Iterator[pa.RecordBatch]:
    """The rows of one ledger, whose spans come in order; those of a few runs, and of sums, are put to `small`."""
    states = opened.of(key)
    joins = {name: AckJoin(state) for name, state in states.items()}
    for batch, row in rows:
        span = _span(batch, row)
        piece: Piece | None = None
        for name, join in joins.items():
            whole = states[name].whole(span.first, span.last)
            if whole is not None:
                join.add_span(span, whole)
                continue
            piece = piece or _piece(batch, row)
            join.add(piece)
    for name, join in joins.items():
        join.finish()
        highest = states[name].subscription.view.highest_acked
        for columns in rows_of(join):
            if columns.shape[1] <= _FEW_RUNS:
                small += _run_rows(key, name, columns, highest)
                continue
            for at in range(0, columns.shape[1], _OUT_ROWS):
                yield _run_batch(key, name, columns[:, at : at + _OUT_ROWS], highest, arrow)
        small += _small_rows(key, name, join)


def _key(at: tuple[pa.RecordBatch, int]) -> Key:
    batch, row = at
    return batch.column("topic")[row].as_py(), _int(batch, row, "ledger_id")


def _span(batch: pa.RecordBatch, row: int) -> Span:
    sums = Span(*(_int(batch, row, name) for name in _SUMS[2:]))
    return replace(sums, broker_ms=batch.column("first_broker_time_ms")[row].as_py())


def _piece(batch: pa.RecordBatch, row: int) -> Piece:
    lists = (batch.column(name)[row].values.to_numpy().astype(np.int64) for name in _LISTS[1:])
    broker_ms = broker_times_of(batch, row)
    piece = Piece(entry_ids_of(batch, row), *lists)
    return piece if broker_ms is None else replace(piece, broker_ms=broker_ms.at)


def _int(batch: pa.RecordBatch, row: int, name: str) -> int:
    return int(batch.column(name)[row].as_py())


def _run_rows(key: Key, name: str, columns: Any, highest: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Runs as rows: a batch of a few costs as much as one of a thousand."""
    topic, ledger_id = key
    for first, last, entries, messages, length in columns.T.tolist():
        yield {
            "topic": topic, "subscription": name, "ledger_id": ledger_id, "first_entry_id": first,
            "last_entry_id": last, "kind": "hole" if (ledger_id, last) < highest else "tail", "entries": entries,
            "messages": messages, "bytes": length,
        }  # fmt: skip


def _run_batch(key: Key, name: str, columns: Any, highest: tuple[int, int], arrow: pa.Schema) -> pa.RecordBatch:
    """The same of many runs."""
    topic, ledger_id = key
    first, last, entries, messages, length = columns
    count = len(first)
    is_hole = (ledger_id < highest[0]) | ((ledger_id == highest[0]) & (last < highest[1]))
    kinds = pa.array(np.where(is_hole, "hole", "tail"), pa.string())
    ranges = {
        "topic": pa.repeat(topic, count), "subscription": pa.repeat(name, count),
        "ledger_id": pa.array(np.full(count, ledger_id)), "first_entry_id": pa.array(first),
        "last_entry_id": pa.array(last), "kind": kinds, "entries": pa.array(entries),
        "messages": pa.array(messages), "bytes": pa.array(length),
    }  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [ranges[one.name] if one.name in ranges else pa.nulls(count, one.type) for one in arrow], schema=arrow
    )


def _small_rows(key: Key, name: str, join: AckJoin) -> Iterator[dict[str, Any]]:
    same = {"topic": key[0], "subscription": name, "ledger_id": key[1]}
    for hole in join.batch_holes:
        yield same | {
            "first_entry_id": hole.entry_id, "last_entry_id": hole.entry_id, "kind": "batch_hole", "entries": 1,
            "messages": hole.messages, "bytes": hole.bytes, "unacked_batch_indexes": hole.indexes,
            "impossible": hole.impossible,
        }  # fmt: skip
    sums = join.sums
    if sums.entries or sums.redelivered_bytes or sums.rolled_back_entries:
        oldest = sums.oldest
        entry_id = -1 if oldest is None else oldest.entry_id
        yield same | {
            "first_entry_id": entry_id, "last_entry_id": entry_id, "kind": SUM, "entries": sums.entries,
            "messages": sums.messages, "bytes": sums.bytes, "publish_time_ms": oldest and oldest.publish_ms,
            "broker_time_ms": oldest and oldest.broker_ms, "redelivered_bytes": sums.redelivered_bytes,
            "rolled_back_entries": sums.rolled_back_entries, "rolled_back_bytes": sums.rolled_back_bytes,
        }  # fmt: skip
