"""What stalls say of why their subscription does not drain; both engines."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.steps.subscription_stalls import log_evidence
from pulsar_backlog.subscriptions.holdups import LogEvidence
from tests.engines import ENGINES, asked_of, job_context
from tests.frames.rows import table_rows

NEEDS_SPARK = True


@pytest.mark.parametrize("engine", ENGINES)
def test_what_blocks_what_leaks_and_what_is_left(engine: str, spark: SparkSession) -> None:
    def row(subscription: str, kind: str, state: str, entry_id: int, **more: object) -> dict[str, object]:
        at = {"ledger_id": 7, "entry_id": entry_id}
        return {
            "topic": "t", "subscription": subscription, "kind": kind, "state": state, "also": [],
            "chunk_uuid": f"u{entry_id}", "unacked_positions": [at], "blocks_dispatch": False,
        } | more  # fmt: skip

    rows = [
        row("a", "shared_stall", "headless", 9, blocks_dispatch=True),
        row("a", "shared_stall", "headless", 4, blocks_dispatch=True),  # the first one
        row("a", "shared_stall", "gap", 2),  # passed: blocks nothing
        row("b", "last_only", "whole", 5),
        row("b", "shared_stall", "whole", 6, also=["last_only"]),
        row("b", "last_only", "orphan_prefix", 7),  # was never whole, so no dead letter
        row("d", "mark_delete_inside", "whole", 8),
        row("d", "orphan_hole", "gap", 3, also=["mark_delete_inside"]),
        row("d", "pending", "in_flight", 11),
        row("c", "compaction_truncation", "whole", 1, unacked_positions=[]),
    ]
    with asked_of(engine, job_context(spark), {"new_stalls": table_rows("stalls", rows)}) as asked:
        found = log_evidence(asked)
    assert found == {
        ("t", "a"): LogEvidence((7, 4), dropped_last_chunks=3),
        ("t", "b"): LogEvidence(last_only=2),
        ("t", "c"): LogEvidence(),
        ("t", "d"): LogEvidence(dropped_last_chunks=1, inside=2, arriving=1),
    }
