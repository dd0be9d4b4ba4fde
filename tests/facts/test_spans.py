"""A span keeps what a part of it is told by."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given

from pulsar_backlog.facts.spans import broker_times_of, entry_ids_of, publish_times_of, span_row
from pulsar_backlog.facts.steps import publish_times
from pulsar_backlog.facts.stretch import Stretch
from tests.facts.build import EPOCH, batch_of, ledgers


@given(ledgers())
def test_a_span_tells_its_entries(rows: list[dict[str, Any]]) -> None:
    stretch = Stretch(batch_of(rows))
    made = span_row(stretch, "c")
    (row,) = made.to_pylist()
    ids = [entry["entry_id"] for entry in rows]
    counts = [
        0 if entry["marker_type"] is not None else max(0, 1 if said is None else said)
        for entry in rows
        for said in [entry["num_messages_in_batch"]]
    ]
    times = [entry["broker_timestamp"] for entry in rows]
    added = [None if time is None else (time - EPOCH) // timedelta(milliseconds=1) for time in times]
    assert row == {
        "cluster": "c", "topic": "t", "ledger_id": 5, "first_entry_id": ids[0], "last_entry_id": ids[-1],
        "entries": len(rows), "messages": sum(counts), "bytes": sum(entry["length"] for entry in rows),
        "first_publish_time_ms": rows[0]["publish_time_ms"],
        "first_broker_time_ms": added[0], "broker_times_ms": added if any(ms is not None for ms in added) else None,
        "entry_ids": None if ids == list(range(ids[0], ids[-1] + 1)) else ids,
        "lengths": [entry["length"] for entry in rows], "message_counts": counts,
        "publish_times_ms": [entry["publish_time_ms"] for entry in rows], "untimed": row["untimed"],
    }  # fmt: skip
    assert entry_ids_of(made, 0).tolist() == ids
    kept_ms = broker_times_of(made, 0)
    assert [None if kept_ms is None else kept_ms.at(place) for place in range(len(rows))] == added
    told, kept = publish_times(stretch).publish_ms, publish_times_of(made, 0).publish_ms
    assert kept.present.tolist() == told.present.tolist()
    assert kept.values[kept.present].tolist() == told.values[told.present].tolist()
