"""Which rows of what is gone go, and which stay whatever their age; killed in between, nothing comes back to life."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.history import OldRows, old_rows, remove
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.living import BY_LEDGER
from tests.auditing import rows_of
from tests.blank_rows import NOON
from tests.frames.rows import entry
from tests.small_tables import write_tables

NEEDS_SPARK = True

DAY = timedelta(days=1)
OLD, EDGE, NEW = NOON - 91 * DAY, NOON - 90 * DAY, NOON - 89 * DAY
BEFORE = NOON - 90 * DAY
GONE, LATELY_GONE, HERE = 1, 2, 3


def of(cluster: str = "c", **given: Any) -> dict[str, Any]:
    return {"cluster": cluster, **given}


def problem(identity: str, healed_at: datetime | None, cluster: str = "c") -> dict[str, Any]:
    return of(cluster, identity=identity, healed_at=healed_at, compared_at=OLD, first_seen=OLD, last_seen=OLD)


def run(run_id: str, job: str, started: datetime, cluster: str = "c") -> dict[str, Any]:
    return of(cluster, run_id=run_id, job=job, started=started)


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    table_cache.clear()
    ledgers = [GONE, LATELY_GONE, HERE]
    write_tables(
        tmp_path,
        gone_ledgers=[
            of(ledger_id=GONE, topic="t", gone_time=OLD),
            of(ledger_id=LATELY_GONE, topic="t", gone_time=EDGE),  # ninety days ago to the moment: it stays
            of("other", ledger_id=GONE, topic="t", gone_time=OLD),  # another cluster's has its own maintenance
        ],
        scans=[of(ledger_id=one, copy="u") for one in ledgers] + [of("other", ledger_id=GONE, copy="u")],
        entries=[entry("t", one, 0) | {"cluster": "c"} for one in ledgers],
        rejects=[of(ledger_id=one, entry_id=7) for one in ledgers],
        messages=[of(ledger_id=one, entry_id=0, topic="t") for one in ledgers],  # an export is people's own
        ledgers=[of(ledger_id=HERE, topic="stored", copy="u")],
        saved_states=[
            of(topic="deleted", read_time=OLD),
            of(topic="stored", read_time=OLD),  # its ledger is there: an audit may go by this state
            of(topic="seen", read_time=NOON),
        ],
        problems=[
            problem("healed long ago", OLD),
            problem("healed lately", NEW),
            problem("lasts since long ago", None),
            problem("healed long ago", OLD, "other"),
        ],
        changes=[
            of(identity="a", run_id="old", compared_at=OLD),
            of(identity="b", run_id="old", compared_at=OLD),
            of(identity="a", run_id="new", compared_at=NEW),
        ],
        backlogs=[
            of(topic="t", subscription="s", run_id="old", compared_at=OLD),
            of(topic="t", subscription="s", run_id="new", compared_at=NEW),
        ],
        runs=[
            run("scan 1", "scan_entries", OLD - DAY),
            run("scan 2", "scan_entries", OLD),  # old, but the last one: later runs go by it
            run("report 1", "write_report", OLD),
            run("report 2", "write_report", NEW),
        ],
    )
    yield tmp_path
    table_cache.clear()


def context(spark: SparkSession, out: Path) -> JobContext:
    return JobContext(lambda: spark, "maintain_tables", Options(out=str(out), cluster="c"), NOON)


def keys(out: Path, table: str, column: str) -> list[tuple[Any, Any]]:
    return sorted((row["cluster"], row[column]) for row in rows_of(out, table))


def test_what_goes_and_what_stays(spark: SparkSession, out: Path) -> None:
    old = list(old_rows(context(spark, out), BEFORE))
    assert {(one.table, one.rows) for one in old} == {
        ("scans", 1), ("entries", 1), ("rejects", 1), ("gone_ledgers", 1), ("problems", 1), ("changes", 2),
        ("backlogs", 1), ("saved_states", 1), ("runs", 2),
    }  # fmt: skip
    for one in old:
        remove(context(spark, out), one)
    stay = [("c", LATELY_GONE), ("c", HERE)]
    assert {name: keys(out, name, "ledger_id") for name in ("scans", "entries", "rejects", "gone_ledgers")} == {
        "scans": [*stay, ("other", GONE)],
        "entries": stay,
        "rejects": stay,
        "gone_ledgers": [("c", LATELY_GONE), ("other", GONE)],
    }
    assert keys(out, "messages", "ledger_id") == [("c", one) for one in (GONE, LATELY_GONE, HERE)]
    assert keys(out, "saved_states", "topic") == [("c", "seen"), ("c", "stored")]
    assert keys(out, "problems", "identity") == [
        ("c", "healed lately"), ("c", "lasts since long ago"), ("other", "healed long ago"),
    ]  # fmt: skip
    assert keys(out, "changes", "run_id") == keys(out, "backlogs", "run_id") == [("c", "new")]
    assert keys(out, "runs", "run_id") == [("c", "report 2"), ("c", "scan 2")]
    assert list(old_rows(context(spark, out), BEFORE)) == []


def test_killed_anywhere_a_ledger_that_comes_back_is_read_again(spark: SparkSession, out: Path) -> None:
    old = list(old_rows(context(spark, out), BEFORE))
    names = [one.table for one in old if one.column == "ledger_id"]
    assert (names[0], names[-1]) == ("scans", "gone_ledgers")
    for one in old:
        remove(context(spark, out), one)
        scanned, gone = (set(keys(out, name, "ledger_id")) for name in ("scans", "gone_ledgers"))
        assert ("c", GONE) not in scanned, "an audit would take what is left of it for the whole"
        if one.table in BY_LEDGER:
            assert ("c", GONE) in gone, "an audit would count what is left of it"
    assert set(names) <= {*BY_LEDGER, "gone_ledgers"}


def test_saved_state_stays_where_no_newer_one_was_given(spark: SparkSession, out: Path, tmp_path: Path) -> None:
    alone = write_tables(tmp_path / "alone", saved_states=[of(topic="deleted", read_time=OLD)], runs=[])
    table_cache.clear()
    assert list(old_rows(context(spark, alone), BEFORE)) == []


def test_large_tables_say_the_same(spark: SparkSession, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = [_plain(one) for one in old_rows(context(spark, out), BEFORE)]
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    table_cache.clear()
    assert [_plain(one) for one in old_rows(context(spark, out), BEFORE)] == small


def _plain(old: OldRows) -> tuple[str, str, list[Any], int]:
    return old.table, old.column, sorted(old.values), old.rows
