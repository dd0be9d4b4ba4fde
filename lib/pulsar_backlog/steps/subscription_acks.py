"""Spans of entries against what every cursor has acknowledged: the relation `acks`, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from pulsar_backlog.frames.subscriptions.ack_join import ACKS_DDL, SUM, AckTask
from pulsar_backlog.runs.context import Rows
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.sql.task_rows import TaskRows
from pulsar_backlog.subscriptions.states import States, SubscriptionState
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.wire.metadata import END_OF_TIME_MS

_TOPICS = pa.schema([("topic", pa.string())])
_CUTS = pa.schema([("topic", pa.string()), *((name, pa.int64()) for name in ("ledger_id", "first_id", "last_id"))])
_COUNTED = (
    "oldest_unacked_ledger_id", "oldest_unacked_entry_id", "oldest_unacked_time", "oldest_unacked_broker_time",
    "oldest_unacked_what", "holes", "hole_entries", "batch_holes", "backlog_entries", "backlog_messages",
    "backlog_bytes", "stalls", "redelivered_bytes", "rollback_entries", "rollback_bytes",
)  # fmt: skip
"""Columns of `subscriptions` that conf/subscriptions/subscriptions.sql counts."""


def name_topics(engine: QueryEngine, name: str, topics: Iterable[str]) -> None:
    """Register topics as a relation."""
    engine.register(name, pa.Table.from_pydict({"topic": sorted(topics)}, schema=_TOPICS))


def name_acks(engine: QueryEngine, states: States) -> None:
    """Make the relation `acks`, as `join_acks` makes its rows; a ledger's spans meet in one task.

    Args:
        engine: knows `entry_spans`.
        states: of every cursor.
    """
    name_topics(engine, "cursor_topics", states)
    engine.register("cuts", pa.Table.from_pylist(list(_cuts(states)), schema=_CUTS))
    task = AckTask(engine.share(dict(states)))
    spans = TaskRows(engine.sql("subscriptions", "spans", {}), ("topic", "ledger_id"), ("first_entry_id",))
    engine.materialize_tasks("acks", spans, task, ACKS_DDL)


def ack_range_rows(engine: QueryEngine, cluster: str) -> Rows:
    """Rows of `ack_ranges`."""
    query = engine.sql("subscriptions", "ack_ranges", {"sum": portable_literal(SUM)})
    return engine.table(query, TABLES["ack_ranges"], {"cluster": cluster})


def subscription_rows(engine: QueryEngine, rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Rows of `subscriptions`.

    Args:
        engine: knows `acks`, `new_stalls`, `chunks` and `chunked_messages`.
        rows: as `said_row` makes them.
    """
    table = TABLES["subscriptions"]
    own = pa.schema([field for field in arrow_schema(table) if field.name not in _COUNTED])
    engine.register("cursors", pa.Table.from_pylist(rows, schema=own))
    values: dict[str, int | str] = {"sum": portable_literal(SUM), "end_ms": END_OF_TIME_MS - 1}
    return engine.table(engine.sql("subscriptions", "subscriptions", values), table, {})


def _cuts(states: States) -> Iterator[dict[str, Any]]:
    """Stretches of ledgers within which a state may differ from entry to entry: there, lists of entries are needed."""
    for topic, of in states.items():
        stretches = {stretch for state in of for stretch in _stretches(state)}
        for ledger_id, first_id, last_id in stretches:
            yield {"topic": topic, "ledger_id": ledger_id, "first_id": first_id, "last_id": last_id}


def _stretches(state: SubscriptionState) -> Iterator[tuple[int, int, int]]:
    for position in (state.view.mark_delete, state.rollback):
        if position is not None:
            yield position[0], position[1], position[1] + 1
    for bitmaps in (state.ledgers, state.redelivered):
        for ledger_id, data in bitmaps.items():
            bitmap = BitMap.deserialize(data)
            if bitmap:
                yield ledger_id, bitmap.min(), bitmap.max()
    for ledger_id, words in state.partly.items():
        if words:
            yield ledger_id, min(words), max(words)
