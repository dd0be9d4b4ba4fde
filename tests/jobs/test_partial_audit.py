"""An audit that was told to read less says so, calls nothing certain that it did not see, and goes on the next time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.auditing import Audited, run_one, run_scan
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry, number, run

NEEDS_SPARK = True

LATER_MS = 1_700_000_600_000


def chunk(chunk_id: int) -> bytes:
    ours = run(26, b"p-0") + number(27, 3) + number(28, 30) + number(29, chunk_id)
    return entry(run(1, b"p") + number(2, 0) + number(3, 1_700_000_000_000) + number(9, 30) + ours, b"x" * 10)


def plain(sequence_id: int) -> bytes:
    return entry(run(1, b"p") + number(2, sequence_id) + number(3, LATER_MS), b"later")


def save_admin(folder: Path, bodies: dict[int, list[bytes]]) -> None:
    """A subscription that has acknowledged nothing."""
    folder.mkdir()
    cursor = {
        "markDeletePosition": "7:-1", "readPosition": "7:0", "individuallyDeletedMessages": "[]", "cursorLedger": -1,
        "cursorLedgerLastEntry": -1, "state": "NoLedger", "properties": {},
    }  # fmt: skip
    ledgers = [
        {"ledgerId": ledger_id, "entries": len(entries), "size": sum(map(len, entries)), "offloaded": True}
        for ledger_id, entries in bodies.items()
    ]
    stats = {"ledgers": ledgers, "lastConfirmedEntry": "11:0", "state": "LedgerOpened", "cursors": {"sub": cursor}}
    (folder / "tenant__space__topic.internalStats.json").write_text(json.dumps(stats))


def said(audited: Audited, code: str) -> list[dict[str, Any]]:
    return [row for row in audited.rows("findings") if row["code"] == code]


def test_what_was_left_unread(spark: SparkSession, tmp_path: Path) -> None:
    source, out, admin = tmp_path / "objects", tmp_path / "out", tmp_path / "admin"
    bodies = {7: [chunk(0)], 9: [chunk(1), chunk(2), plain(1)], 11: [plain(2)]}
    for ledger_id, entries in bodies.items():
        put(source, offload(entries), ledger_id)
    save_admin(admin, bodies)

    first = run_scan(source, out, limit=2)
    assert first.exit_code == 4
    assert [row["ledger_id"] for row in first.rows("scans")] == [9, 11]
    (left,) = said(first, "S29")
    assert (left["topic"], left["count"], left["incomplete"]) == ("persistent://tenant/space/topic", 1, True)
    assert left["evidence"] == ["ledger:7"]
    assert "--limit 2" in left["message"]
    partial = run_one("assemble_chunks", source, out)
    ((state, sureness, reason),) = [
        tuple(row.values()) for row in partial.rows("chunked_messages", "state", "sureness", "reason")
    ]
    assert (state, sureness) == ("headless", "cannot_tell")
    assert "was not scanned" in reason
    ((backlog, unstored),) = [
        tuple(row.values())
        for row in run_one("analyze_subscriptions", source, out, admin=admin).rows(
            "subscriptions", "backlog_entries", "unstored_entries"
        )
    ]
    assert (backlog, unstored) == (4, 1)  # nothing of ledger 7 is acknowledged, and nobody looked at it

    whole = run_scan(source, out, budget_bytes=10_000)
    assert whole.exit_code == 0
    assert said(whole, "S29") == []
    assert [row["ledger_id"] for row in whole.rows("scans")] == [7, 9, 11]
    (row,) = run_one("assemble_chunks", source, out).rows("chunked_messages", "state", "sureness")
    assert tuple(row.values()) == ("whole", "certain")
