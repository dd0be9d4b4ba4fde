"""Replicators and snapshots for replicated subscriptions as findings: a topic for each, and some that are fine."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.auditing import rows_of, run_one
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR_MS = 3_600_000
COUNT = 6
REPLICATOR = "pulsar.repl.west"
TOPICS = {
    "stranded": (HOUR_MS, 2, "[(5:3..5:5]]"),
    "on-its-way": (0, 2, "[(5:3..5:5]]"),
    "behind": (2 * HOUR_MS, 2, "[]"),
    "a-bit-behind": (0, 2, "[]"),
    "caught-up": (2 * HOUR_MS, COUNT - 1, "[]"),
}
"""By topic: age of its entries, mark-delete, and what is acknowledged one by one; the ledger's id is not 5 in all."""


def stored(time_ms: int, at: int, marker: int | None = None) -> bytes:
    metadata = MessageMetadata(producer_name=b"p", sequence_id=at, publish_time=time_ms + at)
    if marker is not None:
        metadata.marker_type = marker
    return entry(metadata.SerializeToString())


def saved(admin: Path, name: str, ledger: int, mark_delete: int, acked: str) -> None:
    """What `pulsar-admin topics stats-internal` prints."""
    cursor = {
        "markDeletePosition": f"{ledger}:{mark_delete}", "readPosition": f"{ledger}:{COUNT}",
        "individuallyDeletedMessages": acked.replace("5:", f"{ledger}:"), "cursorLedger": -1, "state": "Open",
        "messagesConsumedCounter": 0, "properties": {},
    }  # fmt: skip
    stats = {
        "ledgers": [{"ledgerId": ledger, "entries": COUNT, "size": 1000}], "state": "LedgerOpened",
        "lastConfirmedEntry": f"{ledger}:{COUNT - 1}", "cursors": {REPLICATOR: cursor},
    }  # fmt: skip
    (admin / f"lab__geo__{name}.internalStats.json").write_text(json.dumps(stats))


@pytest.fixture(scope="module")
def findings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    source, admin, out = (tmp_path_factory.mktemp(name) for name in ("source", "admin", "out"))
    now_ms = round(time.time() * 1000)
    for ledger, (name, (age_ms, mark_delete, acked)) in enumerate(TOPICS.items(), 7):
        bodies = [stored(now_ms - age_ms, at) for at in range(COUNT)]
        put(source, offload(bodies, managed_ledger=f"lab/geo/persistent/{name}"), ledger)
        saved(admin, name, ledger, mark_delete, acked)
    for ledger, (name, kinds) in enumerate({"silent": (10, 10, 10), "answered": (10, 11, 12)}.items(), 20):
        bodies = [stored(now_ms - HOUR_MS, at, kind) for at, kind in enumerate(kinds)]
        put(source, offload(bodies, managed_ledger=f"lab/geo/persistent/{name}"), ledger)
    for job in ("inventory_ledgers", "scan_entries", "assemble_chunks", "analyze_subscriptions", "decode_internals"):
        run_one(job, source, out, admin=admin)
    return rows_of(out, "findings")


@pytest.mark.parametrize(("code", "topic"), [("S75", "stranded"), ("S76", "behind"), ("S77", "silent")])
def test_a_finding_of_one_topic_and_no_other(findings: list[dict[str, Any]], code: str, topic: str) -> None:
    (finding,) = [row for row in findings if row["code"] == code]
    assert finding["topic"] == f"persistent://lab/geo/{topic}"
    assert finding["sureness"] == "likely"
