"""Where a log ends that was read live: its last entry may be a marker, which no row shows."""

from __future__ import annotations

from typing import Any

import pytest

from pulsar_backlog.cluster.values import LedgerRecord, TopicState
from pulsar_backlog.steps.log_edges import _edge

TOPIC = "persistent://lab/s/a"
STATE = TopicState(TOPIC, (LedgerRecord(7, TOPIC),), last_confirmed=(7, 9), known_until_ms=5_000)
ROW: dict[str, Any] = {
    "topic": TOPIC, "begin_time_ms": 1, "end_time_ms": 1_000, "first_ledger_id": 7, "begins_at_start": False,
    "last_ledger_id": 7, "last_entry_id": 8, "has_rejects": False, "hurt": [], "open_ledgers": [], "scanned": [7],
    "unscanned": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("live", "at_end"),
    [
        ({"live_last": (7, 9), "cut": []}, True),  # 7:9 is hidden, and was looked at
        ({"live_last": (7, 9), "cut": [7]}, False),  # the ledger was not read to its end
        ({"live_last": None, "cut": []}, False),  # an offloaded ledger: 7:9 is missing
        ({"live_last": (7, 8), "cut": []}, False),  # listed before the last entry was written
    ],
)
def test_where_a_live_log_ends(live: dict[str, Any], at_end: bool) -> None:
    edge = _edge({**ROW, **live}, STATE, (), (), 0)
    assert edge.complete_to_end is at_end
    assert edge.end_time_ms == (5_000 if at_end else 1_000)
