"""`rejects` are written by the tasks that decode, or by a second walk where Spark writes: the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.scanning.accounts import UnitAccount
from pulsar_backlog.scanning.books import less_what_was_lost
from pulsar_backlog.steps import scan_group
from pulsar_backlog.tableio.store import TableStore
from tests.auditing import copy_ledgers, data_object, run_scan

NEEDS_SPARK = True


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Ledgers of which one has a damaged entry, and one a data object that is cut off."""
    source = copy_ledgers(tmp_path / "objects", [5, 22, 24])
    data = data_object(source, 22)
    content = bytearray(data.read_bytes())
    content[128 + 12] ^= 0xFF  # the first entry's first byte, behind the block's header and its own
    data.write_bytes(content)
    data_object(source, 24).write_bytes(data_object(source, 24).read_bytes()[:-50])
    return source


@contextmanager
def _not_by_tasks(*_: object) -> Iterator[None]:
    yield None


def test_they_are_the_same_by_tasks_and_by_sparks_writer(
    spark: SparkSession, damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(scan_group, "rejects_frame", None)  # no second walk
        by_tasks = run_scan(damaged, tmp_path / "by-tasks")
    monkeypatch.setattr(TableStore, "stage_all", _not_by_tasks)
    by_spark = run_scan(damaged, tmp_path / "by-spark")
    rows = by_tasks.rows("rejects")
    assert {(row["ledger_id"], row["scope"]) for row in rows} == {(22, "entry"), (24, "structure")}
    assert by_spark.rows("rejects") == rows
    assert by_spark.rows("scans") == by_tasks.rows("scans")
    assert all(row["complete"] for row in by_spark.rows("scans"))


def test_a_ledger_whose_second_walk_lost_rejects_is_not_complete(
    spark: SparkSession, damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a live broker that died between the walks."""
    monkeypatch.setattr(TableStore, "stage_all", _not_by_tasks)
    real = scan_group.rejects_frame

    def dies_between(session: Any, source: Any, units: Any, cluster: str) -> Any:
        data = data_object(damaged, 22)
        data.rename(data.with_suffix(".away"))
        return real(session, source, units, cluster)

    with monkeypatch.context() as patch:
        patch.setattr(scan_group, "rejects_frame", dies_between)
        scanned = run_scan(damaged, tmp_path / "out")
    assert {row["ledger_id"]: row["complete"] for row in scanned.rows("scans")} == {5: True, 22: False, 24: True}


def test_units_whose_rejects_were_lost_are_unreadable() -> None:
    whole, broken = UnitAccount(frames=9, decoded=7, rejected=1, hidden=1), UnitAccount(frames=5, unreadable="gone")
    accounts = {(1, "a", 0): whole, (1, "a", 1): whole, (2, "b", 0): whole, (3, "c", 0): UnitAccount(frames=4)}
    again = {(1, "a", 0): whole, (1, "a", 1): broken, (2, "b", 0): UnitAccount(rejected=1)}
    less = less_what_was_lost(accounts, again)
    assert {key: account.unreadable for key, account in less.items()} == {
        (1, "a", 0): None,
        (1, "a", 1): "gone",
        (2, "b", 0): "a second walk, which its rejects are written by, read other ones than the first",
        (3, "c", 0): None,
    }
    assert [account.frames for account in less.values()] == [9, 9, 9, 4]  # of the first walk
