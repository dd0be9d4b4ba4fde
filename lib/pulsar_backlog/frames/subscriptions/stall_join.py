"""The door to the stall rules: chunk rows of a uuid together in, what each subscription is stuck on out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from pulsar_backlog.frames.subscriptions.reopened import Stops
from pulsar_backlog.subscriptions.stall_values import ChunkSet, Copy, Loss, Reopened, Stall, SubscriptionView
from pulsar_backlog.subscriptions.stalls import judge
from pulsar_backlog.subscriptions.states import States, SubscriptionState
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.stalls import MAX_POSITIONS
from pulsar_backlog.tasks.shared import SharedValue
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.rows import as_time

_OUT_ROWS = 2048


@dataclass(frozen=True)
class StallTask:
    """What a task does with copies of chunks: their topics' states, ends of logs, and what stops models."""

    shared: SharedValue[tuple[States, Mapping[str, Position], Stops | None]]
    cluster: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """See `join_stalls`."""
        states, ends, stops = self.shared.value
        yield from join_stalls(batches, states, ends, self.cluster, stops)


def join_stalls(
    batches: Iterable[pa.RecordBatch],
    states: States,
    log_ends: Mapping[str, Position],
    cluster: str,
    stops: Stops | None = None,
) -> Iterator[pa.RecordBatch]:
    """Rows of `stalls`.

    Args:
        batches: rows of conf/subscriptions/stall_rows.sql, those of a uuid one after the other, by publish time and
            position.
        states: subscriptions by topic.
        log_ends: last stored entry of each topic.
        cluster: name of the cluster.
        stops: what stops clients that are opened again on these subscriptions; None when nobody was asked.
    """
    arrow = arrow_schema(TABLES["stalls"])
    acked = _AckedEntries()
    rows: list[dict[str, Any]] = []
    for topic, family in _families(batches):
        for publication, losses in family:
            forecasts = None if stops is None else _Forecasts(topic, losses, stops)
            for stall, view in _stalls_of(publication, states.get(topic, ()), acked, log_ends.get(topic), forecasts):
                rows.append(_row(stall, view) | {"cluster": cluster, "topic": topic})
        if len(rows) >= _OUT_ROWS:
            yield pa.RecordBatch.from_pylist(rows, schema=arrow)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=arrow)


class _AckedEntries:
    """Asks whether entries are acknowledged; keeps the bitmaps of the ledgers asked about last."""

    def __init__(self) -> None:
        self._opened: dict[tuple[int, int], BitMap] = {}

    def __call__(self, state: SubscriptionState, position: Position) -> bool:
        if position <= state.view.mark_delete:
            return True
        data = state.ledgers.get(position[0])
        if data is None:
            return False
        key = (id(state), position[0])
        if key not in self._opened:
            if len(self._opened) >= 4096:
                self._opened.clear()
            self._opened[key] = BitMap.deserialize(data)
        return position[1] in self._opened[key]


class _Forecasts:
    """What clients that are opened again make of one publication, by subscription."""

    def __init__(self, topic: str, losses: Iterable[dict[str, Any]], stops: Stops) -> None:
        self._topic = topic
        self._stops = stops
        self._losses: dict[tuple[str, bool], dict[str, Loss]] = {}
        for loss in losses:
            of = self._losses.setdefault((loss["subscription"], loss["after_reset"]), {})
            of.setdefault(loss["model"], Loss(loss["model"], loss["outcome"], loss["reason"]))

    def of(self, subscription: str, chunks: ChunkSet) -> Reopened:
        """What they make of it on one subscription."""
        stops = self._stops.get((self._topic, subscription), ())
        return Reopened(
            losses=self._lost(subscription, after_reset=False),
            stops=tuple(stop for stop in stops if stop.is_before(chunks.copies[-1].position)),
            after_reset=self._lost(subscription, after_reset=True),
        )

    def _lost(self, subscription: str, *, after_reset: bool) -> tuple[Loss, ...]:
        return tuple(self._losses.get((subscription, after_reset), {}).values())


def _families(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[str, list[tuple[ChunkSet, list[dict[str, Any]]]]]]:
    """Topic, and the publications of each uuid, each with what models that were asked would lose."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for (topic, _uuid), family in groupby(rows, key=lambda row: (row["topic"], row["chunk_uuid"])):
        publications = [list(of) for _, of in groupby(family, key=lambda row: row["publish_time_ms"])]
        in_flight = any(of[0]["state"] == "in_flight" for of in publications)
        rebuildable = any(of[0]["rebuildable"] for of in publications)
        yield topic, [(_chunk_set(of, in_flight, rebuildable), of[0]["losses"] or []) for of in publications]


def _chunk_set(rows: list[dict[str, Any]], in_flight: bool, rebuildable: bool) -> ChunkSet:
    first = rows[0]
    return ChunkSet(
        chunk_uuid=first["chunk_uuid"],
        publish_time_ms=first["publish_time_ms"],
        state=first["state"],
        flags=frozenset(first["flags"]),
        rebuildable=first["rebuildable"],
        sureness=first["sureness"],
        reason=first["reason"],
        num_chunks=first["num_chunks"],
        copies=tuple(
            Copy((row["ledger_id"], row["entry_id"]), row["chunk_id"], row["role"], row["payload_length"])
            for row in rows
        ),
        family_in_flight=in_flight,
        family_rebuildable=rebuildable,
        deliver_at_ms=first["deliver_at_ms"],
    )


def _stalls_of(
    chunks: ChunkSet, states: tuple[SubscriptionState, ...], acked: _AckedEntries, log_end: Position | None,
    forecasts: _Forecasts | None,
) -> Iterator[tuple[Stall, SubscriptionView]]:  # fmt: skip
    last = chunks.copies[-1].position
    # States are ordered by mark-delete: from here on everything of this publication is acknowledged.
    for state in states[: bisect_left(states, last, key=lambda s: s.view.mark_delete)]:
        done = [acked(state, copy.position) for copy in chunks.copies]
        if forecasts is not None and chunks.state == "whole":
            chunks = replace(chunks, reopened=forecasts.of(state.view.name, chunks))
        stall = judge(chunks, done, state.view, ends_log=last == log_end)
        if stall is not None:
            yield stall, state.view


def _row(stall: Stall, view: SubscriptionView) -> dict[str, Any]:
    first = stall.first_chunk or (None, None)
    return {
        "subscription": view.name,
        "subscription_type": view.type,
        "chunk_uuid": stall.chunk_uuid,
        "publish_time": as_time(stall.publish_time_ms),
        "publish_time_ms": stall.publish_time_ms,
        "code": stall.code,
        "kind": stall.kind,
        "also": list(stall.also),
        "state": stall.state,
        "unacked_positions": [
            {"ledger_id": c.position[0], "entry_id": c.position[1]} for c in stall.unacked[:MAX_POSITIONS]
        ],
        "unacked_entries": len(stall.unacked),
        "unacked_bytes": sum(copy.payload_bytes for copy in stall.unacked),
        "acked_entries": stall.acked_entries,
        "acked_chunk_zero": stall.acked_chunk_zero,
        "can_complete": stall.can_complete,
        "rebuildable": stall.rebuildable,
        "blocks_dispatch": stall.blocks_dispatch,
        "action": stall.action,
        "first_chunk_ledger_id": first[0],
        "first_chunk_entry_id": first[1],
        "last_ledger_id": stall.last[0],
        "last_entry_id": stall.last[1],
        "sureness": stall.sureness,
        "reason": stall.reason,
        "advice": stall.advice,
    }
