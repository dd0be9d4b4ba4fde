"""What the books of ledgers become in findings: what is unread for one reason is one finding with ranges."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

from pulsar_backlog.steps.scan_findings import findings_of_changed, findings_of_scans
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.engines import ENGINES, asked_of, job_context, listed

NEEDS_SPARK = True

T, U = "persistent://t/n/a-partition-1", "persistent://t/n/b"


def book(topic: str, ledger_id: int, unreadable: str | None, copy: str = "live-entries-3") -> dict[str, Any]:
    row = dict.fromkeys(TABLES["scans"].column_names(), 0)
    return row | {
        "cluster": "c", "topic": topic, "ledger_id": ledger_id, "copy": copy, "data_etag": None, "units": 2,
        "frames": 3, "decoded": 3, "expected_entries": None, "expected_bytes": None,
        "unreadable_units": 2 if unreadable else 0, "unreadable": unreadable, "complete": unreadable is None,
    }  # fmt: skip


def gone(topic: str, ledger_id: int) -> dict[str, Any]:
    words = f"{topic}: trimmed: entry {ledger_id}:0 is not there any more (the broker trimmed its ledger)"
    return book(topic, ledger_id, words)


DOWN = "pulsar://b:6650: unreachable: no connection"
BOOKS = [
    *(gone(T, number) for number in (5, 7, 8)),
    book(T, 9, None),  # it parts two ranges
    gone(T, 30),
    book(T, 31, DOWN), book(U, 6, None), book(U, 32, DOWN), book(U, 33, DOWN),
    book("of a bucket", 2, "s3://b/1: failed: status 500", "1-a"),
    book("of a bucket", 3, "s3://b/2: failed: status 500", "2-b"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_unread_for_one_reason_is_one_finding(engine: str, spark: SparkSession) -> None:
    tables = {
        name: pa.Table.from_pylist(BOOKS if name == "scans" else [], schema=arrow_schema(TABLES[name]))
        for name in ("scans", "rejects", "ledger_facts")
    }
    context = job_context(spark)
    with asked_of(engine, context, tables) as asked:
        found = listed(findings_of_scans(context, asked))
    rows = sorted(
        (row["code"], row["subject"], row["topic"], row["ledger_id"], row["count"], row["message"], row["evidence"])
        for row in found
    )
    assert rows == [
        ("S02", "ledger:2", "of a bucket", 2, 2, f"2 of 2 parts could not be read: {BOOKS[-2]['unreadable']}", []),
        ("S02", "ledger:3", "of a bucket", 3, 2, f"2 of 2 parts could not be read: {BOOKS[-1]['unreadable']}", []),
        (
            "S02", "ledger:31", None, None, 6, f"6 of 6 parts of 3 ledgers (31 to 33) could not be read: {DOWN}",
            [f"{T}: ledger 31", f"{U}: ledger 32 to 33"],
        ),
        (
            "S48", "ledger:5", T, None, 8,
            f"8 of 8 parts of 4 ledgers (5 to 30) could not be read: {gone(T, 30)['unreadable']}",
            [f"{T}: ledger 5 to 8", f"{T}: ledger 30"],
        ),
    ]  # fmt: skip
    assert all(row["incomplete"] and row["sureness"] == "certain" for row in found)


@pytest.mark.parametrize(
    ("after", "words"),
    [(12988, "its version tag, or its modification time, is another one. It has 12,988 bytes as before."),
     (12000, "was 12,988 bytes when it was scanned, and is 12,000 now.")],
)  # fmt: skip
def test_what_changed_of_an_object_is_said(after: int, words: str) -> None:
    row = Row(topic="t", ledger_id=5, scanned_bytes=12988, data_bytes=after, data_uri="u")
    (finding,) = findings_of_changed([row])
    assert finding.message.endswith(words)
