"""Subscriptions of a bookie whose metadata store was dumped: their newest state lies in the bookie itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulsar_backlog.steps.stored_cursors import newest_entries
from tests.auditing import rows_of, run_one, run_scan
from tests.jobs.test_decode_internals import BOOKIE, STORE

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_the_newest_state_is_read_from_the_bookie(spark: SparkSession, tmp_path: Path) -> None:
    run_scan(BOOKIE, tmp_path, admin=STORE)
    for job in ("assemble_chunks", "model_consumers", "analyze_subscriptions"):
        run_one(job, BOOKIE, tmp_path, admin=STORE)
    run_one("decode_internals", BOOKIE, tmp_path, admin=STORE)
    last = {row["ledger_id"]: row for row in rows_of(tmp_path, "cursor_states")}  # the last of each ledger
    read = [row for row in rows_of(tmp_path, "subscriptions") if row["source"] == "cursor_ledger"]
    assert {row["cursor_ledger_id"] for row in read} >= {13, 14}
    assert {row["state"] for row in read} == {"whole"}
    for row in read:
        state = last[row["cursor_ledger_id"]]
        assert row["cursor_ledger_entry_id"] == state["entry_id"]
    shared = next(row for row in read if row["cursor_ledger_id"] == 13)
    assert shared["subscription"] == "keyshared/ü"
    assert shared["sureness"] == "certain"


def test_only_what_fits_of_a_cursor_ledger_is_held() -> None:
    entries = [(at, bytes(10)) for at in range(5)]
    assert list(newest_entries(entries, 25)) == [3, 4]
    assert list(newest_entries(entries, 5)) == [4]  # the last one, however large
    assert newest_entries([]) == {}
