"""Copies of ledgers and what metadata say of them, for tests of what is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState
from pulsar_backlog.ledgers.values import LedgerCopy

TOPIC = "persistent://lab/s3/orders"
MANAGED = "lab/s3/persistent/orders"
OURS = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"

_WHOLE = LedgerCopy(
    topic=TOPIC, ledger_id=7, copy=OURS, kind="jcloud", managed_ledger=MANAGED, data_uri="d", index_uri="i",
    data_bytes=1000, index_bytes=100, data_etag="e", expected_entries=10, expected_bytes=800, expected_data_bytes=1000,
    ledger_state="CLOSED", created_time_ms=1, closed_time_ms=2, offload_complete=True, selected=True, status="ok",
    faults=(), blocks=(), structure_faults=(), pulsar_cluster="eu", first_written_ms=5000, last_written_ms=5100,
)  # fmt: skip


def copy(ledger_id: int = 7, uuid: str = OURS, **changed: Any) -> LedgerCopy:
    """A whole copy that cluster `eu` wrote, but for what is changed."""
    names = {"data_uri": f"{uuid}-ledger-{ledger_id}", "index_uri": f"{uuid}-ledger-{ledger_id}-index"}
    return replace(_WHOLE, ledger_id=ledger_id, copy=uuid, **{**names, **changed})


def earlier(ledger_id: int = 7, uuid: str = OTHER, **changed: Any) -> LedgerCopy:
    """Another attempt at the same ledger, written before."""
    old = {"first_written_ms": 1000, "last_written_ms": 1100, "selected": False, "status": "spare", "faults": ("S06",)}
    return copy(ledger_id, uuid, **{**old, **changed})


def record(ledger_id: int = 7, uuid: str | None = OURS, complete: bool | None = True, **more: Any) -> LedgerRecord:
    """What metadata say of an offloaded ledger."""
    return LedgerRecord(ledger_id, TOPIC, uuid, complete, **{"entries": 10, "size_bytes": 800, **more})


def state(*records: LedgerRecord, disputed: frozenset[int] = frozenset()) -> ClusterState:
    """Saved metadata of one topic."""
    return ClusterState({TOPIC: TopicState(TOPIC, records)}, disputed, ())
