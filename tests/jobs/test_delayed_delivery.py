"""Delayed messages of Shared subscriptions, which a broker counts: not stalled, and it is said until when."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.auditing import Audited, run_one
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

HOUR_MS = 3_600_000
COUNT = 4
TOPICS = {
    # by name: hours until each entry is to be delivered (0: not delayed), what is acknowledged, what the broker counts
    "later": ((1, 3, 1, 2), "[]", COUNT),
    "partly": ((1, 0, 1, 2), "[]", 3),
    "at-once": ((0, 0, 0, 0), "[]", 0),
    "silent": ((1, 3, 1, 2), "[]", 0),  # delayed by its entries, but its broker counts none: perhaps it delays nothing
}


def stored(now_ms: int, at: int, hours: int, **chunk: Any) -> bytes:
    metadata = MessageMetadata(producer_name=b"p", sequence_id=at, publish_time=now_ms - HOUR_MS, **chunk)
    if hours:
        metadata.deliver_at_time = now_ms + hours * HOUR_MS
    return entry(metadata.SerializeToString())


def saved(admin: Path, name: str, ledger: int, acked: str, delayed: int) -> None:
    """What `pulsar-admin topics stats` and `stats-internal` print."""
    cursor = {
        "markDeletePosition": f"{ledger}:-1", "readPosition": f"{ledger}:{COUNT}",
        "individuallyDeletedMessages": acked, "cursorLedger": -1, "state": "Open",
        "messagesConsumedCounter": 0, "properties": {},
    }  # fmt: skip
    internal = {
        "ledgers": [{"ledgerId": ledger, "entries": COUNT, "size": 1000}], "state": "LedgerOpened",
        "lastConfirmedEntry": f"{ledger}:{COUNT - 1}", "cursors": {"s": cursor},
    }  # fmt: skip
    consumer = {"consumerName": "c1", "availablePermits": 1000, "unackedMessages": 0}
    subscription = {
        "type": "Shared", "msgBacklog": COUNT, "msgDelayed": delayed, "unackedMessages": 0, "consumers": [consumer],
    }  # fmt: skip
    (admin / f"lab__slow__{name}.internalStats.json").write_text(json.dumps(internal))
    (admin / f"lab__slow__{name}.stats.json").write_text(
        json.dumps({"publishers": [], "subscriptions": {"s": subscription}})
    )


@pytest.fixture(scope="module")
def now_ms() -> int:
    return round(time.time()) * 1000


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, now_ms: int) -> Audited:
    source, admin, out = (tmp_path_factory.mktemp(name) for name in ("source", "admin", "out"))
    for ledger, (name, (hours, acked, delayed)) in enumerate(TOPICS.items(), 7):
        bodies = [stored(now_ms, at, of) for at, of in enumerate(hours)]
        put(source, offload(bodies, managed_ledger=f"lab/slow/persistent/{name}"), ledger)
        saved(admin, name, ledger, acked, delayed)
    chunk: dict[str, Any] = {"uuid": b"p-0", "num_chunks_from_msg": 3, "total_chunk_msg_size": 6}
    bodies = [*(stored(now_ms, 0, 2, chunk_id=at, **chunk) for at in range(3)), stored(now_ms, 3, 0)]
    put(source, offload(bodies, managed_ledger="lab/slow/persistent/chunked"), 20)
    saved(admin, "chunked", 20, "[(20:2..20:3]]", 3)
    jobs = ("inventory_ledgers", "scan_entries", "assemble_chunks", "model_consumers", "analyze_subscriptions")
    for job in jobs:
        run_one(job, source, out, admin=admin)
    return run_one("decode_internals", source, out, admin=admin)


def until(now_ms: int, hours: int) -> str:
    return datetime.fromtimestamp(now_ms / 1000 + hours * 3600, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def test_a_subscription_with_nothing_else_left_is_said_to_wait(audited: Audited, now_ms: int) -> None:
    rows = [row for row in audited.rows("findings") if row["code"] == "C55"]
    assert {row["topic"] for row in rows} == {f"persistent://lab/slow/{name}" for name in ("later", "chunked")}
    (finding,) = (row for row in rows if row["topic"].endswith("later"))
    assert (finding["severity"], finding["sureness"]) == ("info", "certain")
    assert f"s: delayed until {until(now_ms, 1)}, the last until {until(now_ms, 3)}" in finding["reason"]


def test_a_chunked_message_that_was_passed_over_is_delayed_and_no_hole(audited: Audited, now_ms: int) -> None:
    (row,) = audited.rows("stalls")
    assert (row["topic"], row["kind"], row["code"]) == ("persistent://lab/slow/chunked", "delayed", None)
    assert (row["action"], row["also"]) == ("wait", [])
    assert f"delayed until {until(now_ms, 2)} (3 entries unacknowledged)" in row["advice"]
    assert not [one for one in audited.rows("findings") if one["code"] == "K07"]
